import { expect, test } from '@jest/globals';
import type { ReceiverOptions } from 'payment-webhooks';
import { fixtures } from '../src/fixtures/fixture.js';
import { delivery } from './setup/delivery.js';
import { startEndpoint } from './setup/endpoint.js';
import { faultyStore, hangs } from './setup/faulty-store.js';

const never = () => new Promise<never>(() => {});
const rejecting = { 'transaction.paid': () => Promise.reject(new Error('no')) };
const schema = { '~standard': { version: 1, vendor: 'test', validate: never } } as const;
/** Short, and short leases too, so that no renewal outlives the test. */
const short = { bodyTimeout: 100, storeTimeout: 100, timeout: 100, maxHandlerTime: 150, lease: 150 };

// The sender itself: test/receiver/capture-body.test.ts.
test.each<[string, ReceiverOptions, number]>([
  ['the key function', { privateKey: never }, 503],
  ['the schema', { events: { 'transaction.paid': schema } }, 503],
  ['the store at claim', { store: faultyStore({ claim: hangs }) }, 503],
  ['the store at complete', { store: faultyStore({ complete: hangs }) }, 200],
  ['the store at release', { store: faultyStore({ release: hangs }), handlers: rejecting }, 500],
  ['the handler', { handlers: { 'transaction.paid': never } }, 503],
  [
    'the handler, and the store at renew',
    { store: faultyStore({ renew: hangs }), handlers: { '*': never } },
    503,
  ],
  ['the observer around it', { observer: { around: never } }, 200],
  ['the observer of the handler', { observer: { handler: never } }, 200],
])('whatever hangs, the sender is answered: %s', async (_, options, status) => {
  const endpoint = await startEndpoint({ ...short, ...options });
  expect(await endpoint.post(delivery(fixtures.transactionPaid()))).toMatchObject({ status });
  await endpoint.hooks.close();
  expect(endpoint.hooks.inFlight).toBe(0);
});
