// The names of what is compared in each store; those of one client follow its bare round trip.

export const STORE_CONTESTANTS: Readonly<Record<string, readonly string[]>> = {
  memory: ['memory: bare Map', 'memory: claim + complete'],
  redis: ['redis', 'ioredis'].flatMap((client) => [
    `${client}: bare SET`,
    `${client}: claim`,
    `${client}: claim + complete`,
  ]),
  postgres: ['pg: bare INSERT', 'pg: claim', 'pg: claim + complete', 'pg: claim + complete, transactional'],
};
