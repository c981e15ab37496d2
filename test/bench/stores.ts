// What a claim costs in each store, beside one bare round trip of the same client in the same run.
// npm run bench:stores [-- --seconds 2 --only postgres] starts its own Redis and Postgres.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import { memoryStore } from '../../src/stores/memory.js';
import { postgresStore } from '../../src/stores/postgres.js';
import { redisStore, type SendCommand } from '../../src/stores/redis.js';
import type { IdempotencyStore } from '../../src/stores/store.js';
import { startPostgres, startRedis } from '../setup/services.js';
import { CONCURRENCY, compare as compareUnder, type Subject } from './compare.js';

const REMEMBERED = 100_000;
const { seconds, only } = parseArgs({
  options: { seconds: { type: 'string', default: '1' }, only: { type: 'string', default: '' } },
}).values;
const windowMs = Number(seconds) * 1_000;
const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

/** Flat, as text that was parsed is: what randomUUID gives is a tree of pieces, five times as large. */
const key = () => Buffer.from(`default:live:${randomUUID()}`).toString('latin1');

async function claim(store: IdempotencyStore<object>) {
  const result = await store.claim(key(), request);
  if (result.status !== 'claimed') throw new Error(result.status);
  return result.claim;
}

/** Claim and complete are counted as one operation. */
const once = (store: IdempotencyStore<object>) => async () => {
  if (!(await (await claim(store)).complete())) throw new Error('not completed');
};

let serverPid: number | undefined;
const compare = (subjects: readonly Subject[]) => compareUnder(subjects, { windowMs, serverPid });

async function redisClients(url: string): Promise<void> {
  const node = await createClient({ url }).connect();
  const io = new Redis(url);
  const clients: Record<string, SendCommand> = {
    redis: (...args) => node.sendCommand(args),
    ioredis: (...args) => io.call(...args),
  };
  for (const [name, sendCommand] of Object.entries(clients)) {
    const store = redisStore({ sendCommand, retention: '1h' });
    await compare([
      { name: `${name}: SET NX PX, bare`, work: () => sendCommand('SET', key(), 'x', 'NX', 'PX', '60000') },
      { name: `${name}: claim`, work: () => claim(store) },
      { name: `${name}: claim + complete`, work: once(store) },
    ]);
    await io.flushall();
  }
  const used = async () => Number(/used_memory:(\d+)/.exec(await io.info('memory'))?.[1]);
  const before = await used();
  await remember(redisStore({ sendCommand: clients.ioredis as SendCommand }));
  console.log(
    `Redis memory per remembered event: ${Math.round(((await used()) - before) / REMEMBERED)} bytes`,
  );
  node.destroy();
  io.disconnect();
}

async function postgres(connectionString: string): Promise<void> {
  const pool = new Pool({ connectionString, max: 20 });
  const store = postgresStore({ pool });
  const transactional = postgresStore({ pool, table: 'in_transaction', transactional: true });
  await store.migrate();
  await transactional.migrate();
  await pool.query('CREATE TABLE bare (key text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())');
  const insert = () =>
    pool.query({ name: 'bare', text: 'INSERT INTO bare (key) VALUES ($1)', values: [key()] });
  await compare([
    { name: 'pg: prepared INSERT of one row, bare', work: insert },
    { name: 'pg: claim', work: () => claim(store) },
    { name: 'pg: claim + complete', work: once(store) },
    { name: 'pg: claim + complete, transactional', work: once(transactional) },
  ]);
  await pool.query('TRUNCATE webhook_event');
  await remember(store);
  const size = async () =>
    Number((await pool.query("SELECT pg_total_relation_size('webhook_event') AS bytes")).rows[0].bytes) /
    REMEMBERED;
  const written = await size();
  await pool.query('VACUUM FULL webhook_event');
  console.log(
    `Postgres bytes per remembered event, with indexes: ${Math.round(written)} as written, ${Math.round(await size())} compacted`,
  );
  await pool.end();
}

async function remember(store: IdempotencyStore<object>): Promise<void> {
  let left = REMEMBERED;
  const caller = async () => {
    for (; left > 0; ) {
      left -= 1;
      await once(store)();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, caller));
}

async function memory(): Promise<void> {
  await compare([
    { name: 'memory: Map, bare', work: bareMap() },
    { name: 'memory: claim + complete', work: once(memoryStore()) },
  ]);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const store = memoryStore();
  for (let id = 0; id < 1_000_000; id += 1) await once(store)();
  globalThis.gc?.();
  const used = process.memoryUsage().heapUsed - before;
  // Asked once more, so that the store is still there when its memory is counted.
  await once(store)();
  console.log(
    `memory: 1,000,000 ids through 100,000 entries hold ${(used / 1e6).toFixed(1)} MB, ${Math.round(used / 1e5)} bytes each`,
  );
}

function bareMap(): () => Promise<void> {
  const seen = new Map<string, number>();
  return async () => {
    seen.set(key(), 1);
    if (seen.size > 100_000) seen.clear();
  };
}

async function against(start: typeof startRedis, run: (url: string) => Promise<void>): Promise<void> {
  const server = await start();
  serverPid = existsSync('/proc/self/stat') ? server.pid : undefined;
  try {
    await run(server.url);
  } finally {
    await server.stop();
  }
}

const suites = {
  memory,
  redis: () => against(startRedis, redisClients),
  postgres: () => against(startPostgres, postgres),
};
for (const [name, suite] of Object.entries(suites)) if (name.startsWith(only)) await suite();
