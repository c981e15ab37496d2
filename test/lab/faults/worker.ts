// One worker process: a receiver, and a handler whose effect is a row in the ledger.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import { createPool } from 'mysql2/promise';
import {
  type HandlerContext,
  type IdempotencyStore,
  type Logger,
  receiver,
  type TransactionPaid,
  type WithOnce,
} from 'payment-webhooks';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { redisStore, type SendCommand } from 'payment-webhooks/stores/redis';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { Pool, type PoolClient } from 'pg';
import { overMysql2, overPg } from '../../setup/sql-clients.js';
import type { StoreName } from './databases.js';
import { INSERT, LEASE_MS, type Mode, noteRun, PRIVATE_KEY } from './merchant.js';
import { connectRedis, type RedisClient } from './topologies/redis-clients.js';
import { witnessed } from './topologies/witness.js';
import { serve, work } from './worker-process.js';

const { MODE, STORE, STORE_PORT, LEDGER_URL, TOPOLOGY, RUNS, REDIS_CLIENT, REDIS_PORTS, LEASE } =
  process.env as {
    MODE: Mode;
    STORE?: StoreName;
    STORE_PORT: string;
    LEDGER_URL: string;
    /** Whether to note what the store confirms. */
    TOPOLOGY?: string;
    /** Whether to note when handlers run: two more statements for each. */
    RUNS?: string;
    /** With the ports of its nodes or sentinels. */
    REDIS_CLIENT?: RedisClient;
    REDIS_PORTS?: string;
    LEASE?: string;
  };
/** Of campaigns with many deliveries in flight: on a busy machine all would time out, and connect again at once. */
const CONNECT_MS = STORE ? 5_000 : 1_000;
const noListener = () => {};

const ledger = new Pool({ connectionString: LEDGER_URL, max: 20, connectionTimeoutMillis: 2 * CONNECT_MS });
ledger.on('error', noListener);

type Given = WithOnce<PoolClient>;

/** Without `once` in the other modes. */
async function makeStore(): Promise<IdempotencyStore<Given>> {
  if (MODE === 'redis') return noted(redisStore({ sendCommand: await connect() })) as IdempotencyStore<Given>;
  const store = makeSqlStore() as IdempotencyStore<Given>;
  return MODE === 'once' ? store : (noted(store as IdempotencyStore) as IdempotencyStore<Given>);
}

function makeSqlStore() {
  const port = Number(STORE_PORT);
  if (STORE === 'sqlStore, MariaDB') {
    const server = { host: '127.0.0.1', port, user: 'root', database: 'shop', connectTimeout: CONNECT_MS };
    return sqlStore(overMysql2(createPool({ ...server, connectionLimit: 20 }), 'query'));
  }
  const connectionString = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const pool = new Pool({ connectionString, max: 20, connectionTimeoutMillis: CONNECT_MS });
  pool.on('error', noListener);
  return STORE?.startsWith('sqlStore') ? sqlStore(overPg(pool)) : postgresStore({ pool });
}

function noted(store: IdempotencyStore): IdempotencyStore {
  return TOPOLOGY ? witnessed(store, ledger) : store;
}

async function connect(): Promise<SendCommand> {
  if (REDIS_CLIENT) return connectRedis(REDIS_CLIENT, JSON.parse(REDIS_PORTS ?? '[]'));
  const client = new Redis({ port: Number(STORE_PORT), host: '127.0.0.1', retryStrategy: () => 100 });
  client.on('error', noListener);
  return (...args) => client.call(...args);
}

function pay({ id }: TransactionPaid, { attempt, once }: HandlerContext & Given) {
  const insert = { text: INSERT, sql: INSERT.replace(/\$\d/g, '?'), values: [id, process.pid, attempt] };
  const handle = async () => {
    if (MODE === 'once') await once((tx) => work(() => tx.query(insert)));
    else await work(() => ledger.query(insert));
  };
  return RUNS ? noteRun(ledger, id, handle) : handle();
}

const hooks = receiver({
  privateKey: PRIVATE_KEY,
  store: await makeStore(),
  lease: Number(LEASE ?? LEASE_MS),
  storeTimeout: 700,
  timeout: 3_000,
  logger: lateLogger(),
  handlers: { 'transaction.paid': pay },
});
/** In lease mode a claim may lapse after that, although nothing was broken: the machine was busy. */
function lateLogger(event?: string): Logger {
  const ignore = () => {};
  const error = (_fields: unknown, message?: string) => {
    if (event && /^(?:processed, but not remembered|the claim was not renewed)/.test(message ?? ''))
      process.send?.({ late: { event, worker: process.pid, at: Date.now() } });
  };
  return { info: ignore, warn: ignore, error, child: ({ eventId }) => lateLogger(eventId as string) };
}

const server = serve(hooks);

// A soak asks what this process holds when it has nothing to do.
process.on('message', () => {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const handles = process.getActiveResourcesInfo().length;
  process.send?.({ heap: process.memoryUsage().heapUsed, handles });
});

process.on('SIGTERM', async () => {
  await hooks.close();
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
