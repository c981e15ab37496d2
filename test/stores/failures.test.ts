// What the log says when a database refuses a store: the code, and what to do about it.
import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { IdempotencyStore } from 'payment-webhooks';
import { postgresDeadLetters, postgresStore } from 'payment-webhooks/stores/postgres';
import { redisStore } from 'payment-webhooks/stores/redis';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { startEndpoint } from '../setup/endpoint.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { needing } from '../setup/platform.js';
import { refusingPort } from '../setup/ports.js';
import { leased, overMysql2 } from '../setup/sql-clients.js';

const postgresUrl = process.env.TEST_POSTGRES_URL ?? '';
const redisUrl = process.env.TEST_REDIS_URL ?? '';
const name = `failures_${randomBytes(6).toString('hex')}`;
const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

/** The line of a failed claim, and that of its delivery. */
async function linesOf(store: IdempotencyStore<object>) {
  const endpoint = await startEndpoint({ store });
  expect(await endpoint.post()).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
  return endpoint.log.lines.filter(({ level }) => level === 50);
}

/** @param change what is wrong in the address */
function poolOf(change: Partial<Pick<URL, 'pathname' | 'username' | 'port'>> = {}): Pool {
  const { href } = Object.assign(new URL(postgresUrl), change);
  const pool = new Pool({ connectionString: href });
  closing.push(() => pool.end());
  return pool;
}

const NO_TABLE = 'The table does not exist: call store.migrate().';
const NO_DATABASE = 'The database does not exist: create it, or correct its name.';
const WRONG_TYPE = 'It threw WRONGTYPE. Something else uses its keys: give redisStore() another prefix.';
const NO_ROLE =
  'The role does not exist, or its password is wrong: correct the user and password of the connection.';

needing('postgres').describe('a Postgres', () => {
  test.each<[string, Parameters<typeof poolOf>[0], string, string]>([
    ['has no table', {}, '42P01', NO_TABLE],
    ['has no such database', { pathname: `/${name}` }, '3D000', NO_DATABASE],
    ['has no such role', { username: name }, '28000', NO_ROLE],
  ])('that %s', async (_, change, code, cure) => {
    const lines = await linesOf(postgresStore({ pool: poolOf(change), table: `public.${name}` }));
    expect(lines).toMatchObject([
      { msg: `the store did not answer: It threw ${code}. ${cure}`, error: { code } },
      { msg: 'delivery', hint: expect.stringContaining(cure) },
    ]);
  });

  test('that is not there', async () => {
    const port = String(await refusingPort());
    const lines = await linesOf(postgresStore({ pool: poolOf({ port }) }));
    expect(lines[0]).toMatchObject({
      msg: 'the store did not answer: It threw ECONNREFUSED. Nothing listens there: start the server, or correct host and port.',
    });
  });

  test('that has no table of dead letters names their own migrate()', async () => {
    const deadLetters = postgresDeadLetters({ pool: poolOf(), table: `public.${name}` });
    const failing = () => Promise.reject(new Error('failed'));
    const endpoint = await startEndpoint({ deadLetters, handlers: { '*': failing } });
    await endpoint.post();
    expect(endpoint.log.lines.map(({ msg }) => msg)).toContain(
      'the event was not kept as a dead letter: It threw 42P01. The table does not exist: call deadLetters.migrate().',
    );
  });
});

needing('redis-server').test('a Redis whose key belongs to something else', async () => {
  const redis = new Redis(redisUrl);
  closing.push(() => redis.disconnect());
  const store = redisStore({
    // Whatever key is claimed, somebody has put a list there.
    sendCommand: async (...args) => {
      if (args[0].startsWith('EVAL')) await redis.call('LPUSH', args[3] as string, 'taken').catch(() => {});
      return redis.call(...args);
    },
    prefix: `${name}:`,
  });
  const [line] = await linesOf(store);
  const msg = `the store did not answer: ${WRONG_TYPE}`;
  expect(line).toMatchObject({ msg, error: { code: 'WRONGTYPE' } });
});

withMariadb('a MariaDB', () => {
  const mariadb = ownMariadb();

  test.each<[string, object, string, string]>([
    ['has no table', {}, 'ER_NO_SUCH_TABLE', NO_TABLE],
    ['has no such database', { database: name }, 'ER_BAD_DB_ERROR', NO_DATABASE],
    ['has no such user', { user: name }, 'ER_ACCESS_DENIED_ERROR', NO_ROLE],
  ])('that %s', async (_, change, code, cure) => {
    const store = sqlStore({ ...leased(overMysql2(mariadb.pool(change))), table: 'no_such_table' });
    const [line] = await linesOf(store);
    const msg = `the store did not answer: It threw ${code}. ${cure}`;
    expect(line).toMatchObject({ msg, error: { code } });
  });
});
