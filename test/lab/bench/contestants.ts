// Who takes part: each is served by the file of its name in contestants/.
import type { EventKind } from './events.js';
import { type Scheme, schemes } from './schemes.js';

export interface Contestant {
  readonly name: string;
  /** For the table. */
  readonly what: string;
  readonly scheme: Scheme;
  readonly event: EventKind;
  /** It waits for a Redis, so its CPU is never fully used. */
  readonly waits?: true;
}

const spoken = (service: keyof typeof schemes & EventKind) => ({ scheme: schemes[service], event: service });

/** The best receiver that can be written by hand on Express 5: the 1 of the ratios. */
export const REFERENCE = 'floor-express5';
export const OURS = 'ours';

const all: readonly Contestant[] = [
  { name: 'floor-http', what: 'node:http by hand, no schema', ...spoken('ours') },
  { name: 'floor-http-zod', what: 'node:http by hand, zod', ...spoken('ours') },
  { name: 'floor-express4', what: 'Express 4 by hand, zod', ...spoken('ours') },
  { name: REFERENCE, what: 'Express 5 by hand, zod', ...spoken('ours') },
  { name: 'floor-record', what: 'Express 5 by hand, z.record for metadata', ...spoken('ours') },
  { name: OURS, what: 'payment-webhooks, Express 5', ...spoken('ours') },
  { name: 'ours-express4', what: 'payment-webhooks, Express 4', ...spoken('ours') },
  { name: 'ours-http', what: 'payment-webhooks, node:http', ...spoken('ours') },
  { name: 'ours-no-store', what: 'payment-webhooks, `store: false`', ...spoken('ours') },
  { name: 'ours-logging', what: 'payment-webhooks, a log line each', ...spoken('ours') },
  { name: 'ours-redis', what: 'payment-webhooks, Redis', ...spoken('ours'), waits: true },
  { name: 'ours-otel', what: 'payment-webhooks, `openTelemetry()`', ...spoken('ours') },
  { name: 'line', what: '@line/bot-sdk, no schema', ...spoken('line') },
  { name: 'octokit', what: '@octokit/webhooks, no schema', ...spoken('github') },
  { name: 'stripe', what: 'stripe, no schema', ...spoken('stripe') },
  { name: 'standardwebhooks', what: 'standardwebhooks, no schema', ...spoken('standard') },
  { name: 'svix', what: 'svix, no schema', scheme: schemes.svix, event: 'standard' },
  { name: 'polar', what: '@polar-sh/express, zod', scheme: schemes.standard, event: 'polar' },
  { name: 'bolt-http', what: 'Slack Bolt, HTTPReceiver, no schema', ...spoken('slack') },
  { name: 'bolt-express', what: 'Slack Bolt, ExpressReceiver, no schema', ...spoken('slack') },
];

/** None of them remembers ids, so to all of them a duplicate is as good as new. */
export const FAST_PEERS = ['line', 'octokit', 'stripe', 'standardwebhooks'];

export const PEERS = [...FAST_PEERS, 'svix', 'polar', 'bolt-http', 'bolt-express'];

export function contestantOf(name: string): Contestant {
  const found = all.find((contestant) => contestant.name === name);
  if (!found) throw new Error(`There is no contestant "${name}".`);
  return found;
}

/** Whether the contestant is built from this package. */
export function isOurs(name: string): boolean {
  return name === OURS || name.startsWith(`${OURS}-`);
}

/** The name that a contestant of the old build takes part under. */
export function oldName(contestant: string): string {
  return `${contestant}@old`;
}

/** For the table: what a contestant of that name is. */
export function describe(name: string): string {
  return all.find((contestant) => contestant.name === name)?.what ?? name;
}

/** So many claim and complete at once in Postgres, at so many milliseconds from it. */
export const CALLERS = [1, 16, 64, 256] as const;
export const DISTANCES = [0, 1] as const;
export const callersName = (callers: number, ms: number) => `pg at ${ms} ms: ${callers} callers`;

/** What is compared in each store; those of one client follow its bare round trip. */
export const STORE_CONTESTANTS: Readonly<Record<string, readonly string[]>> = {
  memory: ['memory: bare Map', 'memory: claim + complete'],
  redis: ['redis', 'ioredis'].flatMap((client) => [
    `${client}: bare SET`,
    `${client}: claim`,
    `${client}: claim + complete`,
  ]),
  callers: DISTANCES.flatMap((ms) => CALLERS.map((callers) => callersName(callers, ms))),
  postgres: ['pg: bare INSERT', 'pg: claim', 'pg: claim + complete', 'pg: claim + once + complete'],
};

export function isBare(name: string): boolean {
  return name.includes(': bare ');
}
