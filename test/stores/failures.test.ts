// What the log says when a database refuses a store: the code, and what to do about it.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type IdempotencyStore, receiver } from 'payment-webhooks';
import { postgresDeadLetters, postgresStore } from 'payment-webhooks/stores/postgres';
import { redisStore } from 'payment-webhooks/stores/redis';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { RECEIVER_STATS, type ReceiverStats } from '../../src/deliveries/receiver-stats.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { needing } from '../setup/platform.js';
import { refusingPort } from '../setup/ports.js';
import { type Service, startRedis } from '../setup/services.js';
import { overMysql2 } from '../setup/sql-clients.js';
import { until } from '../setup/waiting.js';

const postgresUrl = process.env.TEST_POSTGRES_URL ?? '';
const name = `failures_${randomBytes(6).toString('hex')}`;
const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

/** The line of a failed claim, and that of its delivery. */
async function linesOf(store: IdempotencyStore<object>) {
  const endpoint = await startEndpoint({ store });
  expect(await endpoint.post()).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
  return endpoint.log.lines.filter(({ level }) => level === 50);
}

/** The line of a health check that fails. */
async function pingLine(store: IdempotencyStore<object>): Promise<unknown> {
  const log = captureLog();
  const hooks = receiver({ privateKey: KEY, store, logger: log.logger, handlers: { '*': () => {} } });
  const { [RECEIVER_STATS]: stats } = hooks as unknown as Record<symbol, ReceiverStats>;
  expect(await stats?.reachStore()).toBe('unreachable');
  return log.lines.find(({ level }) => level === 50)?.msg;
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

needing('postgres').describe('a Postgres that is reached, and cannot be used,', () => {
  const table = `public.${name}_used`;
  const role = `${name}_role`;
  const admin = () => poolOf();
  let pool: Pool;
  beforeAll(async () => {
    await postgresStore({ pool: admin(), table }).migrate();
    await admin().query(
      `CREATE ROLE ${role} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`,
    );
    pool = poolOf({ username: role });
  });
  afterAll(() => admin().query(`DROP TABLE ${table}; DROP ROLE ${role}`));

  const POLICY =
    'It threw 42501. Row-level security refuses the row: create a policy that gives this role every row, or use a role with BYPASSRLS.';
  const HIDDEN =
    'A row that was just written is not found again, so claims are lost. Check row-level security, and the table for triggers and rules.';
  const GRANT = 'It threw 42501. The role may not use the table: grant it SELECT, INSERT, UPDATE and DELETE.';
  const READ_ONLY =
    'It threw 25006. The server or the session is read-only: connect to the primary, and do not make sessions read-only.';
  const policies = (...of: string[]) =>
    `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;` +
    of
      .map(
        (name) =>
          `CREATE POLICY p_${name} ON ${table} FOR ${name} ${name === 'INSERT' ? 'WITH CHECK' : 'USING'} (true);`,
      )
      .join('');
  const dropped = ['INSERT', 'SELECT', 'UPDATE', 'DELETE'].map(
    (name) => `DROP POLICY IF EXISTS p_${name} ON ${table};`,
  );
  const noPolicies = `ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY;${dropped.join('')}`;

  test.each<[string, string, string, string]>([
    ['has row-level security without a policy', policies(), noPolicies, POLICY],
    ['has a policy for INSERT alone', policies('INSERT'), noPolicies, POLICY],
    ['has policies that hide rows from UPDATE', policies('INSERT', 'SELECT', 'DELETE'), noPolicies, HIDDEN],
    [
      'does not grant INSERT',
      `REVOKE INSERT ON ${table} FROM ${role}`,
      `GRANT INSERT ON ${table} TO ${role}`,
      GRANT,
    ],
    [
      'does not grant UPDATE',
      `REVOKE UPDATE ON ${table} FROM ${role}`,
      `GRANT UPDATE ON ${table} TO ${role}`,
      GRANT,
    ],
    [
      'does not grant DELETE',
      `REVOKE DELETE ON ${table} FROM ${role}`,
      `GRANT DELETE ON ${table} TO ${role}`,
      GRANT,
    ],
  ])('because it %s, fails its ping', async (_, arrange, undo, cure) => {
    const store = postgresStore({ pool, table });
    await store.ping();
    await admin().query(arrange);
    const log = await pingLine(store);
    await admin().query(undo);
    await store.ping();
    expect(log).toBe(`the store did not answer a health check: ${cure}`);
  });

  test('because it has no policy, is named by every delivery', async () => {
    await admin().query(policies());
    const [line] = await linesOf(postgresStore({ pool, table }));
    const letters = postgresDeadLetters({ pool, table: `${table}_letters` });
    await postgresDeadLetters({ pool: admin(), table: `${table}_letters` }).migrate();
    await admin().query(
      `GRANT ALL ON ${table}_letters TO ${role}; ALTER TABLE ${table}_letters ENABLE ROW LEVEL SECURITY`,
    );
    const endpoint = await startEndpoint({
      deadLetters: letters,
      handlers: { '*': () => Promise.reject(new Error()) },
    });
    await endpoint.post();
    await admin().query(`${noPolicies} DROP TABLE ${table}_letters`);
    expect(line?.msg).toBe(`the store did not answer: ${POLICY}`);
    expect(endpoint.log.lines.map(({ msg }) => msg)).toContain(
      `the event was not kept as a dead letter: ${POLICY}`,
    );
  });

  test('because policies hide its rows, is named when the claim is completed', async () => {
    const store = postgresStore({ pool, table });
    await admin().query(policies('INSERT', 'SELECT', 'DELETE'));
    const endpoint = await startEndpoint({ store });
    // The handler has run, so the answer does not ask for a retry.
    expect(await endpoint.post()).toMatchObject({ status: 200 });
    await admin().query(noPolicies);
    expect(endpoint.log.lines.map(({ msg }) => msg).join('\n')).toContain(HIDDEN);
  });

  test('because the role is read-only, is named', async () => {
    await admin().query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
    const readOnly = postgresStore({ pool: poolOf({ username: role }), table });
    const [line] = await linesOf(readOnly);
    const log = await pingLine(readOnly);
    await admin().query(`ALTER ROLE ${role} RESET default_transaction_read_only`);
    expect(line?.msg).toBe(`the store did not answer: ${READ_ONLY}`);
    expect(log).toContain('This Postgres is read-only, or this session is');
  });
});

needing('redis-server').describe('a Redis', () => {
  let server: Service;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  const storeOf = (prefix = `${name}:`) =>
    redisStore({ sendCommand: (...args) => redis.call(...args), prefix });

  test('whose key belongs to something else', async () => {
    const store = redisStore({
      // Whatever key is claimed, somebody has put a list there.
      sendCommand: async (...args) => {
        if (args[0].startsWith('EVAL')) await redis.call('LPUSH', args[3] as string, 'taken').catch(() => {});
        return redis.call(...args);
      },
      prefix: `${name}:taken:`,
    });
    const [line] = await linesOf(store);
    const msg = `the store did not answer: ${WRONG_TYPE}`;
    expect(line).toMatchObject({ msg, error: { code: 'WRONGTYPE' } });
  });

  const set = (...args: string[]) => redis.call('CONFIG', 'SET', ...args);
  /** Redis saves to a folder that is gone. */
  const failToSave = async () => {
    await set('save', '3600 1000000');
    rmSync(server.dir, { recursive: true });
    await redis.bgsave();
    await until(async () => (await redis.info('persistence')).includes('rdb_last_bgsave_status:err'));
  };

  test.each<[code: string, arrange: () => Promise<unknown>, undo: () => Promise<unknown>, cure: string]>([
    [
      'NOREPLICAS',
      () => set('min-replicas-to-write', '1'),
      () => set('min-replicas-to-write', '0'),
      'Too few replicas are connected: start them, or lower min-replicas-to-write.',
    ],
    [
      'OOM',
      () => set('maxmemory', '1'),
      () => set('maxmemory', '0'),
      'Redis has no memory left: raise maxmemory.',
    ],
    [
      'READONLY',
      () => redis.replicaof('127.0.0.1', '1'),
      () => redis.replicaof('NO', 'ONE'),
      'This Redis is a replica: connect to the primary.',
    ],
    [
      'MISCONF',
      failToSave,
      () => set('save', ''), // otherwise it could not end either
      'Redis cannot write to its disk: free space, or fix the error that its log names.',
    ],
  ])('that refuses with %s, and fails its ping', async (code, arrange, undo, cure) => {
    const store = storeOf();
    await store.ping?.();
    await arrange();
    const lines = await linesOf(store);
    await expect(store.ping?.()).rejects.toThrow(code);
    await undo();
    await store.ping?.();
    expect(lines).toMatchObject([
      { msg: `the store did not answer: It threw ${code}. ${cure}`, error: { code } },
      { msg: 'delivery', hint: expect.stringContaining(cure) },
    ]);
  });

  test('that refuses a queue has its code in the log', async () => {
    await set('min-replicas-to-write', '1');
    const endpoint = await startEndpoint({ handlers: { '*': () => redis.set('a', 'b') } });
    expect(await endpoint.post()).toMatchObject({ status: 500 });
    await set('min-replicas-to-write', '0');
    expect(endpoint.log.lines).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ code: 'NOREPLICAS' }) }),
    );
  });

  test('that has renamed a command', async () => {
    const renamed = await startRedis(['--rename-command', 'EVALSHA', '']);
    const client = new Redis(renamed.url);
    const [line] = await linesOf(redisStore({ sendCommand: (...args) => client.call(...args) }));
    client.disconnect();
    await renamed.stop();
    expect(line?.msg).toBe(
      'the store did not answer: This Redis has no command EVALSHA. Do not rename or disable it: docs/stores.md has the list.',
    );
  });
});

withMariadb('a MariaDB', () => {
  const mariadb = ownMariadb(['--log-bin']);

  test.each<[string, object, string, string]>([
    ['has no table', {}, 'ER_NO_SUCH_TABLE', NO_TABLE],
    ['has no such database', { database: name }, 'ER_BAD_DB_ERROR', NO_DATABASE],
    ['has no such user', { user: name }, 'ER_ACCESS_DENIED_ERROR', NO_ROLE],
  ])('that %s', async (_, change, code, cure) => {
    const store = sqlStore({ ...overMysql2(mariadb.pool(change)), table: 'no_such_table' });
    const [line] = await linesOf(store);
    const msg = `the store did not answer: It threw ${code}. ${cure}`;
    expect(line).toMatchObject({ msg, error: { code } });
  });

  test.each<[string, string, string]>([
    [
      'SET SESSION TRANSACTION READ ONLY',
      'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
      'The server or the session is read-only: connect to the primary, and do not make sessions read-only.',
    ],
    [
      'SET SESSION binlog_format = STATEMENT, tx_isolation = "READ-COMMITTED"',
      'ER_BINLOG_STMT_MODE_AND_ROW_ENGINE',
      'A binary log of statements does not work with READ COMMITTED: set binlog_format to MIXED or ROW.',
    ],
  ])('that is reached, and cannot be used after %s, fails its ping', async (setting, code, cure) => {
    const table = 'mysql.reached_event';
    await sqlStore({ ...overMysql2(mariadb.pool()), table }).migrate();
    const pool = mariadb.pool();
    // Of every connection, as an application sets it.
    (pool as unknown as { pool: Emitter }).pool.on('connection', (connection) => connection.query(setting));
    const store = sqlStore({ ...overMysql2(pool), table });
    const [line] = await linesOf(store);
    expect(line).toMatchObject({
      msg: `the store did not answer: It threw ${code}. ${cure}`,
      error: { code },
    });
    expect(await pingLine(store)).toBe(`the store did not answer a health check: It threw ${code}. ${cure}`);
  });
});

interface Emitter {
  on(event: 'connection', listener: (connection: { query(sql: string): unknown }) => void): void;
}
