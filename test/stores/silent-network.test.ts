// A network that swallows packets while a handler runs in its transaction: the handler is told before a retry can run.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Pool as MysqlPool, PoolConnection } from 'mysql2/promise';
import { type IdempotencyStore, receiver } from 'payment-webhooks';
import { type PostgresQuery, postgresStore } from 'payment-webhooks/stores/postgres';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { Pool as PgPool, type PoolClient } from 'pg';
import { startProxy } from '../faults/faulty-proxy.js';
import { testAtOnce } from '../setup/at-once.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY } from '../setup/delivery.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { overMysql2, overPg } from '../setup/sql-clients.js';
import { gate, unlessStalled, until } from '../setup/waiting.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = connectionString ? describe : describe.skip;
const name = `silent_${randomBytes(6).toString('hex')}`;
const table = `${name}.webhook_event`;
const LEASE_MS = 2_000;

type Send = (sql: string) => Promise<unknown>;
type Transactional = IdempotencyStore<{ readonly transaction: object }>;

interface World {
  /** A store whose transactions, and whose other statements, go to these ports. Without ports, straight to the server. */
  store(ports?: { transactions: number; others: number }, max?: number): Transactional;
  readonly port: number;
  /** A statement of a handler. */
  sending(transaction: object): Send;
  sleep(seconds: number): string;
  /** Whether the server executes a statement with this text. */
  executes(text: string): Promise<boolean>;
}

/** Where one handler runs and its retries come, as two processes do. */
function inScene(world: World, play: (scene: Scene) => Promise<void>, options: Options = {}) {
  return unlessStalled(() => playIn(world, play, options));
}

async function playIn(world: World, play: (scene: Scene) => Promise<void>, options: Options) {
  const proxy = await startProxy(world.port);
  const servers: Server[] = [];
  const happened: string[] = [];
  const [started, over] = [gate(), gate()];
  let handle: Handle = async () => {};
  const { port: transactions } = proxy;
  const first = world.store({ transactions, others: options.alone ? world.port : transactions }, options.max);
  const urls = await Promise.all([
    listen(servers, first, async (transaction, signal) => {
      signal.addEventListener('abort', () => happened.push('told'));
      started.open();
      await handle(world.sending(transaction));
    }),
    listen(servers, world.store(), async () => void happened.push('retried')),
  ]);
  const event = { ...JSON.parse(delivery().body.toString()), id: `evt_${randomBytes(6).toString('hex')}` };
  const send = async (process: 0 | 1) => {
    const response = await fetch(urls[process], { method: 'POST', ...delivery(event) });
    await response.text();
    return response.status;
  };
  const scene: Scene = {
    happened,
    over: over.opened,
    silence: () => proxy.set('black hole'),
    start: async (work) => {
      handle = work;
      void send(0).catch(() => {});
      await started.opened;
    },
    first: (work) => {
      handle = work;
      return send(0);
    },
    retry: () => send(1),
  };
  try {
    await play(scene);
  } finally {
    over.open();
    await proxy.close();
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  }
}

type Handle = (send: Send) => Promise<void>;

interface Scene {
  readonly happened: string[];
  /** Until it resolves, a handler that obeys no signal goes on. */
  readonly over: Promise<void>;
  /** From now on the network swallows every packet. */
  silence(): void;
  /** Resolves when the handler runs. */
  start(handle: Handle): Promise<void>;
  first(handle: Handle): Promise<number>;
  retry(): Promise<number>;
}

interface Options {
  /** Whether only the connection of the transaction goes silent. */
  readonly alone?: boolean;
  readonly max?: number;
}

async function listen(
  servers: Server[],
  store: Transactional,
  handle: (transaction: object, signal: AbortSignal) => Promise<void>,
): Promise<string> {
  const hooks = receiver<{}, { readonly transaction: object }>({
    ...{ privateKey: KEY, store, logger: captureLog().logger },
    ...{ lease: LEASE_MS, storeTimeout: 1_900, timeout: 60_000 },
  });
  hooks.on('transaction.paid', (_, { transaction, signal }) => handle(transaction, signal));
  const server = createServer(hooks).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const ports = (url: string, port: number) => Object.assign(new URL(url), { port: String(port) }).href;

withPostgres('in Postgres', () => {
  const observer = new PgPool({ connectionString });
  const pools = [observer];
  const { port } = new URL(connectionString || 'http://127.0.0.1:1');
  beforeAll(async () => {
    await observer.query(`CREATE SCHEMA ${name}`);
    await postgresStore({ pool: observer, table }).migrate();
  });
  afterAll(async () => {
    await observer.query(`DROP SCHEMA ${name} CASCADE`);
    for (const pool of pools) await pool.end();
  });

  function open(to = Number(port), max = 5): PgPool {
    const pool = new PgPool({ connectionString: ports(connectionString, to), max });
    pool.on('error', () => {});
    pools.push(pool);
    return pool;
  }
  const world = (store: (transactions: PgPool, others: PgPool) => Transactional): World => ({
    port: Number(port),
    store: (to, max) => {
      const transactions = open(to?.transactions, max);
      return store(transactions, to && to.transactions !== to.others ? open(to.others) : transactions);
    },
    sending: (transaction) => (sql) => (transaction as PoolClient).query(sql),
    sleep: (seconds) => `SELECT pg_sleep(${seconds})`,
    executes: async (text) => {
      const sql = `SELECT FROM pg_stat_activity WHERE query = $1 AND state = 'active'`;
      return (await observer.query(sql, [text])).rowCount !== 0;
    },
  });

  describe('through postgresStore', () => {
    staysApart(
      world((transactions, others) => {
        const pool = {
          query: (query: PostgresQuery) => others.query(query),
          on: transactions.on.bind(transactions),
          connect: () => transactions.connect(),
        };
        return postgresStore({ pool, table, transactional: true });
      }),
    );
  });
  describe('through sqlStore', () => {
    staysApart(
      world((transactions, others) => {
        const { transaction } = overPg(transactions);
        return sqlStore({ ...overPg(others), transaction, table });
      }),
    );
  });
});

withPostgres('the lease of a silent transaction', () => {
  const pool = new PgPool({ connectionString, max: 30 });
  pool.on('error', () => {});
  afterAll(() => pool.end());

  // Where two timers of one millisecond decide, many transactions at once see both orders.
  test(
    'ends for every handler before the store gives its connection back',
    () =>
      unlessStalled(async () => {
        const own = `told_${randomBytes(6).toString('hex')}.webhook_event`;
        await pool.query(`CREATE SCHEMA ${own.split('.')[0]}`);
        await postgresStore({ pool, table: own }).migrate();
        const play = async (index: number): Promise<string[]> => {
          const happened: string[] = [];
          const [over, renewed] = [gate(), gate()];
          const proxy = await startProxy(Number(new URL(connectionString).port));
          const through = new PgPool({ connectionString: ports(connectionString, proxy.port), max: 2 });
          through.on('error', () => {});
          const client = {
            query: (query: PostgresQuery) => pool.query(query),
            on: through.on.bind(through),
            connect: async () => {
              const connection = await through.connect();
              const query = connection.query.bind(connection) as (query: PostgresQuery) => Promise<never>;
              const spied = async (sent: PostgresQuery) => {
                const reply = await query(sent);
                if (sent.text.startsWith("SELECT set_config('idle_in_transaction")) renewed.open();
                return reply;
              };
              const release = connection.release.bind(connection);
              Object.assign(connection, { query: spied });
              connection.release = (error) => {
                happened.push('freed');
                over.open();
                release(error);
              };
              return connection;
            },
          };
          const hooks = receiver({
            ...{ privateKey: KEY, store: postgresStore({ pool: client, table: own, transactional: true }) },
            ...{ logger: false, lease: 1_000, storeTimeout: 900, timeout: 60_000 },
          });
          hooks.on('transaction.paid', async (_, { signal }) => {
            signal.addEventListener('abort', () => happened.push('told'));
            // From then on both deadlines count from the same renewal.
            await renewed.opened;
            proxy.set('black hole');
            await over.opened;
          });
          const event = { ...JSON.parse(delivery().body.toString()), id: `evt_told_${index}` };
          const { body, headers } = delivery(event);
          await hooks.receive({ rawBody: Buffer.from(body), headers });
          await proxy.close();
          await through.end();
          return happened;
        };
        const all = await Promise.all(Array.from({ length: 12 }, (_, index) => play(index)));
        await pool.query(`DROP SCHEMA ${own.split('.')[0]} CASCADE`);
        expect(all).toEqual(all.map(() => ['told', 'freed']));
      }),
    60_000,
  );
});

withMariadb('in MariaDB, where an idle transaction ends after two seconds', () => {
  const mariadb = ownMariadb(['--idle-transaction-timeout=2']);
  let observer: MysqlPool;
  beforeAll(async () => {
    observer = mariadb.pool();
    await observer.query(`CREATE DATABASE ${name}`);
    await sqlStore({ ...overMysql2(observer), table }).migrate();
  });

  staysApart({
    get port() {
      return mariadb.server.port;
    },
    store: (to, connectionLimit = 5) => {
      const open = (port = mariadb.server.port) =>
        mariadb.pool({ uri: ports(mariadb.server.url, port), connectionLimit });
      const transactions = open(to?.transactions);
      const others = to && to.transactions !== to.others ? open(to.others) : transactions;
      const { transaction } = overMysql2(transactions);
      return sqlStore({ ...overMysql2(others), transaction, table });
    },
    sending: (transaction) => (sql) => (transaction as PoolConnection).query(sql),
    sleep: (seconds) => `SELECT SLEEP(${seconds})`,
    executes: async (text) => {
      const sql = 'SELECT 1 FROM information_schema.processlist WHERE info = ?';
      const [rows] = await observer.query(sql, [text]);
      return (rows as unknown[]).length > 0;
    },
  });
});

function staysApart(world: World): void {
  const scenes: readonly (readonly [
    name: string,
    play: (scene: Scene) => Promise<void>,
    options?: Options,
  ])[] = [
    [
      'an idle handler is told before its retry runs',
      async ({ happened, over, silence, start, retry }) => {
        await start(() => {
          silence();
          return over;
        });
        await until(async () => (await retry()) === 200);
        expect(happened).toEqual(['told', 'retried']);
      },
    ],
    [
      'a handler whose statement is never answered is told before its retry runs',
      async ({ happened, over, silence, start, retry }) => {
        const statement = world.sleep(0.731);
        await start(async (send) => {
          void send(statement).catch(() => {});
          await until(() => world.executes(statement));
          silence();
          await over;
        });
        await until(async () => (await retry()) === 200);
        expect(happened).toEqual(['told', 'retried']);
      },
    ],
    [
      'where only its own connection is silent, it has time while the server executes its statement',
      async ({ happened, over, silence, start, retry }) => {
        const statement = world.sleep(LEASE_MS / 500 + 0.317);
        await start(async (send) => {
          void send(statement).catch(() => {});
          await until(() => world.executes(statement));
          silence();
          void until(async () => !(await world.executes(statement))).then(() => happened.push('executed'));
          await over;
        });
        await until(async () => (await retry()) === 200);
        expect(happened).toEqual(['executed', 'told', 'retried']);
      },
      { alone: true },
    ],
    [
      'a statement longer than the lease is no reason to abort, and neither are very many short ones',
      async ({ happened, first, retry }) => {
        const status = await first(async (send) => {
          await send(world.sleep(LEASE_MS / 1_000 + 0.5));
          for (const end = performance.now() + LEASE_MS + 500; performance.now() < end; )
            await send('SELECT 1');
        });
        expect([status, await retry(), happened]).toEqual([200, 200, []]);
      },
    ],
    [
      'a statement longer than the lease is aborted where the pool has no connection left to ask on',
      async ({ happened, first, retry }) => {
        const status = await first(async (send) => {
          await send(world.sleep(LEASE_MS / 500));
          happened.push('executed');
        });
        expect(status).toBeGreaterThanOrEqual(500);
        await until(async () => (await retry()) === 200);
        expect([happened[0], happened.at(-1)]).toEqual(['told', 'retried']);
      },
      { max: 1 },
    ],
  ];
  testAtOnce(scenes.map(([name, play, options]) => ({ name, run: () => inScene(world, play, options) })));
}
