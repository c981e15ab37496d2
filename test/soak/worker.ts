// One worker process: an app with the receiver, which sends a sample of itself once a second.
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import express from 'express';
import { Redis } from 'ioredis';
import {
  type HandlerContext,
  type IdempotencyStore,
  memoryStore,
  receiver,
  type TransactionPaid,
} from 'payment-webhooks';
import { type PostgresClient, postgresStore } from 'payment-webhooks/stores/postgres';
import { redisStore } from 'payment-webhooks/stores/redis';
import { Pool } from 'pg';
import { INSERT } from '../faults/merchant.js';
import {
  type FromWorker,
  type HandlerMode,
  MOST_IDS,
  PRIVATE_KEY,
  type StoreName,
  TIMES,
} from './merchant.js';

const { STORE, REDIS_URL, POSTGRES_URL } = process.env as Record<string, string>;
const SAMPLES_BETWEEN_COLLECTIONS = 10;
const LOOP_RESOLUTION_MS = 10;

let unhandled = 0;
for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
  process.on(event, (error) => {
    unhandled += 1;
    console.error(STORE, event, error);
  });
}
// Ctrl-C reaches every process of the terminal; the soak ends this one.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());

// Idle clients are closed soon, so that a process at rest has the same handles whatever the load was.
const pool = new Pool({ connectionString: POSTGRES_URL, max: 20, idleTimeoutMillis: 500 });
pool.on('error', () => {});

const stores: Record<StoreName, () => IdempotencyStore<{ transaction?: PostgresClient }>> = {
  memory: () => memoryStore({ maxEntries: MOST_IDS }),
  redis: () => {
    const client = new Redis(REDIS_URL as string).on('error', () => {});
    return redisStore({ sendCommand: (...args) => client.call(...args) });
  },
  postgres: () => postgresStore({ pool }),
  transactional: () => postgresStore({ pool, table: 'in_transaction', transactional: true }),
};

async function pay(event: TransactionPaid, context: HandlerContext & { transaction?: PostgresClient }) {
  const handlerMode = event.payload.transaction.order_id as HandlerMode;
  if (handlerMode === 'slow') await pause(300 + Math.random() * 700);
  if (handlerMode === 'late') await pause(TIMES.late);
  if (handlerMode === 'failing' && Math.random() < 0.5)
    throw new Error('This handler fails half of the time.');
  await (context.transaction ?? pool).query({
    text: INSERT,
    values: [event.id, process.pid, context.attempt],
  });
}

const { lease, timeout, bodyTimeout } = TIMES;
const hooks = receiver({
  privateKey: PRIVATE_KEY,
  store: stores[STORE as StoreName](),
  logger: false,
  handlers: { 'transaction.paid': pay },
  ...{ lease, timeout, bodyTimeout },
});

const loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
loop.enable();

function tell(message: FromWorker): void {
  process.send?.(message);
}

function sample(collected: boolean): void {
  if (collected) global.gc?.();
  tell({
    kind: 'sample',
    heap: process.memoryUsage().heapUsed,
    collected,
    handles: process.getActiveResourcesInfo().length,
    loopDelay: Math.max(0, loop.percentile(99) / 1e6 - LOOP_RESOLUTION_MS),
    inFlight: hooks.inFlight,
    unhandled,
  });
  loop.reset();
}

let samples = 0;
setInterval(() => {
  samples += 1;
  sample(samples % SAMPLES_BETWEEN_COLLECTIONS === 0);
}, 1_000);
// Every message asks for a sample after a garbage collection.
process.on('message', () => sample(true));

const app = express().post('/hooks', hooks);
const server = app.listen(0, '127.0.0.1', () =>
  tell({ kind: 'ready', port: (server.address() as AddressInfo).port }),
);
