// What a claim costs in each store, beside one bare round trip of the same client in the same run.
// npm run bench:stores [-- --seconds 2 --only postgres] starts its own Redis and Postgres.
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
import { compare as compareUnder, type Subject } from './compare.js';
import { CLAIM, memoryBytes, newKey, postgresBytes, redisBytes, rememberOne } from './remembered.js';

const { seconds, only } = parseArgs({
  options: { seconds: { type: 'string', default: '1' }, only: { type: 'string', default: '' } },
}).values;
const windowMs = Number(seconds) * 1_000;

async function claim(store: IdempotencyStore<object>) {
  const result = await store.claim(newKey(), CLAIM);
  if (result.status !== 'claimed') throw new Error(result.status);
  return result.claim;
}

/** Claim and complete are counted as one operation. */
const once = (store: IdempotencyStore<object>) => () => rememberOne(store);

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
      {
        name: `${name}: SET NX PX, bare`,
        work: () => sendCommand('SET', newKey(), 'x', 'NX', 'PX', '60000'),
      },
      { name: `${name}: claim`, work: () => claim(store) },
      { name: `${name}: claim + complete`, work: once(store) },
    ]);
    await io.flushall();
  }
  const bytes = await redisBytes(io);
  console.log(`Redis memory per remembered event: ${Math.round(bytes)} bytes`);
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
    pool.query({ name: 'bare', text: 'INSERT INTO bare (key) VALUES ($1)', values: [newKey()] });
  await compare([
    { name: 'pg: prepared INSERT of one row, bare', work: insert },
    { name: 'pg: claim', work: () => claim(store) },
    { name: 'pg: claim + complete', work: once(store) },
    { name: 'pg: claim + complete, transactional', work: once(transactional) },
  ]);
  const { written, compacted } = await postgresBytes(pool);
  console.log(
    `Postgres bytes per remembered event, with indexes: ${Math.round(written)} as written, ${Math.round(compacted)} compacted`,
  );
  await pool.end();
}

async function memory(): Promise<void> {
  await compare([
    { name: 'memory: Map, bare', work: bareMap() },
    { name: 'memory: claim + complete', work: once(memoryStore()) },
  ]);
  const bytes = await memoryBytes();
  console.log(
    `memory: 1,000,000 ids through 100,000 entries hold ${(bytes / 10).toFixed(1)} MB, ${Math.round(bytes)} bytes each`,
  );
}

function bareMap(): () => Promise<void> {
  const seen = new Map<string, number>();
  return async () => {
    seen.set(newKey(), 1);
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
