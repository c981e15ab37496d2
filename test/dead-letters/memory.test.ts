import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, memoryDeadLetters, receiver, StoreError } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { KEY, receivable } from '../setup/delivery.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { aLetter } from '../setup/letters.js';

const DAY = 86_400_000;

function start(options: Parameters<typeof memoryDeadLetters>[0]) {
  const deadLetters = memoryDeadLetters(options);
  const hooks = receiver({ privateKey: KEY, logger: false, deadLetters });
  const keep = async (id: string) => {
    const { outcome, code } = JSON.parse(
      (await hooks.receive(receivable({ ...fixtures.event('refund.made', {}), id }))).body,
    );
    return outcome ?? code;
  };
  return { deadLetters, hooks, keep };
}

describe('the memory store of dead letters', () => {
  test('that is full makes room for no other letter: the service keeps its event', async () => {
    const { hooks, keep } = start({ max: 2 });
    expect([await keep('a'), await keep('b'), await keep('c'), await keep('a')]).toEqual([
      'kept',
      'kept',
      'STORE_UNAVAILABLE',
      'kept',
    ]);
    const [first] = await lettersOf(hooks);
    await hooks.deadLetters.discard(first?.id ?? '', { by: 'ada', because: 'test data' });
    expect(await keep('c')).toBe('kept');
    expect((await lettersOf(hooks)).map(({ eventId }) => eventId)).toEqual(['b', 'c']);
  });

  test('keeps as many tombstones as letters at most: the oldest is forgotten', async () => {
    const { hooks, keep } = start({ max: 2 });
    for (const id of ['a', 'b', 'c']) {
      await keep(id);
      const [letter] = await lettersOf(hooks);
      await hooks.deadLetters.discard(letter?.id ?? '', { by: 'ada', because: 'test data' });
    }
    expect((await lettersOf(hooks, { discarded: true })).map(({ eventId }) => eventId)).toEqual(['b', 'c']);
  });

  test('forgets letters from their arrival on, and tombstones from theirs', async () => {
    let now = 0;
    const { hooks, keep } = start({ retention: '30d', now: () => now });
    await keep('a');
    now = 20 * DAY;
    await keep('a');
    await keep('b');
    now = 29 * DAY;
    const [, second] = await lettersOf(hooks);
    await hooks.deadLetters.discard(second?.id ?? '', { by: 'ada', because: 'test data' });
    now = 30 * DAY;
    expect(await lettersOf(hooks)).toEqual([]);
    now = 59 * DAY - 1;
    expect(await lettersOf(hooks, { discarded: true })).toHaveLength(1);
    now = 59 * DAY;
    expect(await lettersOf(hooks, { discarded: true })).toEqual([]);
  });

  test('says for how long it keeps letters, and that only this process sees them', () => {
    expect(memoryDeadLetters()).toMatchObject({ retentionMs: 30 * DAY, scope: 'process' });
    expect(memoryDeadLetters({ retention: 5_000 })).toMatchObject({ retentionMs: 5_000 });
  });

  test.each<[object, RegExp]>([
    [{ max: 0 }, /max is 0\. Give a whole number above 0\./],
    [{ max: 1.5 }, /max is 1\.5\./],
    [{ max: '5' }, /max is "5"\./],
    [{ retention: 'soon' }, /retention is "soon"/],
    [{ maxEntries: 5 }, /Unknown option "maxEntries"/],
  ])('refuses %j', (options, message) => {
    expect(() => memoryDeadLetters(options)).toThrow(ConfigurationError);
    expect(() => memoryDeadLetters(options)).toThrow(message);
  });

  test('rejects with a StoreError that names its limit', () => {
    const store = memoryDeadLetters({ max: 1 });
    store.keep(aLetter());
    expect(() => store.keep(aLetter())).toThrow(StoreError);
    expect(() => store.keep(aLetter())).toThrow('The dead-letter store is full (max: 1).');
  });
});
