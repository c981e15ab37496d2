// When a failed case of a contract is believed, and when it runs again.
import { expect, test } from '@jest/globals';
import { deadLetterContract, storeContract } from 'payment-webhooks/testing';
import { contractCases } from '../../src/testing/contract-cases.js';

/** Runs a case that fails `failures` times, and takes `lateMs` beyond its sleeps. */
async function tried(failures: number, lateMs: number, slackMs?: number) {
  let runs = 0;
  let open = 0;
  const check = async (sleep: (ms: number) => Promise<void>) => {
    runs++;
    await sleep(5);
    for (const end = performance.now() + lateMs; performance.now() < end; );
    if (runs <= failures) throw new Error('the store breaks its contract');
  };
  const create = () => {
    open++;
    return { close: () => open-- };
  };
  const suite = { cases: { promise: check }, retention: undefined, ...(slackMs && { slackMs }) };
  const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const [only] = contractCases([suite], create, (_store, counted) => counted, sleep);
  const passed = await only?.run().then(
    () => true,
    () => false,
  );
  return { passed, runs, open };
}

test.each([
  ['is believed where it was in time', 1, 0, 60_000, { passed: false, runs: 1 }],
  ['is believed, however late, where nothing depends on time', 1, 30, undefined, { passed: false, runs: 1 }],
  ['runs again, with a store of its own, where it was late', 1, 30, 20, { passed: true, runs: 2 }],
  ['is believed in the end, however late', 99, 30, 20, { passed: false, runs: 10 }],
])('a case that fails %s', async (_, failures, lateMs, slackMs, expected) => {
  expect(await tried(failures, lateMs, slackMs)).toEqual({ ...expected, open: 0 });
});

test.each([storeContract, deadLetterContract])('%p says what to give instead of a store', (contract) => {
  const message = 'create is undefined. Pass { create: ({ retention }) => myStore({ retention }) }.';
  expect(() => contract((() => ({})) as never)).toThrow(message);
});
