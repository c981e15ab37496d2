// The examples queue-rabbitmq and queue-nats, by their README, and then killed again and again: every event is handled, and
// none twice.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect as connectToNats } from '@nats-io/transport-node';
import { connect as connectToRabbitmq } from 'amqplib';
import { fixtures } from 'payment-webhooks/testing';
import { delivery } from '../../setup/delivery.js';
import { BROKERS, ownBroker } from '../../setup/own-broker.js';
import { deliverUntilAccepted } from '../../setup/persistent-sender.js';
import { needing } from '../../setup/platform.js';
import { freePort } from '../../setup/ports.js';
import { commandsOf } from '../../setup/readme.js';
import { ROOT, type Running, shell, startUntil } from '../../setup/shell.js';
import { until } from '../../setup/waiting.js';

const privateKey = 'pri_example';
const EVENTS = 300;
/** Of the app, and as many of the worker. `KILLS=40 npx jest test/lab/faults/queue-brokers.test.ts` is the long form. */
const KILLS = Number(process.env.KILLS ?? 10);
const LANES = 6;

/** Every eighth run of a handler fails, after all else that it did. A sequence is not part of a transaction. */
const FAILING = `
  CREATE SEQUENCE runs;
  CREATE FUNCTION fail_sometimes() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('runs') % 8 = 0 THEN RAISE EXCEPTION 'a failure of its own'; END IF;
      RETURN NEW;
    END $$;
  CREATE TRIGGER failing BEFORE INSERT ON queue_ledger FOR EACH ROW EXECUTE FUNCTION fail_sometimes()`;

/** How many events nobody could process. */
const FAILED = {
  rabbitmq: async () => {
    const connection = await connectToRabbitmq(process.env.RABBITMQ_URL ?? '');
    const channel = await connection.createChannel();
    return {
      count: async () => (await channel.checkQueue('webhooks-failed')).messageCount,
      close: () => connection.close(),
    };
  },
  nats: async () => {
    const connection = await connectToNats({ servers: process.env.NATS_URL ?? '' });
    const manager = await jetstreamManager(connection);
    return {
      count: async () => {
        const { state } = await manager.streams.info('webhooks', { subjects_filter: 'webhooks.failed' });
        return state.subjects?.['webhooks.failed'] ?? 0;
      },
      close: () => connection.close(),
    };
  },
};

/** What docs/queues.md says of a later delivery. */
const SAID = {
  rabbitmq: 'RabbitMQ adds a job for each delivery.',
  nats: 'NATS ignores it within `duplicate_window` (2 minutes).',
};

for (const name of ['rabbitmq', 'nats'] as const) {
  needing(BROKERS[name].program, 'postgres').describe(`events in ${name}`, () => {
    const broker = ownBroker(name, privateKey);
    const folder = join(ROOT, `examples/queue-${name}`);
    const [, startApp, send, startWorker] = commandsOf(join(folder, 'README.md'));
    let port: string;
    const running: Running[] = [];
    const start = (ready: string, command = startApp) => {
      const script = command?.script.replace('npx tsx', 'exec node --import tsx') ?? '';
      return startUntil(ready, script, { PORT: port, ACK_WAIT_MS: '1000' }, folder);
    };
    const starts = [
      () => start('http://localhost:'),
      () => start('Working on the events', startWorker),
    ] as const;

    beforeAll(async () => {
      port = String(await freePort());
      running.push(await starts[0]());
    }, 120_000);
    afterAll(() => Promise.all(running.map((each) => each.stop())), 60_000);

    needing('openssl', 'curl').test(
      'wait while no worker runs, and are handled when one does',
      async () => {
        // The README writes the event into its folder.
        const cwd = mkdtempSync(join(tmpdir(), `queue-${name}-`));
        const { stdout } = await shell((send?.script ?? '').replace('3000', port), { cwd });
        rmSync(cwd, { recursive: true });
        expect(stdout.trim()).toBe(send?.shown);
        expect(await broker.orders()).toEqual([]);
        running.push(await starts[1]());
        await until(async () => (await broker.orders()).length > 0);
        expect(await broker.orders()).toEqual(['order-1042']);
      },
      120_000,
    );

    test('are taken with an id of any length', async () => {
      running[1] ??= await starts[1]();
      const expected = ['a'.repeat(251), '/'.repeat(100), '%'.repeat(255)].map((id, index) => {
        const order_id = `long-${index}`;
        return { id, order_id, event: { id, payload: { transaction: { order_id } } } };
      });
      for (const { event } of expected)
        await deliverUntilAccepted(Number(port), delivery(fixtures.transactionPaid(event), privateKey));
      const orders = expected.map(({ order_id }) => order_id);
      await until(
        async () => (await broker.orders()).filter((order) => order.startsWith('long-')).length >= 3,
      );
      expect(await broker.orders()).toEqual(expect.arrayContaining(orders));
    }, 120_000);

    test('that failed for good are added again by a later delivery, unless the broker has a duplicate window', async () => {
      running[1] ??= await starts[1]();
      const failed = await FAILED[name]();
      const drifted = delivery({ ...fixtures.transactionPaid({ id: 'drifted' }), payload: {} }, privateKey);
      await deliverUntilAccepted(Number(port), drifted);
      await until(async () => (await failed.count()) === 1);
      await deliverUntilAccepted(Number(port), drifted);
      // Is worked on after the second delivery, if that made a job.
      const last = delivery({ ...fixtures.transactionPaid({ id: 'last' }), payload: {} }, privateKey);
      await deliverUntilAccepted(Number(port), last);
      const again = name === 'rabbitmq' ? 1 : 0;
      await until(async () => (await failed.count()) === 2 + again);
      await failed.close();
      expect(readFileSync(join(ROOT, 'docs/queues.md'), 'utf8')).toContain(SAID[name]);
    }, 120_000);

    test('are each handled once, though app and worker are killed with kill -9', async () => {
      const began = performance.now();
      await broker.pool.query(FAILING);
      running[1] ??= await starts[1]();
      const orders = await broker.orders();
      let kills = 0;
      const lane = async () => {
        while (orders.length < EVENTS || kills < 2 * KILLS) {
          const order_id = `event-${orders.length}`;
          orders.push(order_id);
          const event = fixtures.transactionPaid({ payload: { transaction: { order_id } } });
          await deliverUntilAccepted(Number(port), delivery(event, privateKey));
          // As many as were asked for, spread over the kills.
          await pause(orders.length < EVENTS ? 20 : 200);
        }
      };
      const sending = Promise.all(Array.from({ length: LANES }, lane));
      for (; kills < 2 * KILLS; kills += 1) {
        await pause(Math.random() * 300);
        const victim = kills % 2;
        await running[victim]?.stop('SIGKILL');
        running[victim] = await (starts[victim] ?? starts[0])();
      }
      await sending;
      const missing = async () => {
        const done = new Set(await broker.orders());
        return orders.filter((order) => !done.has(order));
      };
      await until(async () => (await missing()).length === 0, 90_000).catch(() => {});
      expect(await missing()).toEqual([]);
      const handled = await broker.orders();
      expect(handled).toHaveLength(new Set(handled).size);
      expect(handled).toHaveLength(orders.length);
      const { rows } = await broker.pool.query<{ runs: string }>('SELECT last_value AS runs FROM runs');
      const seconds = Math.round((performance.now() - began) / 1_000);
      process.stdout.write(
        `${name}: ${orders.length} events, ${kills} kills, ${rows[0]?.runs} runs of a handler, ${seconds} s\n`,
      );
    }, 1_300_000);
  });
}
