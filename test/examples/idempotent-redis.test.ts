import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { delivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { ownRedis, withRedis } from '../setup/own-redis.js';
import { freePort } from '../setup/ports.js';
import { type Running, startUntil } from '../setup/shell.js';
import { until } from '../setup/waiting.js';

const privateKey = 'pri_idempotent';
const START = 'npx tsx examples/idempotent-redis/app.ts';

withRedis('the example idempotent-redis', () => {
  const redis = ownRedis(privateKey);

  test('as an app writes one line for an event, however often and however fast it comes', async () => {
    const { app, client: own } = await import('../../examples/idempotent-redis/app.js');
    await until(() => own.isReady);
    const event = fixtures.transactionPaid({ payload: { transaction: { order_id: 'order-7' } } });
    const answers = await Promise.all(Array.from({ length: 10 }, () => deliver(app, event, { privateKey })));
    const later = await deliver(app, event, { privateKey });
    expect(later).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    const outcomes = answers.map(({ body }) => (body as { outcome?: string }).outcome);
    expect(outcomes.filter((outcome) => outcome === 'processed')).toHaveLength(1);
    expect(await redis.client.lrange('ledger', 0, -1)).toEqual([expect.stringMatching(/^order-7 paid by /)]);
    await own.close();
  });

  describe('in two processes', () => {
    const running: Running[] = [];
    const ports: number[] = [];

    beforeAll(async () => {
      for (let process = 0; process < 2; process += 1) {
        const port = await freePort();
        const env = { PORT: String(port), SERVICE_PRIVATE_KEY: privateKey };
        ports.push(port);
        running.push(await startUntil('http://localhost:', START, env));
      }
    }, 120_000);

    afterAll(() => Promise.all(running.map((each) => each.stop())));

    test('one takes the event, and the other knows it', async () => {
      const sent = delivery(fixtures.transactionPaid(), privateKey);
      const outcomes = [];
      for (const port of ports) outcomes.push((await send(port, sent)).body);
      expect(outcomes).toMatchObject([{ outcome: 'processed' }, { outcome: 'duplicate' }]);
    });

    test('both answer 503 while Redis is down', async () => {
      await redis.server.stop();
      for (const port of ports) {
        const answer = await send(port, delivery(fixtures.transactionPaid(), privateKey));
        expect(answer).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
      }
    });
  });
});
