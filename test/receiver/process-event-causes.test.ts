// What handlers throw, for the program that runs them: the worker of a queue finds it at the error of its job.
import { expect, test } from '@jest/globals';
import { HandlerError, memoryStore } from 'payment-webhooks';
import { processor } from 'payment-webhooks/queues/bullmq';
import { fixtures } from '../../src/fixtures/fixture.js';

test.each([
  ['with a store', memoryStore()],
  ['without a store', false as const],
])('the error of a job holds what each of its handlers threw, %s', async (_, store) => {
  const [one, other] = [new TypeError('no such order'), new RangeError('out of stock')];
  const handlers = { 'transaction.paid': () => Promise.reject(one), '*': () => Promise.reject(other) };
  const work = processor(handlers, { store, logger: false });
  const rawBody = JSON.stringify(fixtures.transactionPaid());
  const data = { rawBody, headers: {}, keyIndex: 0 };
  // As a worker of BullMQ calls it.
  const job = { data, queueName: 'webhooks', attemptsStarted: 1, moveToDelayed: async () => {} };
  const error = await work(job).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(HandlerError);
  expect(error).toMatchObject({ cause: { errors: [one, other] } });
});
