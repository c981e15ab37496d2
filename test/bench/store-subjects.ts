// What is compared in each store: a bare round trip of a client, a claim, and a claim with its completion.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import type { IdempotencyStore } from '../../src/claims/idempotency-store.js';
import type { SendCommand } from '../../src/stores/redis.js';
import { startPostgres, startRedis } from '../setup/services.js';
import type { Subject } from './store-window.js';

export interface OpenStore {
  /** Those of one client follow its bare round trip. */
  readonly subjects: readonly Subject[];
  readonly serverPid: number | undefined;
  readonly close: () => Promise<unknown>;
}

/** @param build folder of the build under test */
export const stores: Readonly<Record<string, (build: string) => Promise<OpenStore>>> = {
  memory: openMemory,
  redis: openRedis,
  postgres: openPostgres,
};

async function openMemory(build: string): Promise<OpenStore> {
  const { memoryStore } = await door<typeof import('../../src/stores/memory.js')>(build, 'stores/memory.js');
  const store = memoryStore();
  return {
    subjects: [
      { name: 'memory: bare Map', work: bareMap() },
      { name: 'memory: claim + complete', work: () => rememberOne(store) },
    ],
    serverPid: undefined,
    close: async () => {},
  };
}

function bareMap(): () => Promise<void> {
  const seen = new Map<string, number>();
  return async () => {
    seen.set(newKey(), 1);
    if (seen.size > 100_000) seen.clear();
  };
}

async function openRedis(build: string): Promise<OpenStore> {
  const { redisStore } = await door<typeof import('../../src/stores/redis.js')>(build, 'stores/redis.js');
  const server = await startRedis();
  const node = await createClient({ url: server.url }).connect();
  const io = new Redis(server.url);
  const clients: Record<string, SendCommand> = {
    redis: (...args) => node.sendCommand(args),
    ioredis: (...args) => io.call(...args),
  };
  return {
    subjects: Object.entries(clients).flatMap(([client, sendCommand]) => {
      const store = redisStore({ sendCommand, retention: '1h' });
      const set = () => sendCommand('SET', newKey(), 'x', 'NX', 'PX', '60000');
      return subjectsOf(client, 'bare SET', set, store);
    }),
    serverPid: server.pid,
    close: async () => {
      node.destroy();
      io.disconnect();
      await server.stop();
    },
  };
}

async function openPostgres(build: string): Promise<OpenStore> {
  const { postgresStore } = await door<typeof import('../../src/stores/postgres.js')>(
    build,
    'stores/postgres.js',
  );
  const server = await startPostgres();
  const pool = new Pool({ connectionString: server.url, max: 20 });
  const store = postgresStore({ pool });
  const transactional = postgresStore({ pool, table: 'in_transaction', transactional: true });
  await store.migrate();
  await transactional.migrate();
  await pool.query('CREATE TABLE bare (key text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())');
  const insert = () =>
    pool.query({ name: 'bare', text: 'INSERT INTO bare (key) VALUES ($1)', values: [newKey()] });
  return {
    subjects: [
      ...subjectsOf('pg', 'bare INSERT', insert, store),
      { name: 'pg: claim + complete, transactional', work: () => rememberOne(transactional) },
    ],
    serverPid: server.pid,
    close: async () => {
      await pool.end();
      await server.stop();
    },
  };
}

function subjectsOf(
  client: string,
  bare: string,
  roundTrip: Subject['work'],
  store: IdempotencyStore<object>,
): Subject[] {
  return [
    { name: `${client}: ${bare}`, work: roundTrip },
    { name: `${client}: claim`, work: () => claim(store) },
    { name: `${client}: claim + complete`, work: () => rememberOne(store) },
  ];
}

async function claim(store: IdempotencyStore<object>): Promise<void> {
  const { status } = await store.claim(newKey(), CLAIM);
  if (status !== 'claimed') throw new Error(status);
}

function door<Door>(build: string, name: string): Promise<Door> {
  return import(pathToFileURL(join(build, name)).href);
}

const CLAIM = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

/** Flat, as text that was parsed is: what randomUUID gives is a tree of pieces, five times as large. */
const newKey = () => Buffer.from(`default:live:${randomUUID()}`).toString('latin1');

async function rememberOne(store: IdempotencyStore<object>): Promise<void> {
  const result = await store.claim(newKey(), CLAIM);
  if (result.status !== 'claimed') throw new Error(result.status);
  if (!(await result.claim.complete())) throw new Error('not completed');
}
