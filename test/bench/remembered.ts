// What a remembered id takes in each store.
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { IdempotencyStore } from '../../src/claims/idempotency-store.js';
import { memoryStore } from '../../src/stores/memory.js';
import { postgresStore } from '../../src/stores/postgres.js';
import { redisStore } from '../../src/stores/redis.js';
import { CALLERS } from './store-window.js';

export const REMEMBERED = 100_000;
export const CLAIM = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

/** Flat, as text that was parsed is: what randomUUID gives is a tree of pieces, five times as large. */
export const newKey = () => Buffer.from(`default:live:${randomUUID()}`).toString('latin1');

export async function rememberOne(store: IdempotencyStore<object>): Promise<void> {
  const result = await store.claim(newKey(), CLAIM);
  if (result.status !== 'claimed') throw new Error(result.status);
  if (!(await result.claim.complete())) throw new Error('not completed');
}

export async function rememberMany(store: IdempotencyStore<object>): Promise<void> {
  let left = REMEMBERED;
  const caller = async () => {
    for (; left > 0; ) {
      left -= 1;
      await rememberOne(store);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

export async function redisBytes(client: Redis): Promise<number> {
  const used = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
  const before = await used();
  await rememberMany(redisStore({ sendCommand: (...args) => client.call(...args) }));
  return ((await used()) - before) / REMEMBERED;
}

/** With indexes; empties the table of the store before. */
export async function postgresBytes(pool: Pool): Promise<{ written: number; compacted: number }> {
  await pool.query('TRUNCATE webhook_event');
  await rememberMany(postgresStore({ pool }));
  const size = async () =>
    Number((await pool.query("SELECT pg_total_relation_size('webhook_event') AS bytes")).rows[0].bytes) /
    REMEMBERED;
  const written = await size();
  await pool.query('VACUUM FULL webhook_event');
  return { written, compacted: await size() };
}

/** Of this process, which needs `--expose-gc`; ten times as many ids as entries. */
export async function memoryBytes(): Promise<number> {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const store = memoryStore({ maxEntries: REMEMBERED });
  for (let id = 0; id < 10 * REMEMBERED; id += 1) await rememberOne(store);
  globalThis.gc?.();
  const used = process.memoryUsage().heapUsed - before;
  // Asked once more, so that the store is still there when its memory is counted.
  await rememberOne(store);
  return used / REMEMBERED;
}
