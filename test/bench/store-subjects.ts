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
  readonly subjects: readonly Subject[];
  readonly serverPid: number | undefined;
  readonly close: () => Promise<unknown>;
}

/** A build under test. */
export interface Tested {
  readonly folder: string;
  /** The name that something of this build takes part under. */
  readonly named: (name: string) => string;
}

export const stores: Readonly<Record<string, (builds: readonly Tested[]) => Promise<OpenStore>>> = {
  memory: openMemory,
  redis: openRedis,
  postgres: openPostgres,
};

async function openMemory(builds: readonly Tested[]): Promise<OpenStore> {
  const subjects: Subject[] = [{ name: 'memory: bare Map', work: bareMap() }];
  for (const build of builds) {
    const { memoryStore } = await door<typeof import('../../src/stores/memory.js')>(
      build,
      'stores/memory.js',
    );
    const store = memoryStore();
    subjects.push({ name: build.named('memory: claim + complete'), work: () => rememberOne(store) });
  }
  return {
    subjects,
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

async function openRedis(builds: readonly Tested[]): Promise<OpenStore> {
  const server = await startRedis();
  const node = await createClient({ url: server.url }).connect();
  const io = new Redis(server.url);
  const clients: Record<string, SendCommand> = {
    redis: (...args) => node.sendCommand(args),
    ioredis: (...args) => io.call(...args),
  };
  const subjects: Subject[] = Object.entries(clients).map(([client, sendCommand]) => ({
    name: `${client}: bare SET`,
    work: () => sendCommand('SET', newKey(), 'x', 'NX', 'PX', '60000'),
  }));
  for (const build of builds) {
    const { redisStore } = await door<typeof import('../../src/stores/redis.js')>(build, 'stores/redis.js');
    for (const [client, sendCommand] of Object.entries(clients))
      subjects.push(...subjectsOf(client, redisStore({ sendCommand, retention: '1h' }), build));
  }
  return {
    subjects,
    serverPid: server.pid,
    close: async () => {
      node.destroy();
      io.disconnect();
      await server.stop();
    },
  };
}

async function openPostgres(builds: readonly Tested[]): Promise<OpenStore> {
  const server = await startPostgres();
  const pool = new Pool({ connectionString: server.url, max: 20 });
  await pool.query('CREATE TABLE bare (key text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())');
  const insert = () =>
    pool.query({ name: 'bare', text: 'INSERT INTO bare (key) VALUES ($1)', values: [newKey()] });
  const subjects: Subject[] = [{ name: 'pg: bare INSERT', work: insert }];
  for (const build of builds) {
    const { postgresStore } = await door<typeof import('../../src/stores/postgres.js')>(
      build,
      'stores/postgres.js',
    );
    const store = postgresStore({ pool });
    const transactional = postgresStore({ pool, table: 'in_transaction', transactional: true });
    await store.migrate();
    await transactional.migrate();
    subjects.push(...subjectsOf('pg', store, build), {
      name: build.named('pg: claim + complete, transactional'),
      work: () => rememberOne(transactional),
    });
  }
  return {
    subjects,
    serverPid: server.pid,
    close: async () => {
      await pool.end();
      await server.stop();
    },
  };
}

function subjectsOf(client: string, store: IdempotencyStore<object>, { named }: Tested): Subject[] {
  return [
    { name: named(`${client}: claim`), work: () => claim(store) },
    { name: named(`${client}: claim + complete`), work: () => rememberOne(store) },
  ];
}

async function claim(store: IdempotencyStore<object>): Promise<void> {
  const { status } = await store.claim(newKey(), CLAIM);
  if (status !== 'claimed') throw new Error(status);
}

function door<Door>({ folder }: Tested, name: string): Promise<Door> {
  return import(pathToFileURL(join(folder, name)).href);
}

const CLAIM = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

/** Flat, as text that was parsed is: what randomUUID gives is a tree of pieces, five times as large. */
const newKey = () => Buffer.from(`default:live:${randomUUID()}`).toString('latin1');

async function rememberOne(store: IdempotencyStore<object>): Promise<void> {
  const result = await store.claim(newKey(), CLAIM);
  if (result.status !== 'claimed') throw new Error(result.status);
  if (!(await result.claim.complete())) throw new Error('not completed');
}
