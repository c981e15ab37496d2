// The journal: every event is kept from before its handlers run until it is processed.
import { describe, expect, test } from '@jest/globals';
import { memoryDeadLetters, memoryStore, type ReceiverOptions } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery } from '../setup/delivery.js';
import { processed, startReceiver } from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { type Fault, faultyStore, hangs, rejects, repliesAfter } from '../setup/faulty-store.js';
import { gate, until } from '../setup/waiting.js';

function start(handler: () => unknown, options: ReceiverOptions = {}) {
  return startReceiver({
    ...{ deadLetters: memoryDeadLetters(), journal: true, handlers: { '*': handler } },
    ...options,
  });
}

describe('with journal: true', () => {
  test('an event is kept before its handler runs, and removed once it is processed', async () => {
    const deadLetters = faultyDeadLetters();
    const work = gate();
    const started = gate();
    const handler = () => {
      started.open();
      expect(deadLetters.calls).toEqual(['keep']);
      return work.opened;
    };
    const endpoint = start(handler, { deadLetters });
    const answer = endpoint.post();
    await started.opened;
    const letter = { reason: 'unfinished', attempts: 1, code: undefined };
    expect(await endpoint.letters()).toMatchObject([letter]);
    work.open();
    expect(await answer).toMatchObject(processed);
    expect(await endpoint.letters()).toEqual([]);
    expect(endpoint.records.at(-1)).not.toHaveProperty('deadLetter');
  });

  test('an event that fails is kept as failed: one letter, of one attempt', async () => {
    const endpoint = start(() => Promise.reject(new Error('down')));
    expect(await endpoint.post()).toMatchObject({ status: 500 });
    expect(await endpoint.letters()).toMatchObject([{ reason: 'failed', attempts: 1 }]);
  });

  test.each<[string, Fault, string]>([
    ['cannot be written', rejects, 'STORE_UNAVAILABLE'],
    ['took longer to write than the lease', repliesAfter(700), 'CLAIM_LOST'],
  ])('no handler runs when the journal %s, and a retry can come at once', async (_, keep, code) => {
    const runs: number[] = [];
    const deadLetters = faultyDeadLetters({ keep });
    const endpoint = start(() => void runs.push(1), { deadLetters, lease: 500 });
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject({ status: 503, body: { code } });
    expect(runs).toHaveLength(0);
    deadLetters.faults.keep = undefined;
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(runs).toHaveLength(1);
  });

  test('an event that was processed elsewhere before its journal was written leaves no letter', async () => {
    const [store, letters, written] = [memoryStore(), memoryDeadLetters(), gate()];
    const deadLetters = faultyDeadLetters({ keep: (real) => written.opened.then(real) }, letters);
    const runs: string[] = [];
    const slow = start(() => void runs.push('slow'), { store, deadLetters, lease: 500 });
    const sent = delivery();
    const answer = slow.post(sent);
    await until(() => deadLetters.calls.includes('keep'));
    const other = start(() => void runs.push('other'), { store, deadLetters: letters, journal: false });
    await until(async () => (await other.post(sent)).status === 200);
    written.open();
    expect(await answer).toMatchObject({ status: 503, body: { code: 'CLAIM_LOST' } });
    expect(runs).toEqual(['other']);
    expect(await other.letters()).toEqual([]);
  });

  test('an event whose letter cannot be changed afterwards is still in the journal', async () => {
    const deadLetters = faultyDeadLetters({ update: rejects });
    const endpoint = start(() => Promise.reject(new Error('down')), { deadLetters });
    expect(await endpoint.post()).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
    expect(await endpoint.letters()).toMatchObject([{ reason: 'unfinished' }]);
    expect(endpoint.records).toMatchObject([{ code: 'HANDLER_FAILED', deadLetter: 'unfinished' }]);
  });

  test('an event whose letter was discarded while it ran is kept again when it fails', async () => {
    const work = gate();
    const endpoint = start(() => work.opened);
    const answer = endpoint.post();
    await until(() => endpoint.hooks.inFlight === 1);
    let [letter] = await endpoint.letters();
    while (!letter) [letter] = await endpoint.letters();
    await endpoint.hooks.deadLetters?.discard(letter.id, { by: 'ada', because: 'test data' });
    work.fail(new Error('down'));
    expect(await answer).toMatchObject({ status: 500 });
    expect(await endpoint.letters()).toMatchObject([{ reason: 'failed' }]);
  });

  test('an undeclared event is kept once, as undeclared', async () => {
    const deadLetters = faultyDeadLetters();
    const endpoint = start(() => {}, { deadLetters });
    await endpoint.post(delivery(fixtures.event('refund.succeeded', {})));
    expect(deadLetters.calls).toEqual(['keep']);
    expect(await endpoint.letters()).toMatchObject([{ reason: 'unknown' }]);
  });

  test('an event of a process that died on the last retry is replayed by another', async () => {
    let time = 0;
    const [store, deadLetters] = [memoryStore({ now: () => time }), memoryDeadLetters()];
    const work = gate();
    // A process that dies never releases its claim, and its handlers never settle.
    const dying = faultyStore({ renew: hangs, complete: hangs }, { store });
    const first = start(() => work.opened, { deadLetters, store: dying });
    void first.post();
    await until(() => dying.calls.includes('claim'));
    while ((await first.letters()).length === 0);
    const seen: number[] = [];
    const second = startReceiver({
      ...{ deadLetters, store },
      handlers: { '*': (_, { attempt }) => void seen.push(attempt) },
    });
    const { replay } = second.hooks.deadLetters;
    expect(await replay()).toMatchObject({ inProgress: 1, processed: 0 });
    time = 30_001;
    expect(await replay()).toMatchObject({ inProgress: 0, processed: 1 });
    expect(seen).toEqual([2]);
    expect(await second.letters()).toEqual([]);
    work.open();
    await first.hooks.close();
    expect(seen).toHaveLength(1);
  });
});
