// One application process: a receiver that puts events into the queue, and takes its time before it commits.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { receiver } from 'payment-webhooks';
import { enqueue } from 'payment-webhooks/queues/pg-boss';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { newBoss } from '../setup/pg-boss.js';
import { type BossMode, JOB_OPTIONS, NEVER, QUEUE, TABLES } from './boss-merchant.js';
import { LEASE_MS, PRIVATE_KEY } from './merchant.js';

const { MODE, POSTGRES_URL: connectionString = '' } = process.env as {
  MODE: BossMode;
  POSTGRES_URL?: string;
};
const pool = new Pool({ connectionString, max: 20 });
const store = postgresStore({ pool, table: TABLES.application, transactional: true });
const boss = await newBoss({ connectionString, supervise: false, schedule: false, max: 5 });
boss.on('error', () => {});
await boss.start();

const pass = enqueue(boss, { queue: QUEUE, jobOptions: JOB_OPTIONS });
const passInVain = enqueue(boss, { queue: NEVER });
const hooks = receiver({
  privateKey: PRIVATE_KEY,
  store: MODE === 'one commit' ? (store as never) : false,
  lease: LEASE_MS,
  logger: false,
});
hooks.on('*', async (event, context) => {
  await pause(Math.random() * 10);
  await pass(event, context);
  // Long enough for a kill to fall between the job and the commit, or the answer.
  await pause(Math.random() * 30);
  if (Math.random() > 0.03) return;
  if (MODE === 'one commit') await passInVain(event, context);
  throw new Error('a failure of its own');
});

const server = createServer(hooks).listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});
