// Every way to the stores of a SQL database: a table of events, a ledger, and a way to see and end connections.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import type { PoolOptions as MysqlOptions, Pool as MysqlPool, PoolConnection } from 'mysql2/promise';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { type SqlStore, sqlStore, type WithOnce } from 'payment-webhooks/stores/sql';
import { Pool as PgPool, type PoolClient, type PoolConfig } from 'pg';
import type { Claim, ClaimResult } from '../../src/contracts/idempotency-store.js';
import type { OwnMariadb } from '../setup/own-mariadb.js';
import { overMysql2, overPg } from '../setup/sql-clients.js';
import { until } from '../setup/waiting.js';

/** A statement of a handler, whatever its client. */
export type Send = (sql: string, values?: string[]) => Promise<Record<string, unknown>[]>;

export interface StoreOptions {
  readonly table?: string;
  readonly retention?: number | undefined;
}

export interface PoolOptions extends StoreOptions {
  /** Of its connections. */
  readonly max?: number | undefined;
  /** Where it connects instead: a proxy on the way to the server. */
  readonly port?: number | undefined;
  /** Of its transactions. @default that of the server */
  readonly isolation?: string | undefined;
}

export interface Opened {
  readonly store: SqlStore<WithOnce<object>>;
  /** Its pool. */
  readonly client: object;
  /** With other options, on the same pool and table. */
  storeWith(options: StoreOptions): SqlStore<WithOnce<object>>;
  /** A transaction as a handler begins it. */
  begin(work: (transaction: object) => Promise<unknown>): Promise<unknown>;
  readonly key: string;
  /** By a connection of its pool. */
  readonly run: Send;
  /** Whether every connection is back in its pool. */
  idle(): boolean;
}

export interface OpenedOnPg extends Opened {
  readonly pool: PgPool;
  /** The application that its connections say they are. */
  readonly name: string;
  /** Ends all its connections from outside. */
  terminateAll(): Promise<unknown>;
}

interface Named {
  readonly url: string;
  readonly schema: string;
  readonly table: string;
  readonly ledger: string;
  /** The `?` of its statements. */
  readonly placeholder: string;
  readonly keyColumn: string;
  /** Sees what is committed, and is never short of a connection. */
  readonly observe: Send;
}

export interface World<Open extends Opened = Opened> extends Named {
  /** What a handler writes. */
  pay(send: Send, key: string): Promise<unknown>;
  /** How many payments of the event are committed. */
  paid(key: string): Promise<number>;
  /** How many rows of the event are committed. */
  known(key: string): Promise<number>;
  /** @param options a pool of pg may be given more */
  open(options?: PoolOptions & PoolConfig): Open;
  /** Statements in the transaction that a handler is given. */
  sending(transaction: object): Send;
  /** A statement after which the server ends the transaction once it is idle for a second. */
  readonly limitIdle: string;
  /** How many connections wait for a lock of a row. */
  waiting(): Promise<number>;
  /** Ends the connection of a transaction from outside. */
  terminate(transaction: object): Promise<void>;
  close(): Promise<void>;
}

export type PostgresWorld = World<OpenedOnPg>;

/** The two stores that take a pool of pg. */
export const BY_PG = ['postgresStore', 'sqlStore'] as const;
export type ByPg = (typeof BY_PG)[number];

export function storeOnPg(by: ByPg, pool: PgPool, options: StoreOptions = {}): SqlStore<WithOnce<object>> {
  const store =
    by === 'sqlStore' ? sqlStore({ ...overPg(pool), ...options }) : postgresStore({ pool, ...options });
  return store as SqlStore<WithOnce<object>>;
}

export const connectionString = process.env.TEST_POSTGRES_URL ?? '';

export async function postgresWorld(by: ByPg): Promise<PostgresWorld> {
  const url = connectionString;
  const schema = `worlds_${randomBytes(6).toString('hex')}`;
  const observer = new PgPool({ connectionString: url, application_name: 'observer' });
  const pools: PgPool[] = [];
  const observe: Send = async (sql, values) => (await observer.query(sql, values)).rows;
  const [table, ledger] = [`${schema}.webhook_event`, `${schema}.ledger`];
  const named = { url, schema, table, ledger, placeholder: '$1', keyColumn: 'key', observe };
  await observe(`CREATE SCHEMA ${schema}; CREATE TABLE ${ledger} (event text NOT NULL)`);
  await postgresStore({ pool: observer, table }).migrate();
  const sending =
    (transaction: object): Send =>
    async (sql, values) =>
      (await (transaction as PoolClient).query(sql, values)).rows;
  return {
    ...{ ...named, ...payments(named), sending },
    open: ({ table: own = table, retention, port, isolation, ...config } = {}) => {
      const name = `${schema}_${pools.length}`;
      const given = { connectionString: urlAt(url, port), max: 5, application_name: name };
      const session = isolation && {
        options: `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`,
      };
      const pool = new PgPool({ ...given, ...session, ...config });
      pool.on('error', () => {});
      pools.push(pool);
      const options = { table: own, retention };
      const storeWith = (changed: StoreOptions) => storeOnPg(by, pool, { ...options, ...changed });
      return {
        ...{ pool, name, client: pool, key: `live:${pools.length}` },
        store: storeWith({}),
        storeWith,
        begin: overPg(pool).transaction as OpenedOnPg['begin'],
        run: async (sql, values) => (await pool.query(sql, values)).rows,
        idle: () => pool.totalCount === pool.idleCount,
        terminateAll: () =>
          observe('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [
            name,
          ]),
      };
    },
    limitIdle: "SET LOCAL idle_in_transaction_session_timeout = '1s'",
    waiting: async () => {
      const locked = "application_name LIKE $1 AND wait_event_type = 'Lock'";
      const rows = await observe(`SELECT 1 FROM pg_stat_activity WHERE ${locked}`, [`${schema}_%`]);
      return rows.length;
    },
    terminate: async (transaction) => {
      const { processID } = transaction as { processID: number };
      await observe('SELECT pg_terminate_backend($1::int)', [String(processID)]);
    },
    close: async () => {
      for (const pool of pools) {
        // A client that was not given back would let `end` wait for ever.
        await until(() => pool.totalCount === pool.idleCount);
        await pool.end();
      }
      await observer.query(`DROP SCHEMA ${schema} CASCADE`);
      await observer.end();
    },
  };
}

/** @param verb of mysql2: `query` sends statements as text, `execute` prepares them */
export async function mariadbWorld(
  mariadb: OwnMariadb,
  verb: 'query' | 'execute',
  config: MysqlOptions = {},
): Promise<World> {
  const { url } = mariadb.server;
  const observer = mariadb.pool({ connectionLimit: 50 });
  const pools: MysqlPool[] = [];
  const observe: Send = async (sql, values) => (await observer.query(sql, values))[0] as never;
  const schema = `worlds_${verb}`;
  const [table, ledger] = [`${schema}.webhook_event`, `${schema}.ledger`];
  const named = { url, schema, table, ledger, placeholder: '?', keyColumn: '`key`', observe };
  await observe(`CREATE DATABASE ${schema}`);
  await observe(`CREATE TABLE ${schema}.ledger (event VARBINARY(255) NOT NULL) ENGINE=InnoDB`);
  await sqlStore({ ...overMysql2(observer, verb), table }).migrate();
  const sending =
    (transaction: object): Send =>
    async (sql, values) =>
      (await (transaction as PoolConnection).query(sql, values))[0] as never;
  const isIdle = (pool: MysqlPool) => {
    const { _allConnections: all, _freeConnections: free } = pool.pool as unknown as Record<
      string,
      { length: number }
    >;
    return all?.length === free?.length;
  };
  return {
    ...{ ...named, ...payments(named), sending },
    open: ({ max = 5, table: own = table, retention, port, isolation } = {}) => {
      const pool = mariadb.pool({ uri: urlAt(url, port), connectionLimit: max, ...config });
      pools.push(pool);
      if (isolation)
        pool.on('connection', (connection) => {
          const { query } = connection as unknown as { query(sql: string, done: () => void): void };
          query.call(connection, `SET SESSION TRANSACTION ISOLATION LEVEL ${isolation}`, () => {});
        });
      const database = overMysql2(pool, verb);
      const options = { table: own, retention };
      const storeWith = (changed: StoreOptions) =>
        sqlStore({ ...database, ...options, ...changed }) as SqlStore<WithOnce<object>>;
      return {
        store: storeWith({}),
        storeWith,
        client: pool,
        begin: database.transaction as Opened['begin'],
        key: `live:${pools.length}`,
        run: async (sql, values) => (await pool.query(sql, values))[0] as never,
        idle: () => isIdle(pool),
      };
    },
    limitIdle: 'SET SESSION idle_transaction_timeout = 1',
    waiting: async () => {
      const [row] = await observe("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'");
      return Number(row?.Value);
    },
    terminate: async (transaction) => {
      await observe(`KILL ${(transaction as PoolConnection).threadId}`);
    },
    close: async () => {
      await until(() => pools.every(isIdle));
    },
  };
}

/** To be read in tests and later hooks: it runs from before the first test to after the last. */
export function ownWorld<Made extends World>(make: () => Promise<Made>): Made {
  let made: Made | undefined;
  beforeAll(async () => {
    made = await make();
  });
  afterAll(() => made?.close());
  return new Proxy({} as Made, { get: (_, name) => Reflect.get(made ?? {}, name) });
}

const urlAt = (url: string, port = Number(new URL(url).port)) =>
  Object.assign(new URL(url), { port: String(port) }).href;

export function granted<Extra extends object>(result: ClaimResult<Extra>): Claim<Extra> {
  if (result.status !== 'claimed') throw new Error(`not granted: ${result.status}`);
  return result.claim;
}

/** Claims until it is granted, as the retries of a sender do: one that met many others, or a broken connection, was answered 503. */
export async function grantedInTheEnd<Extra extends object>(
  claim: () => ClaimResult<Extra> | Promise<ClaimResult<Extra>>,
): Promise<Claim<Extra>> {
  let next: ClaimResult<Extra> | undefined;
  await until(async () => {
    next = await Promise.resolve(claim()).catch((error) => {
      if (!/could not serialize|Deadlock|deadlock|Record has changed|ECONNRESET/.test(String(error)))
        throw error;
      return undefined;
    });
    return next?.status === 'claimed';
  });
  return granted(next as ClaimResult<Extra>);
}

/** What handlers write to the ledger, and what is committed of it. */
function payments({ observe, table, ledger, placeholder, keyColumn }: Named) {
  const count = async (place: string, column: string, key: string) => {
    const sql = `SELECT count(*) AS n FROM ${place} WHERE ${column} = ${placeholder}`;
    return Number((await observe(sql, [key]))[0]?.n);
  };
  return {
    pay: (send: Send, key: string) => send(`INSERT INTO ${ledger} (event) VALUES (${placeholder})`, [key]),
    paid: (key: string) => count(ledger, 'event', key),
    known: (key: string) => count(table, keyColumn, key),
  };
}

/** The next so many writes to a table of Postgres fail; a sequence keeps counting through a rollback. */
export async function failing(
  { observe }: Pick<World, 'observe'>,
  table: string,
  { code, times }: { readonly code: string; readonly times: number },
): Promise<void> {
  await observe(`
    CREATE SEQUENCE ${table}_tries;
    CREATE FUNCTION ${table}_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('${table}_tries') <= ${times} THEN RAISE EXCEPTION USING ERRCODE = '${code}'; END IF;
    RETURN NEW; END $$;
    CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_fail()`);
}

type Query = (...args: unknown[]) => Promise<unknown>;

/**
 * Calls `spy` for every query of clients that the pool connects from now on, with the text and the name of the statement,
 * and with what sends it.
 */
export function spyOnQueries(
  pool: PgPool,
  spy: (sent: { text: string; name?: string; query: Query }, send: () => Promise<unknown>) => unknown,
): void {
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as Query;
    const spied = (...args: unknown[]) => {
      const [given] = args as [string | { text: string; name?: string }];
      return spy({ ...(typeof given === 'string' ? { text: given } : given), query }, () => query(...args));
    };
    Object.assign(client, { query: spied });
  });
}

/** Runs work while the pool waits only briefly. Not longer: a new connection takes its time on a busy machine. */
export async function withoutPatience(pool: PgPool, work: () => Promise<void>): Promise<void> {
  pool.options.connectionTimeoutMillis = 100;
  await work();
  pool.options.connectionTimeoutMillis = 0;
}
