// The names of what is compared in each store; those of one client follow its bare round trip.
import { oldName } from './contestants.js';

export const STORE_CONTESTANTS: Readonly<Record<string, readonly string[]>> = {
  memory: ['memory: bare Map', 'memory: claim + complete'],
  redis: ['redis', 'ioredis'].flatMap((client) => [
    `${client}: bare SET`,
    `${client}: claim`,
    `${client}: claim + complete`,
  ]),
  postgres: ['pg: bare INSERT', 'pg: claim', 'pg: claim + complete', 'pg: claim + complete, transactional'],
};

/** Each once for each build; a bare round trip has none. */
export function storeContestants(profile: string, isCompared: boolean): readonly string[] {
  const names = STORE_CONTESTANTS[profile] ?? [];
  return isCompared ? names.flatMap((name) => (isBare(name) ? name : [name, oldName(name)])) : names;
}

export function isBare(name: string): boolean {
  return name.includes(': bare ');
}
