// A letter and the retries of its event: what is kept when, and when it is removed.
import { describe, expect, test } from '@jest/globals';
import { memoryDeadLetters, memoryStore, type ReceiverOptions } from 'payment-webhooks';
import { delivery } from '../setup/delivery.js';
import {
  duplicate,
  failed,
  lost,
  processed,
  startReceiver,
  timedOut,
  unavailable,
} from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import {
  answers,
  type Fault,
  faultyStore,
  hangs,
  rejects,
  throws,
  times,
  WRITES_ONCE,
} from '../setup/faulty-store.js';
import { down } from '../setup/raise.js';
import { gate, until } from '../setup/waiting.js';

/** Each run of the handler takes the next step; the last one is repeated. One event is sent again and again. */
function start(steps: readonly (() => unknown)[], options: ReceiverOptions = {}) {
  let run = 0;
  const handler = () => {
    const step = steps[Math.min(run, steps.length - 1)];
    run += 1;
    return step?.();
  };
  const given = { deadLetters: memoryDeadLetters(), handlers: { '*': handler }, ...options };
  const receiver = startReceiver(given);
  const own = delivery();
  return { ...receiver, post: (sent = own) => receiver.post(sent) };
}

/** Faults that only write down which calls came, and in which order. */
function noted() {
  const order: string[] = [];
  const note =
    (name: string): Fault =>
    (real) => {
      order.push(name);
      return real();
    };
  return { order, note };
}

describe('the letter of an event that fails', () => {
  test('is one letter over all retries, counts them, and is removed by the retry that succeeds', async () => {
    const deadLetters = faultyDeadLetters();
    const endpoint = start([down, down, () => {}], { deadLetters });
    expect(await endpoint.post()).toMatchObject(failed);
    const [first] = await endpoint.letters();
    expect(await endpoint.post()).toMatchObject(failed);
    const [second, ...others] = await endpoint.letters();
    expect(others).toEqual([]);
    expect(second).toEqual({ ...first, attempts: 2 });
    deadLetters.calls.length = 0;
    expect(await endpoint.post()).toMatchObject(processed);
    expect(deadLetters.calls).toEqual(['remove']);
    expect(await endpoint.letters()).toEqual([]);
    expect(endpoint.records.at(-1)).not.toHaveProperty('deadLetter');
    expect(await endpoint.post()).toMatchObject(duplicate);
    expect(await endpoint.letters()).toEqual([]);
  });

  test('was left by a process that ended before it looked at the claim: the next delivery removes it', async () => {
    const deadLetters = memoryDeadLetters();
    const sent = delivery();
    const endpoint = start([() => {}], { deadLetters });
    const other = start([down], { deadLetters });
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(await other.post(sent)).toMatchObject(failed);
    expect(await endpoint.letters()).toHaveLength(1);
    expect(await endpoint.post(sent)).toMatchObject(duplicate);
    expect(await endpoint.letters()).toEqual([]);
  });

  test('is kept before its claim is released, and removed after the event is completed', async () => {
    const { order, note } = noted();
    const store = faultyStore({ release: note('release'), complete: note('complete') });
    const deadLetters = faultyDeadLetters({ keep: note('keep'), remove: note('remove') });
    const endpoint = start([down, () => {}], { store, deadLetters });
    await endpoint.post();
    await endpoint.post();
    expect(order).toEqual(['keep', 'release', 'complete', 'remove']);
  });

  test('is not looked for when the first attempt at the event succeeds', async () => {
    const deadLetters = faultyDeadLetters();
    expect(await start([() => {}], { deadLetters }).post()).toMatchObject(processed);
    expect(deadLetters.calls).toEqual([]);
  });

  test('is removed when the completion that was given up is confirmed after all', async () => {
    const committed = gate();
    const complete: Fault = (real) => committed.opened.then(real);
    const store = faultyStore({ complete }, { more: WRITES_ONCE });
    const endpoint = start([() => {}], { store, storeTimeout: 50 });
    expect(await endpoint.post()).toMatchObject(unavailable);
    expect(await endpoint.letters()).toMatchObject([{ code: 'STORE_UNAVAILABLE' }]);
    committed.open();
    await until(async () => (await endpoint.letters()).length === 0);
  });

  test.each([
    ['throws', throws],
    ['rejects', rejects],
    ['hangs', hangs],
    ['answers rubbish', answers({ value: 'yes' })],
  ])('that is not removed, as remove() %s, costs a line: the answer is 200', async (_, remove) => {
    const deadLetters = faultyDeadLetters({ remove });
    const endpoint = start([down, () => {}], { deadLetters, storeTimeout: 50 });
    await endpoint.post();
    expect(await endpoint.post()).toMatchObject(processed);
    const line = { level: 50, msg: expect.stringMatching(/a replay will remove it: /) };
    expect(endpoint.log.lines).toContainEqual(expect.objectContaining(line));
    expect(await endpoint.post()).toMatchObject(duplicate);
    deadLetters.faults.remove = undefined;
    expect(await endpoint.hooks.deadLetters?.replay()).toMatchObject({ duplicates: 1, processed: 0 });
    expect(await endpoint.letters()).toEqual([]);
  });
});

describe('a handler that takes longer than timeout', () => {
  test('has its event kept before the answer, and removed when it succeeds late', async () => {
    const work = gate();
    const endpoint = start([() => work.opened], { timeout: 30 });
    expect(await endpoint.post()).toMatchObject(timedOut);
    const letter = { reason: 'failed', code: 'HANDLER_TIMEOUT', attempts: 1 };
    expect(await endpoint.letters()).toMatchObject([letter]);
    expect(endpoint.records).toMatchObject([{ code: 'HANDLER_TIMEOUT', deadLetter: 'failed' }]);
    work.open();
    await until(() => endpoint.hooks.inFlight === 0);
    expect(await endpoint.letters()).toEqual([]);
    expect(await endpoint.post()).toMatchObject(duplicate);
  });

  test('and then fails has one letter, of one attempt, that says so', async () => {
    const work = gate();
    const endpoint = start([() => work.opened], { timeout: 30 });
    await endpoint.post();
    work.fail(new Error('late'));
    await until(() => endpoint.hooks.inFlight === 0);
    const letter = { reason: 'failed', code: 'HANDLER_FAILED', attempts: 1 };
    expect(await endpoint.letters()).toMatchObject([letter]);
  });

  test('is answered 503 when the store of letters is down as well', async () => {
    const deadLetters = faultyDeadLetters({ keep: rejects });
    const work = gate();
    const endpoint = start([() => work.opened], { timeout: 30, deadLetters });
    expect(await endpoint.post()).toMatchObject(unavailable);
    work.open();
    await until(() => endpoint.hooks.inFlight === 0);
    expect(await endpoint.post()).toMatchObject(duplicate);
  });

  test.each(['before', 'after'])('leaves no letter that is written late, %s it succeeds', async (when) => {
    const [work, written] = [gate(), gate()];
    const deadLetters = faultyDeadLetters({ keep: (real) => written.opened.then(real) });
    const endpoint = start([() => work.opened], { timeout: 30, storeTimeout: 50, deadLetters });
    expect(await endpoint.post()).toMatchObject(unavailable);
    const succeed = async () => {
      work.open();
      await until(() => endpoint.hooks.inFlight === 0);
    };
    if (when === 'after') await succeed();
    written.open();
    if (when === 'before') {
      await until(async () => (await endpoint.letters()).length === 1);
      await succeed();
    }
    await until(() => deadLetters.calls.includes('remove'));
    expect(await endpoint.letters()).toEqual([]);
  });

  test('keeps its claim while its letter is written', async () => {
    const [work, written] = [gate(), gate()];
    const store = faultyStore();
    const deadLetters = faultyDeadLetters({ keep: (real) => written.opened.then(real) });
    const endpoint = start([() => work.opened], { timeout: 30, lease: 90, deadLetters, store });
    const answer = endpoint.post();
    await until(() => deadLetters.calls.includes('keep'));
    work.open();
    await until(() => store.calls.filter((call) => call === 'renew').length > 1);
    expect(store.calls).not.toContain('complete');
    written.open();
    expect(await answer).toMatchObject(timedOut);
    await until(() => endpoint.hooks.inFlight === 0);
    expect(await endpoint.letters()).toEqual([]);
  });
});

describe('a claim that is lost', () => {
  const complete = answers({ value: false });

  test('has its event kept, since the other run may fail', async () => {
    const endpoint = start([() => {}], { store: faultyStore({ complete }) });
    expect(await endpoint.post()).toMatchObject(lost);
    expect(await endpoint.letters()).toMatchObject([{ reason: 'failed', code: 'CLAIM_LOST' }]);
  });

  test('and completed by the other run is removed by a replay, which runs nothing', async () => {
    let now = 0;
    const store = memoryStore({ now: () => now });
    const losing = faultyStore({ complete: times(1, complete) }, { store });
    const runs: string[] = [];
    const endpoint = start([() => void runs.push('first')], { store: losing });
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject(lost);
    const other = start([() => void runs.push('other')], { store });
    // Past the lease.
    now += 3_600_000;
    expect(await other.post(sent)).toMatchObject(processed);
    expect(await endpoint.hooks.deadLetters?.replay()).toMatchObject({ duplicates: 1, processed: 0 });
    expect(await endpoint.letters()).toEqual([]);
    expect(runs).toEqual(['first', 'other']);
  });
});
