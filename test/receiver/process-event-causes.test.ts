// What became of an event that was not processed: for the worker that runs its job, and in the letter that is kept of it.
import { describe, expect, test } from '@jest/globals';
import { HandlerError, memoryDeadLetters, memoryStore, RetryAfterError } from 'payment-webhooks';
import { processor } from 'payment-webhooks/queues/bullmq';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery } from '../setup/delivery.js';
import { processed, startReceiver, unavailable } from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { answers, type FaultyStore, faultyStore, rejects, times } from '../setup/faulty-store.js';
import { raise } from '../setup/raise.js';
import { until } from '../setup/waiting.js';

/** What a handler may say in an error, and a letter may not. */
const SECRET = 'Lovelace';

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

/** A receiver that keeps letters, and what it says of the one it has kept. */
function start(handlers: Readonly<Record<string, () => unknown>>, options: object = {}) {
  const receiver = startReceiver({ deadLetters: memoryDeadLetters(), handlers: {}, ...options });
  for (const [name, handler] of Object.entries(handlers))
    receiver.hooks.on('transaction.paid', handler, { name });
  const letter = async () => (await receiver.letters())[0];
  return { ...receiver, letter };
}

describe('the cause of a letter', () => {
  const fail = () => Promise.reject(new TypeError(SECRET));

  test('is that of the first handler, whichever fails first', async () => {
    const slowly = () => new Promise((_, reject) => setTimeout(reject, 20, new RangeError(SECRET)));
    const { post, letter } = start({ 'mark-paid': slowly, ship: fail });
    await post();
    expect((await letter())?.cause).toMatch(/^mark-paid: RangeError at /);
  });

  test('is that of the one that failed, not of one that asked for a retry later', async () => {
    const { post, letter } = start({
      'mark-paid': () => Promise.reject(new RetryAfterError('1m')),
      ship: fail,
    });
    await post();
    expect(await letter()).toMatchObject({
      code: 'HANDLER_FAILED',
      cause: expect.stringMatching(/^ship: TypeError/),
    });
  });

  test('names the handler that is not finished in time, and then what became of it', async () => {
    let end = (_error: Error) => {};
    const slow = () =>
      new Promise((_, reject) => {
        end = reject;
      });
    const { post, letter } = start({ 'mark-paid': () => {}, ship: slow }, { timeout: 20 });
    expect((await post()).status).toBe(503);
    expect(await letter()).toMatchObject({ code: 'HANDLER_TIMEOUT', cause: 'ship: HANDLER_TIMEOUT' });
    end(new RangeError(SECRET));
    await until(async () => (await letter())?.code === 'HANDLER_FAILED');
    expect((await letter())?.cause).toMatch(/^ship: RangeError/);
  });

  test('is that of the latest attempt, and none when no handler failed in it', async () => {
    let runs = 0;
    const handler = () => {
      runs += 1;
      return Promise.reject(runs === 1 ? new TypeError(SECRET) : new RangeError(SECRET));
    };
    const { hooks, post, letter } = start({ ship: handler });
    await post();
    expect((await letter())?.cause).toMatch(/^ship: TypeError/);
    const { id = '', cause } = (await letter()) ?? {};
    expect(await hooks.deadLetters.replay({ cause })).toMatchObject({ failed: 1 });
    expect(await letter()).toMatchObject({
      id,
      attempts: 2,
      cause: expect.stringMatching(/^ship: RangeError/),
    });
    expect(await hooks.deadLetters.replay({ cause })).toMatchObject({ events: [] });
  });

  test('is that of a serial function that throws', async () => {
    const { hooks, post, letter } = start({});
    const serial = () => raise(new RangeError(SECRET));
    hooks.on('transaction.paid', () => {}, { name: 'ship', serial });
    await post();
    expect((await letter())?.cause).toMatch(/^ship: RangeError at process-event-causes/);
  });

  test.each<[string, () => unknown, RegExp]>([
    ['throws', () => Promise.reject(new RangeError(SECRET)), /^schema: RangeError at process-event-causes/],
    ['does not end', () => new Promise(() => {}), /^schema: HANDLER_TIMEOUT$/],
  ])('is that of a schema that %s', async (_, validate, cause) => {
    const schema = { '~standard': { version: 1, vendor: 'own', validate } } as const;
    const options = { events: { 'payout.sent': schema as never }, storeTimeout: 50 };
    const { post, letter } = start({}, options);
    await post(delivery(fixtures.event('payout.sent', {})));
    expect(await letter()).toMatchObject({ reason: 'failed', cause: expect.stringMatching(cause) });
  });
});

describe('a letter is kept of an event', () => {
  test.each<[string, FaultyStore['faults']]>([
    ['at its end', { complete: answers({ value: false }) }],
    ['while its handler ran', { renew: answers({ value: false }) }],
  ])('whose claim was lost %s', async (_, faults) => {
    const store = faultyStore(faults);
    const lost = () => until(() => !faults.renew || store.calls.includes('renew'));
    const { post, letter } = start({ ship: lost }, { store, lease: 60 });
    expect(await post()).toMatchObject({ status: 503, body: { code: 'CLAIM_LOST' } });
    expect(await letter()).toMatchObject({ reason: 'failed', code: 'CLAIM_LOST' });
  });

  describe('with other bytes than those whose writes are committed', () => {
    const end = () => ({ wrote: false, skipped: 'the fingerprint of other bytes' });
    const skipping = () => faultyStore({}, { more: { forHandler: () => ({ context: {}, end }) } });
    const ledger = () => {};

    test('and the event is completed', async () => {
      const store = skipping();
      const { post, letter, records } = start({ ledger }, { store });
      expect(await post()).toMatchObject(processed);
      expect(await letter()).toMatchObject({ reason: 'conflict', code: undefined });
      expect(records).toMatchObject([{ outcome: 'processed', conflict: true, deadLetter: 'conflict' }]);
      expect(store.calls).toEqual(['claim', 'complete']);
    });

    test('and the event is not completed while the letter cannot be kept', async () => {
      const store = skipping();
      const deadLetters = faultyDeadLetters({ keep: rejects });
      const { post, letter } = start({ ledger }, { store, deadLetters });
      const sent = delivery();
      expect(await post(sent)).toMatchObject(unavailable);
      expect(store.calls).toEqual(['claim', 'release']);
      deadLetters.faults.keep = undefined;
      expect(await post(sent)).toMatchObject(processed);
      expect(await letter()).toMatchObject({ reason: 'conflict', attempts: 2 });
    });

    test('and the retry completes it, where the letter was kept at the second try', async () => {
      const store = skipping();
      const { post, letter } = start(
        { ledger },
        { store, deadLetters: faultyDeadLetters({ keep: times(1, rejects) }) },
      );
      const sent = delivery();
      expect(await post(sent)).toMatchObject(unavailable);
      expect(await letter()).toMatchObject({ reason: 'conflict', attempts: 1 });
      expect(await post(sent)).toMatchObject(processed);
      expect(await letter()).toMatchObject({ reason: 'conflict', attempts: 2 });
    });

    test('and without dead letters it is completed all the same', async () => {
      const store = skipping();
      const { post, records } = start({ ledger }, { store, deadLetters: undefined });
      expect(await post()).toMatchObject(processed);
      expect(records).toMatchObject([{ outcome: 'processed', conflict: true }]);
      expect(store.calls).toEqual(['claim', 'complete']);
    });
  });
});

test('a claim that went to another delivery, which completed the event, is lost also without dead letters', async () => {
  const faulty = faultyStore({ complete: answers({ value: false }) });
  const store = { ...faulty, completedWith: async () => 'the fingerprint of its bytes' };
  const { post } = start({ ship: () => {} }, { store, deadLetters: undefined });
  expect(await post()).toMatchObject({ status: 503, body: { code: 'CLAIM_LOST' } });
});
