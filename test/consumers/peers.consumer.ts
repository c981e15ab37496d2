// The oldest version of each optional peer that package.json accepts: npm installs it with the package, and it works.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { needing } from '../setup/platform.js';
import { ROOT } from '../setup/shell.js';
import { consumer } from './consumer.js';

const { peerDependencies, peerDependenciesMeta } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
) as Record<string, Readonly<Record<string, unknown>>>;

interface Peer {
  /** A module that prints `printed`. */
  readonly program: string;
  readonly printed: string;
  /** A module that compiles with the types of that version. */
  readonly typed?: string;
  /** What else its user has. */
  readonly brings?: readonly string[];
  readonly needs?: string;
}

/** A delivery whose job fails for good, and is run by the next delivery. */
const QUEUED = `
import { memoryStore, receiver } from 'payment-webhooks';
import { deliver, fixtures } from 'payment-webhooks/testing';

const keys = { privateKey: 'pri_oldest' };
const name = 'oldest-' + process.pid;
const event = fixtures.transactionPaid();
const hooks = receiver({ ...keys, logger: false, store: false });
let isDown = true;
let handled = 0;
const handlers = {
  'transaction.paid': () => {
    if (isDown) throw new Error('The shop is down.');
    handled += 1;
  },
};
const options = { store: memoryStore(), logger: false };
const delivered = async () => console.log((await deliver(hooks, event, keys)).status);
`;

const BULLMQ = `${QUEUED}
import { Queue, Worker } from 'bullmq';
import { enqueue, processor } from 'payment-webhooks/queues/bullmq';

const { hostname: host, port } = new URL(process.env.TEST_REDIS_URL);
const connection = { host, port: Number(port) };
const queue = new Queue(name, { connection });
const worker = new Worker(name, processor(handlers, options), { connection });
const emitted = (name) => new Promise((resolve) => worker.once(name, (job, end) => resolve(end)));

hooks.on('*', enqueue(queue, { jobOptions: { attempts: 1 } }));
const failed = emitted('failed');
await delivered();
console.log((await failed).code);
isDown = false;
const completed = emitted('completed');
await delivered();
console.log(await completed, handled);
await worker.close();
await queue.obliterate({ force: true });
await queue.close();
`;

const TYPED_BULLMQ = `
import { Queue, Worker } from 'bullmq';
import { enqueue, processor } from 'payment-webhooks/queues/bullmq';

export const send = enqueue(new Queue('webhooks'), { jobOptions: { attempts: 3 } });
export const worker = new Worker('webhooks', processor({ 'transaction.paid': () => {} }), { connection: {} });
`;

const PG_BOSS = `${QUEUED}
import { setTimeout as pause } from 'node:timers/promises';
import PgBoss from 'pg-boss';
import { enqueue, jobIdOf, processor } from 'payment-webhooks/queues/pg-boss';

const boss = new PgBoss({ connectionString: process.env.TEST_POSTGRES_URL, schema: name.replace('-', '_') });
await boss.start();
await boss.createQueue(name);
const reached = async (state) => {
  while ((await boss.getJobById(name, jobIdOf(event)))?.state !== state) await pause(50);
  console.log(state);
};

hooks.on('*', enqueue(boss, { queue: name, jobOptions: { retryLimit: 0 } }));
await boss.work(name, { includeMetadata: true, pollingIntervalSeconds: 0.5 }, processor(handlers, options));
await delivered();
await reached('failed');
isDown = false;
await delivered();
await reached('completed');
console.log(handled);
await boss.stop();
`;

const TYPED_PG_BOSS = `
import PgBoss from 'pg-boss';
import { enqueue, processor } from 'payment-webhooks/queues/pg-boss';

const boss = new PgBoss('');
export const send = enqueue(boss, { jobOptions: { retryLimit: 3 } });
await boss.work('webhooks', { includeMetadata: true }, processor({ 'transaction.paid': () => {} }, { boss }));
`;

const EXPRESS = `
import express from 'express';
import { keepRawBody, memoryDeadLetters, receiver } from 'payment-webhooks';
import { deadLetterPage } from 'payment-webhooks/ops';
import { startSimulator } from 'payment-webhooks/simulator';
import { deliver, fixtures } from 'payment-webhooks/testing';

const keys = { privateKey: 'pri_oldest' };
const hooks = receiver({ ...keys, logger: false, deadLetters: memoryDeadLetters() });
hooks.on('transaction.paid', () => {});
const app = express();
app.post('/streamed', hooks);
app.use('/ops', deadLetterPage(hooks, { authorize: () => 'ada', logger: false }));
app.use(express.json({ verify: keepRawBody }));
app.post('/parsed', hooks);
for (const path of ['/streamed', '/parsed'])
  console.log((await deliver(app, fixtures.transactionPaid(), { ...keys, path })).body);
const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const page = await fetch('http://127.0.0.1:' + server.address().port + '/ops/');
console.log(page.status, /<title>(.*)<\\/title>/.exec(await page.text())?.[1]);
server.close();

const simulator = await startSimulator({ port: 0 });
const received = receiver({ privateKey: 'pri_sim_dev', logger: false });
received.on('transaction.paid', () => {});
const shop = express();
shop.post('/hooks', received);
const listening = shop.listen(0, '127.0.0.1');
await new Promise((resolve) => listening.once('listening', resolve));
const url = 'http://127.0.0.1:' + listening.address().port + '/hooks';
await simulator.webhooks.create({ url });
await simulator.trigger('transaction.paid');
const delivery = await simulator.waitForDelivery();
console.log(delivery.status);
await simulator.close();
listening.close();
`;

const OPENTELEMETRY = `
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { memoryDeadLetters, receiver } from 'payment-webhooks';
import { observeDeadLetters, openTelemetry } from 'payment-webhooks/opentelemetry';
import { deliver, fixtures } from 'payment-webhooks/testing';

const keys = { privateKey: 'pri_oldest' };
const spans = new InMemorySpanExporter();
const tracerProvider = new NodeTracerProvider();
tracerProvider.addSpanProcessor(new SimpleSpanProcessor(spans));
tracerProvider.register();
class Reader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}
const reader = new Reader();
const meterProvider = new MeterProvider();
meterProvider.addMetricReader(reader);
const observer = openTelemetry({ tracerProvider, meterProvider });
const hooks = receiver({ ...keys, logger: false, observer, deadLetters: memoryDeadLetters() });
hooks.on('transaction.paid', function book() {});
const stop = observeDeadLetters(hooks, { meterProvider });
await deliver(hooks, fixtures.transactionPaid(), keys);
await new Promise(setImmediate);
for (const { name } of spans.getFinishedSpans()) console.log(name);
const { resourceMetrics } = await reader.collect();
const names = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics.map(({ descriptor }) => descriptor.name));
console.log(['webhook.deliveries', 'webhook.delivery.duration', 'webhook.dead_letters'].filter((name) => names.includes(name)));
stop();
`;

const TYPED_OPENTELEMETRY = `
import { metrics, trace } from '@opentelemetry/api';
import { openTelemetry } from 'payment-webhooks/opentelemetry';

export const observer = openTelemetry({
  meterProvider: metrics.getMeterProvider(),
  tracerProvider: trace.getTracerProvider(),
});
`;

const COMPILE =
  'node_modules/typescript/bin/tsc --noEmit --strict --exactOptionalPropertyTypes --skipLibCheck --target es2022 --module nodenext --types node';

const PEERS: Readonly<Record<string, Peer>> = {
  bullmq: {
    program: BULLMQ,
    typed: TYPED_BULLMQ,
    needs: 'redis-server',
    printed: '200\nHANDLER_FAILED\n200\nprocessed 1\n',
  },
  'pg-boss': {
    program: PG_BOSS,
    typed: TYPED_PG_BOSS,
    needs: 'postgres',
    printed: '200\nfailed\n200\ncompleted\n1\n',
  },
  express: {
    program: EXPRESS,
    printed:
      "{ received: true, outcome: 'processed' }\n{ received: true, outcome: 'processed' }\n200 Dead letters\ndelivered\n",
  },
  '@opentelemetry/api': {
    program: OPENTELEMETRY,
    typed: TYPED_OPENTELEMETRY,
    brings: ['@opentelemetry/sdk-metrics@1.9.0', '@opentelemetry/sdk-trace-node@1.9.0'],
    printed:
      "webhook handler book\nwebhook delivery transaction.paid\n[\n  'webhook.deliveries',\n  'webhook.delivery.duration',\n  'webhook.dead_letters'\n]\n",
  },
};

test('every peer is optional, and has a program here', () => {
  expect(Object.keys(peerDependencies ?? {}).sort()).toEqual(Object.keys(PEERS).sort());
  expect(Object.keys(peerDependenciesMeta ?? {}).sort()).toEqual(Object.keys(PEERS).sort());
});

describe('npm installs the package into a project that has', () => {
  for (const [name, { program, printed, typed, brings = [], needs }] of Object.entries(PEERS)) {
    const [oldest] = /\d+\.\d+\.\d+/.exec(String(peerDependencies?.[name])) ?? [];
    needing(...(needs ? [needs] : [])).test(
      `${name} ${oldest}, and both work together`,
      async () => {
        const project = await consumer(`oldest-${name.replace(/\W+/g, '-')}`, [
          `${name}@${oldest}`,
          ...brings,
          'typescript@5.9.3',
          '@types/node@20',
        ]);
        const { version } = JSON.parse(
          readFileSync(join(project.folder, 'node_modules', name, 'package.json'), 'utf8'),
        );
        expect(version).toBe(oldest);
        project.write('app.mjs', program);
        expect(await project.node(['app.mjs'])).toEqual({ code: 0, stdout: printed, stderr: '' });
        project.write('typed.mts', typed ?? '');
        const compiled = await project.node([...COMPILE.split(' '), 'typed.mts']);
        expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' });
      },
      240_000,
    );
  }
});
