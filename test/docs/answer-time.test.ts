// The longest time to an answer, as docs/delivery.md adds it up: reached on a clock that the test moves.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import timers from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { RECEIVER_OPTIONS } from '../../src/options/options.js';
import { delivery, KEY } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { type FaultyStore, faultyStore, hangs, WRITES_ONCE } from '../setup/faulty-store.js';
import { codeBlocks } from '../setup/markdown.js';
import { openSocket, wire } from '../setup/raw-socket.js';
import { ROOT } from '../setup/shell.js';
import { gate } from '../setup/waiting.js';

const PAGE = join(ROOT, 'docs/delivery.md');
const DEFAULTS = RECEIVER_OPTIONS.read({});
const limits = { bodyTimeout: 10_000, storeTimeout: 2_000, timeout: 10_000 };
type Limits = typeof limits;

/** The formula of the page, in milliseconds. */
function longest({ bodyTimeout, storeTimeout, timeout }: Limits): number {
  const formula = codeBlocks(PAGE).find(({ text }) => text.startsWith('bodyTimeout + '))?.text ?? '';
  const terms = formula.replaceAll('×', '*').replaceAll('max(', 'Math.max(').replaceAll('2 s', '2_000');
  const compute = Function('bodyTimeout', 'storeTimeout', 'timeout', `return ${terms}`);
  return compute(bodyTimeout, storeTimeout, timeout);
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await tick();
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
  // Jest leaves these alone; the pause between two tries to complete a claim is one.
  const pause = (ms?: number) => new Promise((resolve) => setTimeout(resolve, ms));
  jest.spyOn(timers, 'setTimeout').mockImplementation(pause as typeof timers.setTimeout);
});

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** A delivery in which every wait ends a millisecond before its limit. Returns the time to its end, and its status. */
async function slowest(limits: Limits, store: FaultyStore, fails = false) {
  const [key, schema, claim, work] = [gate<string>(), gate(), gate(), gate()];
  const reached: string[] = [];
  const wait = <Value>(name: string, opened: Promise<Value>) => {
    reached.push(name);
    return opened;
  };
  store.faults.claim = (real) => wait('claim', claim.opened).then(real);
  const validate: StandardSchemaV1['~standard']['validate'] = (value) =>
    wait('schema', schema.opened).then(() => ({ value }));
  const endpoint = await startEndpoint({
    ...limits,
    store,
    privateKey: () => wait('key', key.opened),
    events: { 'transaction.paid': { '~standard': { version: 1, vendor: 'test', validate } } },
    handlers: { 'transaction.paid': () => wait('handlers', work.opened) },
  });
  const began = performance.now();
  const request = wire(delivery());
  const sender = await openSocket(endpoint.port);
  sender.write(request.subarray(0, -1));
  await until(() => endpoint.hooks.inFlight === 1);
  const waits: [name: string, ms: number, end: () => void][] = [
    ['key', limits.bodyTimeout, () => sender.write(request.subarray(-1))],
    ['schema', limits.storeTimeout, () => key.open(KEY)],
    ['claim', limits.storeTimeout, () => schema.open()],
    ['handlers', limits.storeTimeout, () => claim.open()],
  ];
  for (const [next, ms, end] of waits) {
    jest.advanceTimersByTime(ms - 1);
    end();
    await until(() => reached.includes(next));
  }
  jest.advanceTimersByTime(limits.timeout - 1);
  if (fails) work.fail(new Error('no'));
  else work.open();
  await until(() => store.calls.length > 1);
  for (await tick(); endpoint.records.length === 0; await tick()) jest.advanceTimersByTime(10);
  await sender.until(/\r\n\r\n\{/);
  return { took: performance.now() - began, status: endpoint.records[0]?.status };
}

describe('the longest time to an answer', () => {
  test('is 28 s with the defaults, as the pages say', () => {
    expect(longest(DEFAULTS)).toBe(28_000);
    expect(readFileSync(PAGE, 'utf8')).toContain(
      '28 s, and 24 s if neither a key function nor a schema is asynchronous',
    );
    expect(longest(DEFAULTS) - 2 * DEFAULTS.storeTimeout).toBe(24_000);
    expect(readFileSync(join(ROOT, 'docs/what-is-documented.md'), 'utf8')).toMatch(/\b28 s\b/);
  });

  test('is 32 s with the settings of docs/deploying.md', () => {
    expect(readFileSync(PAGE, 'utf8')).toContain('for dead letters 4 times');
    // Its key and its schema are there at once, and it has dead letters.
    expect(longest(DEFAULTS) + (4 - 2) * DEFAULTS.storeTimeout).toBe(32_000);
    expect(readFileSync(join(ROOT, 'docs/deploying.md'), 'utf8')).toMatch(/\b32 s\b/);
  });

  test('is reached, and not passed, by a delivery in which all is slow', async () => {
    const { took, status } = await slowest(limits, faultyStore({ complete: hangs }));
    expect(status).toBe(200);
    expect(took).toBeLessThanOrEqual(longest(limits));
    expect(took).toBeGreaterThan(longest(limits) - 20);
  });

  test('is the same where a handler wrote inside once()', async () => {
    const store = faultyStore({ complete: hangs }, { more: WRITES_ONCE });
    const { took, status } = await slowest(limits, store);
    expect(status).toBe(503);
    expect(took).toBeLessThanOrEqual(longest(limits));
    expect(took).toBeGreaterThan(longest(limits) - 20);
  });

  test.each([
    ...[100, 600, 2_000, 5_000].map((storeTimeout) => ['fails', storeTimeout, 500] as const),
    ...[100, 600, 5_000].map((storeTimeout) => ['succeeds', storeTimeout, 200] as const),
  ])('holds when a handler %s, with a storeTimeout of %d ms', async (end, storeTimeout, expected) => {
    const given = { ...limits, storeTimeout };
    const store = faultyStore({ [end === 'fails' ? 'release' : 'complete']: hangs });
    const { took, status } = await slowest(given, store, end === 'fails');
    expect(status).toBe(expected);
    expect(took).toBeLessThanOrEqual(longest(given));
  });
});
