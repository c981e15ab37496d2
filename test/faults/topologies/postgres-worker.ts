// A worker of the campaigns on Postgres topologies: like the other one, and it notes when each run began and ended.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type HandlerContext, type IdempotencyStore, receiver, type TransactionPaid } from 'payment-webhooks';
import { type PostgresClient, postgresStore } from 'payment-webhooks/stores/postgres';
import { redisStore } from 'payment-webhooks/stores/redis';
import { Pool } from 'pg';
import { HANDLER_TEXT, INSERT, LEASE_MS, type Mode, PRIVATE_KEY } from '../merchant.js';
import { witnessed } from './witness.js';

const { MODE, STORE_PORT, LEDGER_URL, MIGRATE } = process.env as {
  MODE: Mode;
  STORE_PORT: string;
  LEDGER_URL: string;
  /** Whether each worker migrates when it starts, as during a deployment. */
  MIGRATE?: string;
};
const noListener = () => {};

for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
  process.on(event, (error) => {
    console.error(event, error);
    process.exit(99);
  });
}

const ledger = new Pool({ connectionString: LEDGER_URL, max: 20, connectionTimeoutMillis: 2_000 });
ledger.on('error', noListener);

async function makeStore(): Promise<IdempotencyStore<{ transaction?: PostgresClient }>> {
  if (MODE === 'redis') {
    const client = new Redis({ port: Number(STORE_PORT), host: '127.0.0.1', retryStrategy: () => 100 });
    client.on('error', noListener);
    return witnessed(redisStore({ sendCommand: (...args) => client.call(...args) }), ledger);
  }
  const connectionString = `postgres://postgres@127.0.0.1:${STORE_PORT}/postgres`;
  const pool = new Pool({ connectionString, max: 20, connectionTimeoutMillis: 500 });
  if (MIGRATE) await migrate(connectionString);
  return MODE === 'transactional'
    ? postgresStore({ pool, transactional: true })
    : witnessed(postgresStore({ pool }), ledger);
}

/** On a pool of its own: it waits for the others that migrate. */
async function migrate(connectionString: string): Promise<void> {
  const pool = new Pool({ connectionString, max: 1 });
  await postgresStore({ pool }).migrate();
  await pool.end();
}

async function pay(event: TransactionPaid, context: HandlerContext & { transaction?: PostgresClient }) {
  const row = [event.id, process.pid, context.attempt];
  const run = await ledger.query(
    'INSERT INTO run (event_id, worker) VALUES ($1, $2) RETURNING id',
    row.slice(0, 2),
  );
  try {
    await pause(Math.random() * 20);
    if (Math.random() < 0.03) throw new Error(HANDLER_TEXT);
    if (context.transaction) await context.transaction.query({ text: INSERT, values: row });
    else await ledger.query(INSERT, row);
    await pause(Math.random() * 20);
  } finally {
    await ledger.query('UPDATE run SET ended = clock_timestamp() WHERE id = $1', [run.rows[0].id]);
  }
}

const hooks = receiver({
  privateKey: PRIVATE_KEY,
  store: await makeStore(),
  lease: LEASE_MS,
  storeTimeout: 700,
  timeout: 3_000,
  logger: false,
  observer: {
    settled: ({ conflict, eventId }) => {
      if (conflict) void ledger.query('INSERT INTO conflict VALUES ($1, $2)', [eventId, process.argv[1]]);
    },
  },
  handlers: { 'transaction.paid': pay },
});
const server = createServer(hooks).listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});

process.on('SIGTERM', async () => {
  await hooks.close();
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
