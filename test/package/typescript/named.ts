// What a user exports without an annotation: the result of every function of every door, for `declaration: true`.
import { Queue } from 'bullmq';
import {
  cachedKeys,
  isKnown,
  keepRawBody,
  memoryDeadLetters,
  memoryInbox,
  memoryStore,
  receiver,
  verifySignature,
} from 'payment-webhooks';
import { codec, ServiceClient } from 'payment-webhooks/client';
import { observeDeadLetters, openTelemetry } from 'payment-webhooks/opentelemetry';
import { deadLetterPage, health } from 'payment-webhooks/ops';
import * as queues from 'payment-webhooks/queues';
import * as bullmq from 'payment-webhooks/queues/bullmq';
import * as pgBoss from 'payment-webhooks/queues/pg-boss';
import { faultKinds, seeds, startSimulator } from 'payment-webhooks/simulator';
import { postgresDeadLetters, postgresInbox, postgresStore } from 'payment-webhooks/stores/postgres';
import { redisDeadLetters, redisInbox, redisStore } from 'payment-webhooks/stores/redis';
import { sqlDeadLetters, sqlInbox, sqliteDatabase, sqliteInbox, sqlStore } from 'payment-webhooks/stores/sql';
import {
  badDeliveries,
  deadLetterContract,
  deliver,
  fakeOnce,
  fixtures,
  sign,
  signed,
  signedDelivery,
  storeContract,
} from 'payment-webhooks/testing';
import { constructEvent, transactionPaidPayload } from 'payment-webhooks/verify';
import { Pool } from 'pg';
import { PgBoss } from 'pg-boss';
import { z } from 'zod';

const pool = new Pool();
const redis = { sendCommand: async () => null };
const sql = { dialect: 'postgres', client: pool, query: async () => [] } as const;
const file = { prepare: () => ({ all: () => [{}], run: () => undefined }), exec: () => undefined };
const events = { 'refund.succeeded': z.object({ refund: z.object({ id: z.string() }) }) };
const keys = { privateKey: 'pri_x' };

export const plain = receiver();
export const keyOf = cachedKeys(async () => ['pri_x']);
export const inMemory = receiver({ store: memoryStore(), deadLetters: memoryDeadLetters(), events });
export const inRedis = receiver({ store: redisStore(redis), deadLetters: redisDeadLetters(redis) });
export const inPostgres = receiver({
  store: postgresStore({ pool }),
  deadLetters: postgresDeadLetters({ pool }),
});
export const inSql = receiver({ store: sqlStore(sql), deadLetters: sqlDeadLetters(sql) });
export const inInbox = receiver({ inbox: postgresInbox({ pool }) });
export const inboxes = {
  memory: memoryInbox(),
  redis: redisInbox(redis),
  postgres: postgresInbox({ pool }),
  sql: sqlInbox(sql),
  sqlite: sqliteInbox(file),
};
export const inFile = receiver({ store: sqlStore(sqliteDatabase(file)) });
export const inFake = receiver({ store: fakeOnce(pool) });
export const withoutStore = receiver({ store: false }).on('transaction.paid', () => {});
export const stores = [memoryStore(), redisStore(redis), postgresStore({ pool }), sqlStore(sql)] as const;
export const letterStores = {
  memory: memoryDeadLetters(),
  redis: redisDeadLetters(redis),
  postgres: postgresDeadLetters({ pool }),
  sql: sqlDeadLetters(sql),
};
export const { deadLetters } = inPostgres;
export const listed = await inPostgres.deadLetters.list();
export const counted = await inPostgres.deadLetters.count();
export const replayed = await inPostgres.deadLetters.replay({});
export const answer = await plain.receive({ rawBody: '', headers: {} });

export const event = constructEvent({ rawBody: '', signature: '', ...keys, events });
export const known = isKnown(event);
export const payload = isKnown(event) && event.event_name === 'transaction.paid' && event.payload;
export const parsed = transactionPaidPayload.parse({});
export const verified = verifySignature('', '', 'pri_x');
export const verify = keepRawBody;

export const client = new ServiceClient({ accessToken: 'token' });
export const account = await client.account.me();
export const webhooks = await client.webhooks.list();
export const ensured = await client.webhooks.ensure({ url: 'https://shop.example/hooks' });
export const ownCodec = { ...codec, createBody: (fields: object) => fields };

export const observer = openTelemetry();
export const stop = observeDeadLetters(inMemory);
export const page = deadLetterPage(inMemory, { authorize: () => 'ada' });
export const healthz = health(inMemory);

export const sent = queues.enqueue(async (job) => console.log(job.id));
export const worked = queues.processor({ 'transaction.paid': () => {} });
export const bullmqSent = bullmq.enqueue(new Queue('webhooks', { connection: {} }));
export const bullmqWorked = bullmq.processor({ 'transaction.paid': () => {} });
export const pgBossSent = pgBoss.enqueue(new PgBoss(''));
export const pgBossWorked = pgBoss.processor({ 'transaction.paid': () => {} });
export const jobId = pgBoss.jobIdOf({ id: 'evt_1', sandbox: false });

export const simulator = await startSimulator();
export const webhook = await simulator.webhooks.create({ url: 'http://localhost:3000/hooks' });
export const triggered = await simulator.trigger('transaction.paid');
export const kinds = { faultKinds, seeds };

export const fixture = fixtures.transactionPaid();
export const { customer, transaction } = fixture.payload;
export const other = fixtures.event('refund.succeeded', { refund: { id: 'ref_1' } });
export const signature = sign('', 'pri_x');
export const plugin = signed(fixture, keys);
export const delivery = signedDelivery(fixture, keys);
export const delivered = await deliver(plain, fixture, keys);
export const bad = badDeliveries(fixture, keys);
export const storeCases = storeContract({ create: () => memoryStore() });
export const letterCases = deadLetterContract({ create: () => memoryDeadLetters() });
