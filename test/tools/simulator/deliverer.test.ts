// Delivering events: success, failure, scheduled retries, and the record of each attempt.
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { SimulatorOptions } from 'payment-webhooks/simulator';
import { gate } from '../../setup/waiting.js';
import {
  type Answer,
  basic,
  call,
  endpoint,
  first,
  post,
  simulator,
  subscribed,
  triggered,
} from './world.js';

const delivered = async (answer: Answer, options: SimulatorOptions = {}) =>
  (await triggered({ retry: 'off', ...options }, answer)).delivery;

describe('success', () => {
  test.each([200, 201, 202, 204, 299])('%d acknowledges', async (status) => {
    const attempts = [{ succeeded: true, diagnosis: null, error: null, will_retry: false }];
    const delivered_at = expect.any(String);
    expect(await delivered(status)).toMatchObject({ status: 'delivered', delivered_at, attempts });
  });

  test.each([301, 302, 304, 307, 308, 400, 401, 404, 410, 500, 503])('%d does not', async (status) => {
    const answer: Answer = (_, response) => response.writeHead(status, { Location: '/elsewhere' }).end();
    const attempts = [{ succeeded: false, response: { status } }];
    expect(await delivered(answer)).toMatchObject({ status: 'failed', attempts });
  });

  test('a redirect is not followed', async () => {
    const elsewhere = await endpoint(200);
    await delivered((_, response) => response.writeHead(302, { Location: elsewhere.url }).end());
    expect(elsewhere.received).toEqual([]);
  });

  test('the record holds status, headers in their order, and the body', async () => {
    const headers = ['1', '2', '3'].map((value) => [value === '2' ? 'X-One' : 'X-Two', value]);
    const answer: Answer = (_, response) => response.writeHead(200, headers as never).end('{"ok":true}');
    const { response } = first((await delivered(answer)).attempts);
    expect(response).toMatchObject({ status: 200, body: '{"ok":true}', body_truncated: false });
    expect(response?.headers.slice(0, 3)).toEqual(headers);
  });
});

describe('a body', () => {
  const FULL = 'x'.repeat(65_536);
  const binary = Buffer.from([0, 255, 254, 60, 47, 115, 99, 114, 105, 112, 116, 62, 27]);

  test.each<[string, Answer, string, boolean]>([
    ['of more than 64 KiB is cut', (_, response) => response.end('x'.repeat(70_000)), FULL, true],
    ['of exactly 64 KiB is whole', (_, response) => response.end(FULL), FULL, false],
    [
      'that ends early is marked as truncated',
      (_, response) => {
        response.writeHead(200, { 'Content-Length': '100' });
        response.write('half', () => setTimeout(() => response.destroy(), 20));
      },
      'half',
      true,
    ],
    ['with tags and control bytes stays text', (_, response) => response.end(binary), `${binary}`, false],
  ])('%s', async (_, answer, body, body_truncated) => {
    const attempts = [{ response: { body, body_truncated } }];
    expect(await delivered(answer)).toMatchObject({ status: 'delivered', attempts });
  });

  test('that never ends is given up at the timeout, and its status counts', async () => {
    const never: Answer = (_, response) => void response.writeHead(200).write('and then ');
    const { status, attempts } = await delivered(never, { timeout: 500 });
    expect(status).toBe('delivered');
    expect(attempts[0]?.response).toMatchObject({ body: 'and then ', body_truncated: true });
    expect(attempts[0]?.duration_ms).toBeGreaterThanOrEqual(499);
  });

  test('of 1 GB is sent only in its beginning', async () => {
    let written = 0;
    const block = Buffer.alloc(64 * 1024, 'y');
    const bytes = new Readable({
      read() {
        written += block.byteLength;
        this.push(block);
      },
    });
    const { status, attempts } = await delivered((_, response) => {
      bytes.pipe(response.writeHead(200, { 'Content-Length': String(2 ** 30) }));
    });
    expect(status).toBe('delivered');
    expect(attempts).toMatchObject([{ response: { body_truncated: true } }]);
    expect(written).toBeLessThan(32 * 1024 * 1024);
  });
});

test('an endpoint that closes its connections loses nothing', async () => {
  const closing: Answer = (_, response) => response.writeHead(200, { Connection: 'close' }).end();
  const { service } = await subscribed({ retry: 'off' }, closing);
  const deliveries = await service.trigger('transaction.paid', {}, { count: 200 });
  expect(deliveries.every(({ status }) => status === 'delivered')).toBe(true);
});

describe('retries', () => {
  test.each([
    ['fast', [2, 5, 15, 60]],
    ['realistic', [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]],
    ['off', []],
    [
      ['1s', 2_500],
      [1, 2.5],
    ],
  ] as const)('the schedule %j has these pauses, after each failure', async (retry, pauses) => {
    const { service } = await triggered({ retry }, 500);
    await service.advance('30d');
    const [delivery] = service.deliveries();
    const starts = delivery?.attempts.map(({ started_at }) => Date.parse(started_at)) ?? [];
    expect(starts.slice(1).map((at, index) => (at - (starts[index] ?? 0)) / 1_000)).toEqual(pauses);
    expect(delivery).toMatchObject({ status: 'failed', next_attempt_at: null, delivered_at: null });
    const willRetry = delivery?.attempts.map(({ will_retry }) => will_retry);
    expect(willRetry).toEqual([...pauses.map(() => true), false]);
  });

  test('a retry is pending, and the record says when', async () => {
    const { service, delivery } = await triggered({}, 500);
    const { started_at, ...attempt } = first(delivery.attempts);
    const next_attempt_at = new Date(Date.parse(started_at) + 2_000).toISOString();
    expect(delivery).toMatchObject({ status: 'retrying', next_attempt_at });
    expect(attempt).toMatchObject({ number: 1, trigger: 'automatic', will_retry: true, next_attempt_at });
    expect(service.deliveries({ status: 'retrying' })).toEqual([delivery]);
  });

  test('retries not a millisecond too early, and time stands still in between', async () => {
    const { service, received } = await triggered({}, 500, 200);
    await service.advance(1_999);
    expect(received).toHaveLength(1);
    await service.advance(1);
    expect(received).toHaveLength(2);
    expect(service.deliveries()[0]).toMatchObject({ status: 'delivered', next_attempt_at: null });
  });

  test('two calls of advance() at once move the clock twice', async () => {
    const { service, received } = await triggered({}, 500);
    await Promise.all([service.advance('2s'), service.advance('5s')]);
    expect(received).toHaveLength(3);
  });

  test('a pause of 0 is due at once', async () => {
    const { service, received } = await triggered({ retry: [0, 0] }, 500, 500, 200);
    await service.settled();
    expect(received).toHaveLength(3);
  });

  test('with the real clock a retry is made by itself', async () => {
    const { service, received, delivery } = await triggered({ clock: 'real', retry: [60] }, 500, 200);
    expect(delivery?.status).toBe('retrying');
    const done = await service.waitForDelivery({ status: 'delivered' });
    expect(done.attempts).toHaveLength(2);
    expect(received).toHaveLength(2);
    await expect(service.advance('1s')).rejects.toThrow(/clock is "real"/);
  });

  test('goes to the current address of the webhook', async () => {
    const service = await simulator();
    const [old, moved] = [await endpoint(500), await endpoint(200)];
    const webhook = await service.webhooks.create({ url: old.url });
    await service.trigger('transaction.paid');
    await service.webhooks.update(webhook.id, { url: moved.url });
    await service.advance('2s');
    const [delivery] = service.deliveries();
    expect(delivery?.attempts.map(({ request }) => request.url)).toEqual([old.url, moved.url]);
    expect(delivery).toMatchObject({ status: 'delivered', url: moved.url });
  });
});

describe('resend', () => {
  test('is a new attempt on the same delivery', async () => {
    const { service, id, delivery } = await triggered({ retry: 'off' }, 500, 200, 500, 200);
    const again = await service.resend(id);
    const attempts = [
      { number: 1, trigger: 'automatic' },
      { number: 2, trigger: 'manual' },
    ];
    expect(again).toMatchObject({ id, event_id: delivery.event_id, status: 'delivered', attempts });
    await service.advance('1m');
    // Once delivered, it stays delivered, at the time when it was.
    for (const succeeded of [false, true]) {
      const later = await service.resend(id);
      expect(later).toMatchObject({ status: 'delivered', delivered_at: again.delivered_at });
      expect(later.attempts.at(-1)?.succeeded).toBe(succeeded);
    }
  });

  test('that fails leaves the pending retry where it was', async () => {
    const { service, received, id, delivery } = await triggered({}, 500);
    const { next_attempt_at } = delivery;
    expect(await service.resend(id)).toMatchObject({ status: 'retrying', next_attempt_at });
    await service.advance('2s');
    expect(received).toHaveLength(3);
  });

  test('that succeeds ends the pending retry', async () => {
    const { service, received, id } = await triggered({}, 500, 200);
    const attempts = [{ will_retry: false }, { will_retry: false }];
    expect(await service.resend(id)).toMatchObject({ status: 'delivered', next_attempt_at: null, attempts });
    await service.advance('1h');
    expect(received).toHaveLength(2);
  });

  test('of an unknown delivery, or to a deleted webhook, says why not', async () => {
    const { service, webhook, id } = await triggered();
    await expect(service.resend('nothing')).rejects.toThrow(/no delivery with the id "nothing"/);
    await service.webhooks.delete(webhook.id);
    await expect(service.resend(id)).rejects.toThrow(/webhook .* was deleted/);
  });

  test('keeps the attempts of one delivery apart', async () => {
    let [inside, most] = [0, 0];
    const { service } = await subscribed({}, async (_, response) => {
      inside += 1;
      most = Math.max(most, inside);
      await pause(10);
      inside -= 1;
      response.end();
    });
    const { id } = first(await service.trigger('transaction.paid'));
    await Promise.all([service.resend(id), service.resend(id), service.resend(id)]);
    expect(most).toBe(1);
    expect(service.deliveries()[0]?.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
  });
});

describe('every webhook of the account', () => {
  test('that subscribes is notified, each by a delivery of its own', async () => {
    const { service, ...all } = await subscribed();
    const [paid, refunds, resource] = [await endpoint(), await endpoint(), await endpoint()];
    await service.webhooks.create({ url: paid.url, events: ['transaction.paid'] });
    await service.webhooks.create({ url: refunds.url, events: ['refund.succeeded'] });
    await service.webhooks.create({ url: resource.url, events: ['transaction.*'] });
    const deliveries = await service.trigger('transaction.paid');
    expect(deliveries.map(({ url }) => url)).toEqual([all.url, paid.url, resource.url]);
    expect(new Set(deliveries.map(({ event_id }) => event_id)).size).toBe(1);
    expect(new Set(deliveries.map(({ id }) => id)).size).toBe(3);
    expect(refunds.received).toEqual([]);
    expect(all.received[0]?.body).toEqual(paid.received[0]?.body);
  });

  test('that is given another URL and other events is notified of those there', async () => {
    const service = await simulator();
    const [before, after] = [await endpoint(), await endpoint()];
    const { id } = await service.webhooks.create({ url: before.url, events: ['transaction.paid'] });
    await call(`${service.baseUrl}/api/v2/webhooks/${id}`, {
      method: 'PUT',
      body: { url: after.url, events: ['refund.succeeded'] },
      headers: basic(service.privateKey),
    });
    expect(await service.trigger('transaction.paid')).toEqual([]);
    await service.trigger('refund.succeeded');
    expect([before.received.length, after.received.length]).toEqual([0, 1]);
  });

  test('an undeclared event is sent with the payload that it was given', async () => {
    const { service, received } = await subscribed();
    await service.trigger('refund.succeeded', { payload: { refund: { id: 'r-1' } }, sandbox: true });
    expect(JSON.parse(String(received[0]?.body))).toEqual({
      id: expect.any(String),
      event_name: 'refund.succeeded',
      sandbox: true,
      payload: { refund: { id: 'r-1' } },
    });
  });

  test('rejects what is not a valid event object', async () => {
    const service = await simulator();
    await expect(service.trigger('paid')).rejects.toThrow(/<resource>\.<action>/);
    await expect(service.trigger('transaction.paid', { id: 'two words' })).rejects.toThrow(/printable ASCII/);
    await expect(service.trigger('transaction.paid', {}, { count: 0 })).rejects.toThrow(/count/);
  });
});

describe('a webhook that is deleted or paused', () => {
  const CANCELLED = { status: 'cancelled', cancelled_because: 'webhook_deleted' };

  test('deleted: its pending deliveries are cancelled, and the record says why', async () => {
    const { service, received, webhook } = await triggered({}, 500);
    await service.webhooks.delete(webhook.id);
    const attempts = [{ will_retry: false, next_attempt_at: null }];
    expect(service.deliveries()).toMatchObject([{ ...CANCELLED, next_attempt_at: null, attempts }]);
    await service.advance('1h');
    expect(received).toHaveLength(1);
  });

  test('deleted while an attempt is in flight: the attempt decides', async () => {
    const { service, webhook } = await subscribed({}, (_, response) => {
      void service.webhooks.delete(webhook.id).then(() => response.writeHead(500).end());
    });
    expect(await service.trigger('transaction.paid')).toMatchObject([{ ...CANCELLED, attempts: [{}] }]);
  });

  test('paused: its events become cancelled deliveries, until it is resumed', async () => {
    const { service, received, webhook } = await triggered({}, 500, 200);
    await service.webhooks.update(webhook.id, { paused: true });
    const skipped = first(await service.trigger('transaction.paid'));
    const cancelled = { status: 'cancelled', cancelled_because: 'webhook_paused' };
    expect(service.deliveries()).toMatchObject([cancelled, { ...cancelled, attempts: [] }]);
    await service.webhooks.update(webhook.id, { paused: false });
    expect(await service.trigger('transaction.paid')).toMatchObject([{ status: 'delivered' }]);
    expect(await service.resend(skipped.id)).toMatchObject({ status: 'delivered' });
    expect(received).toHaveLength(3);
  });
});

describe('no deadlock', () => {
  test('a handler may call the API while it is being delivered to', async () => {
    const { service } = await subscribed({}, async (_, response) => {
      const headers = basic(service.privateKey);
      const { status } = await call(`${service.baseUrl}/api/v2/webhooks`, { headers });
      response.writeHead(status).end();
    });
    const { attempts } = first(await service.trigger('transaction.paid'));
    expect(attempts).toMatchObject([{ response: { status: 200 } }]);
  });

  test('a handler may trigger another event, and wait for it', async () => {
    const triggering: Answer = (_, response) => void service.trigger('a.b').then(() => response.end());
    const { service, received } = await subscribed({}, triggering, 200);
    await service.trigger('transaction.paid');
    expect(received).toHaveLength(2);
  });

  test('triggering over HTTP answers before anything is delivered', async () => {
    const answered = gate();
    const later: Answer = (_, response) => void answered.opened.then(() => response.end());
    const { service } = await subscribed({}, later);
    const event = { event_name: 'transaction.paid' };
    const { status, json } = await post(`${service.baseUrl}/_sim/events`, event);
    expect([status, json.data.deliveries[0].status]).toEqual([202, 'pending']);
    answered.open();
    await service.settled();
    expect(service.deliveries()).toMatchObject([{ status: 'delivered', attempts: [{ number: 1 }] }]);
  });
});
