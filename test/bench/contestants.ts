// Who takes part: each is served by the file of its name in contestants/.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { EventKind } from './events.js';
import { type Scheme, schemes } from './schemes.js';

export interface Contestant {
  readonly name: string;
  /** For the table. */
  readonly what: string;
  readonly scheme: Scheme;
  readonly event: EventKind;
}

const spoken = (service: keyof typeof schemes & EventKind) => ({ scheme: schemes[service], event: service });

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
  { name: 'ours-redis', what: 'payment-webhooks, Redis', ...spoken('ours') },
  { name: 'ours-postgres', what: 'payment-webhooks, Postgres', ...spoken('ours') },
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

export const PEERS = [
  'line',
  'octokit',
  'stripe',
  'standardwebhooks',
  'svix',
  'polar',
  'bolt-http',
  'bolt-express',
];

/** The contestants of these names, but those for whom the package has no door yet. */
export function contestantsOf(names: readonly string[]): Contestant[] {
  const door = fileURLToPath(new URL('../../dist/esm/opentelemetry.js', import.meta.url));
  return names
    .filter((name) => name !== 'ours-otel' || existsSync(door))
    .map((name) => {
      const found = all.find((contestant) => contestant.name === name);
      if (!found) throw new Error(`There is no contestant ${name}.`);
      return found;
    });
}

export function describe(name: string): string {
  return all.find((contestant) => contestant.name === name)?.what ?? name;
}
