// The outcome that an endpoint reports for a delivery, in the record and in the row.
import { describe, expect, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { outcomeIn } from '../../../src/tools/simulator/delivery/delivery-record.js';
import { call, simulator } from './world.js';

describe('the outcome in an answer', () => {
  test.each<[string, string | null]>([
    ['{"received":true,"outcome":"processed"}', 'processed'],
    ['{"outcome": "ignored"}', 'ignored'],
    ['{"outcome":"kept-for_later"}', 'kept-for_later'],
    ['{"received":true}', null],
    ['{"outcome":null}', null],
    ['{"outcome":{"a":1}}', null],
    ['{"outcome":""}', null],
    ['{"outcome":"two words"}', null],
    ['{"outcome":"\\u001b[2J"}', null],
    [`{"outcome":"${'x'.repeat(41)}"}`, null],
    [`{"outcome":"ignored","more":"${'x'.repeat(2_000)}"}`, null],
    ['["outcome"]', null],
    ['null', null],
    ['outcome', null],
    ['', null],
  ])('%s', (body, outcome) => {
    expect(outcomeIn(body)).toBe(outcome);
  });
});

test('the outcome of a receiver is in the record and in the row', async () => {
  const service = await simulator();
  const hooks = receiver({ privateKey: service.privateKey, logger: false, handlers: { '*': () => {} } });
  await service.attach(hooks, '/hooks');
  const [paid] = await service.trigger('transaction.paid');
  const [refund] = await service.trigger('refund.succeeded', { payload: {} });
  const again = await service.resend(String(paid?.id));
  expect(paid?.attempts.map(({ outcome }) => outcome)).toEqual(['processed']);
  expect(refund?.attempts.map(({ outcome }) => outcome)).toEqual(['ignored']);
  expect(again.attempts.map(({ outcome }) => outcome)).toEqual(['processed', 'duplicate']);
  const { json } = await call(`${service.baseUrl}/_sim/deliveries?view=rows`);
  expect(json.data.map(({ last }: { last: { outcome: string } }) => last.outcome)).toEqual([
    'ignored',
    'duplicate',
  ]);
});
