import type { RequestListener } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { badDeliveries, deliver, fixtures, type SigningOptions } from 'payment-webhooks/testing';
import request from 'supertest';
import { ConfigurationError } from '../../src/errors.js';
import { hmac, receivable } from '../setup/delivery.js';
import { EXPRESS_MAJORS, independentEndpoint } from '../setup/independent-endpoint.js';
import { served } from '../tools/simulator/world.js';

const privateKey = 'pri_test_bad_deliveries';
const event = fixtures.transactionPaid();
const list = badDeliveries(event, { privateKey });

const expected = list.map(({ name, status }) => [name, status]);

async function statusesByFetch(app: RequestListener): Promise<[name: string, status: number][]> {
  const url = `${await served(app)}/hooks`;
  const statuses: [string, number][] = [];
  for (const { name, body, headers } of list)
    statuses.push([name, (await fetch(url, { method: 'POST', headers, body })).status]);
  return statuses;
}

describe.each(EXPRESS_MAJORS)('badDeliveries, at an independent endpoint on %s', (_, framework) => {
  const { app, accepted } = independentEndpoint(privateKey, { framework });

  test.each(list)('$name is answered $status', async ({ body, headers, status }) => {
    await request(app).post('/hooks').set(headers).send(body).expect(status);
    expect(accepted).toHaveLength(0);
  });

  test('arrive by fetch as they are', async () => {
    expect(await statusesByFetch(app)).toEqual(expected);
  });
});

describe.each(EXPRESS_MAJORS)('badDeliveries, at receiver() on %s', (_, framework) => {
  const handled: unknown[] = [];
  const hooks = receiver({ privateKey, logger: false, handlers: { '*': (good) => void handled.push(good) } });
  hooks.onUnknown((good) => void handled.push(good));
  const app = framework().post('/hooks', hooks);

  test.each(list)('$name is answered $status, and no handler runs', async ({ body, headers, status }) => {
    await request(app).post('/hooks').set(headers).send(body).expect(status);
    expect(handled).toHaveLength(0);
  });

  test('arrive by fetch as they are, and without a request through receive()', async () => {
    expect(await statusesByFetch(app)).toEqual(expected);
    for (const { body: rawBody, headers, name, status } of list)
      expect([name, (await hooks.receive({ rawBody, headers })).status]).toEqual([name, status]);
    expect(handled).toHaveLength(0);
  });

  test('the same event, sent well, is processed', async () => {
    expect((await hooks.receive(receivable(event, privateKey))).status).toBe(200);
    expect(handled).toEqual([event]);
    const answer = await deliver(app, event, { privateKey });
    expect(answer.body).toEqual({ received: true, outcome: 'duplicate' });
  });
});

describe('badDeliveries', () => {
  test('covers every status that a sender can be to blame for, in one request', () => {
    expect([...new Set(list.map(({ status }) => status))].sort()).toEqual([400, 401, 413, 415, 422]);
  });

  test('has a name of its own for each', () => {
    expect(new Set(list.map(({ name }) => name)).size).toBe(list.length);
  });

  test('signs correctly all that is not about the signature, and nothing else', () => {
    for (const { name, body, headers, status } of list) {
      const isCorrect = headers['x-service-signature'] === hmac(body, privateKey);
      expect([name, isCorrect]).toEqual([name, status !== 401]);
    }
  });

  test('share no headers, so that a test may change its own', () => {
    expect(new Set(list.map(({ headers }) => headers)).size).toBe(list.length);
  });

  test('use the header that they are given', () => {
    const named = badDeliveries(event, { privateKey, signatureHeader: 'X-Acme-Signature' });
    const withHeader = named.filter(({ headers }) => 'x-acme-signature' in headers);
    expect(withHeader).toHaveLength(list.length - 1);
    expect(named.some(({ headers }) => 'x-service-signature' in headers)).toBe(false);
  });

  test('are wrongly signed by another key also when the key is bytes', () => {
    const rows = badDeliveries(event, { privateKey: Buffer.from('pri_test_bytes') });
    const signature = rows.find(({ name }) => name.includes('another key'))?.headers['x-service-signature'];
    expect(signature).toMatch(/^[0-9a-f]{64}$/);
    expect(signature).not.toBe(hmac(JSON.stringify(event), 'pri_test_bytes'));
  });

  test.each<[string, unknown, RegExp]>([
    ['text', '{}', /^event is invalid \(.*\)\. Pass badDeliveries\(\) an event/],
    ['nothing', undefined, /^event is invalid/],
    ['an event without an id', { ...event, id: undefined }, /^event\.id is invalid/],
    ['an event with a payload of text', { ...event, payload: 'text' }, /^event\.payload is invalid/],
  ])('refuses to damage %s', (_, bad, message) => {
    expect(() => badDeliveries(bad as object, { privateKey })).toThrow(ConfigurationError);
    expect(() => badDeliveries(bad as object, { privateKey })).toThrow(message);
  });

  test.each<[string, unknown]>([
    ['no options', undefined],
    ['an empty key', { privateKey: '' }],
    ['an unknown option', { privateKey, path: '/' }],
  ])('refuses %s', (_, options) => {
    expect(() => badDeliveries(event, options as SigningOptions)).toThrow(ConfigurationError);
  });
});
