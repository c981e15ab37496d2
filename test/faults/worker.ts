// One worker process: a receiver, and a handler whose effect is a row in the ledger.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import { type HandlerContext, type IdempotencyStore, receiver, type TransactionPaid } from 'payment-webhooks';
import { type PostgresClient, postgresStore } from 'payment-webhooks/stores/postgres';
import { redisStore } from 'payment-webhooks/stores/redis';
import { Pool } from 'pg';
import { HANDLER_TEXT, INSERT, LEASE_MS, type Mode, PRIVATE_KEY } from './merchant.js';
import { connectRedis, type RedisClient } from './topologies/redis-clients.js';
import { witnessed } from './topologies/witness.js';

const {
  MODE,
  STORE_PORT,
  LEDGER_URL,
  REDIS_CLIENT,
  REDIS_PORTS,
  LEASE = LEASE_MS,
} = process.env as {
  MODE: Mode;
  STORE_PORT: string;
  LEDGER_URL: string;
  /** In a campaign of a topology, with the ports of its nodes or sentinels. */
  REDIS_CLIENT?: RedisClient;
  REDIS_PORTS?: string;
  LEASE?: string;
};
const noListener = () => {};

// A campaign fails when it sees this exit code.
for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
  process.on(event, (error) => {
    console.error(event, error);
    process.exit(99);
  });
}

const ledger = new Pool({ connectionString: LEDGER_URL, max: 20, connectionTimeoutMillis: 2_000 });
ledger.on('error', noListener);

async function makeStore(): Promise<IdempotencyStore<{ transaction?: PostgresClient }>> {
  if (REDIS_CLIENT) {
    const sendCommand = await connectRedis(REDIS_CLIENT, JSON.parse(REDIS_PORTS ?? '[]'));
    return witnessed(redisStore({ sendCommand }), ledger);
  }
  if (MODE === 'redis') {
    const client = new Redis({ port: Number(STORE_PORT), host: '127.0.0.1', retryStrategy: () => 100 });
    client.on('error', noListener);
    return redisStore({ sendCommand: (...args) => client.call(...args) });
  }
  const connectionString = `postgres://postgres@127.0.0.1:${STORE_PORT}/postgres`;
  const pool = new Pool({ connectionString, max: 20, connectionTimeoutMillis: 1_000 });
  return MODE === 'transactional' ? postgresStore({ pool, transactional: true }) : postgresStore({ pool });
}

async function pay(event: TransactionPaid, context: HandlerContext & { transaction?: PostgresClient }) {
  const row = [event.id, process.pid, context.attempt];
  await pause(Math.random() * 20);
  // Before the effect, so that a failure alone never explains a second row.
  if (Math.random() < 0.03) throw new Error(HANDLER_TEXT);
  if (context.transaction) await context.transaction.query({ text: INSERT, values: row });
  else await ledger.query(INSERT, row);
  // The time between effect and completion, long enough for a kill to fall into.
  await pause(Math.random() * 20);
}

const hooks = receiver({
  privateKey: PRIVATE_KEY,
  store: await makeStore(),
  lease: Number(LEASE),
  storeTimeout: 700,
  timeout: 3_000,
  logger: false,
  handlers: { 'transaction.paid': pay },
});
const server = createServer(hooks).listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});

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
