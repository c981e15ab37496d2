// The page over a shared store of letters: unknown ids, filters and cursors, and other namespaces.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type DeadLetterStore, memoryDeadLetters } from 'payment-webhooks';
import { Pool } from 'pg';
import { lettersOf } from '../../setup/faulty-dead-letters.js';
import { needing } from '../../setup/platform.js';
import { type SharedStores, sharedStores } from '../../setup/shared-stores.js';
import { pageWorld } from './page-world.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const redisUrl = process.env.TEST_REDIS_URL ?? '';

const NEEDED = { memory: [], postgres: ['postgres'], redis: ['redis-server'], sqlite: ['SQLite'] };

describe.each(['memory', 'postgres', 'redis', 'sqlite'] as const)('over a store in %s', (name) => {
  const needed = needing(...NEEDED[name]);
  const isThere = needed.missing.length === 0;
  const when = needed.test;
  const schema = `page_stores_${randomBytes(6).toString('hex')}`;
  let pool: Pool;
  let shared: SharedStores | undefined;
  let deadLetters: DeadLetterStore = memoryDeadLetters();

  beforeAll(async () => {
    if (name === 'memory' || !isThere) return;
    pool = new Pool({ connectionString });
    if (name === 'postgres') await pool.query(`CREATE SCHEMA ${schema}`);
    shared = sharedStores(name, schema, { pool, redisUrl });
    await shared.migrate();
    ({ deadLetters } = shared);
  });
  afterAll(async () => {
    await shared?.close();
    if (name === 'postgres' && isThere) await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool?.end();
  });

  const NUL = '\u0000';
  when.each([
    ['a NUL', NUL],
    ['half a surrogate pair', '%ED%A0%80'],
    ['a field of the hash in Redis', 'serial'],
    ['a prefix in the hash in Redis', 'm:'],
    ['a wildcard', '*'],
    ['a piece of SQL', "' OR true --"],
    ['a property of every object', '__proto__'],
  ])('an id that is %s is that of no letter', async (_, text) => {
    const { ask, keep, log } = await pageWorld({ receiver: { deadLetters } });
    await keep();
    log.text.length = 0;
    const id = text.startsWith('%') ? text : encodeURIComponent(text);
    const answers = [await ask(`/ops/letters/${id}`), await ask(`/ops/letters/${id}/reveal`, { body: {} })];
    for (const { status } of answers) expect([400, 404, 422]).toContain(status);
    for (const filter of [`id=${id}`, `eventId=${id}`]) {
      const { json } = await ask(`/ops/letters?${filter}`);
      expect(json.letters ?? []).toEqual([]);
    }
    const { json } = await ask('/ops/discard', { body: { id: text, because: 'test data' } });
    expect(json.discarded ?? 0).toBe(0);
    // The store did not fail, and nothing above info was logged.
    expect(log.lines.filter(({ level }) => Number(level) > 30)).toEqual([]);
  });

  const CURSORS = ['x', '1e3', '-1', '0x10', "1' OR true", NUL, '9'.repeat(40)];
  when.each(CURSORS)('an unknown cursor %j is not a failure of the store', async (after) => {
    const { ask, keep, log } = await pageWorld({ receiver: { deadLetters } });
    await keep();
    log.text.length = 0;
    const { status } = await ask(`/ops/letters?after=${encodeURIComponent(after)}`);
    expect([200, 422]).toContain(status);
    expect(log.text).toEqual([]);
  });

  when('the letters of another namespace are as if they were not there', async () => {
    const other = await pageWorld({ receiver: { deadLetters, namespace: 'other' } });
    const id = await other.keep();
    const { ask, hooks } = await pageWorld({ receiver: { deadLetters } });
    expect((await ask(`/ops/letters/${id}`)).status).toBe(404);
    expect((await ask(`/ops/letters/${id}/reveal`, { body: {} })).status).toBe(404);
    const { json } = await ask('/ops/discard', { body: { id, because: 'test data' } });
    expect(json).toEqual({ discarded: 0 });
    expect(await hooks.deadLetters?.read(id)).toEqual({ status: 'gone' });
    expect(await hooks.deadLetters?.discard(id, { by: 'eve', because: 'test data' })).toBe(false);
    expect(await hooks.deadLetters?.replay({ id })).toMatchObject({ processed: 0, events: [] });
    expect(await lettersOf(other.hooks)).toContainEqual(expect.objectContaining({ id }));
  });
});
