import { describe, expect, test } from '@jest/globals';
import {
  ConfigurationError,
  type DeadLetterFilter,
  memoryDeadLetters,
  receiver,
  StoreError,
} from 'payment-webhooks';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { KEY, receivable } from '../../setup/delivery.js';
import { lettersOf } from '../../setup/faulty-dead-letters.js';
import { aLetter } from '../../setup/letters.js';

const DAY = 86_400_000;

function start(options: Parameters<typeof memoryDeadLetters>[0]) {
  const hooks = receiver({ privateKey: KEY, logger: false, deadLetters: memoryDeadLetters(options) });
  const keep = async (id: string) => {
    const { body } = await hooks.receive(receivable({ ...fixtures.event('refund.made', {}), id }));
    const { outcome, code } = JSON.parse(body);
    return outcome ?? code;
  };
  const discardFirst = async () => {
    const [letter] = await lettersOf(hooks);
    await hooks.deadLetters.discard(letter?.id ?? '', { by: 'ada', because: 'test data' });
  };
  const ids = async (filter?: DeadLetterFilter) =>
    (await lettersOf(hooks, filter)).map(({ eventId }) => eventId);
  return { keep, discardFirst, ids };
}

describe('the memory store of dead letters', () => {
  test('that is full makes room for no other letter: the service keeps its event', async () => {
    const { keep, discardFirst, ids } = start({ max: 2 });
    const answers = [await keep('a'), await keep('b'), await keep('c'), await keep('a')];
    expect(answers).toEqual(['kept', 'kept', 'STORE_UNAVAILABLE', 'kept']);
    await discardFirst();
    expect(await keep('c')).toBe('kept');
    expect(await ids()).toEqual(['b', 'c']);
  });

  test('keeps as many tombstones as letters at most: the oldest is forgotten', async () => {
    const { keep, discardFirst, ids } = start({ max: 2 });
    for (const id of ['a', 'b', 'c']) {
      await keep(id);
      await discardFirst();
    }
    expect(await ids({ discarded: true })).toEqual(['b', 'c']);
  });

  test('forgets letters from their arrival on, and tombstones from theirs, to the millisecond', async () => {
    let now = 0;
    const { keep, discardFirst, ids } = start({ retention: '30d', now: () => now });
    await keep('a');
    now = 30 * DAY - 1;
    expect(await ids()).toEqual(['a']);
    now += 1;
    expect(await ids()).toEqual([]);
    await keep('b');
    await discardFirst();
    now = 60 * DAY - 1;
    expect(await ids({ discarded: true })).toEqual(['b']);
    now += 1;
    expect(await ids({ discarded: true })).toEqual([]);
  });

  test('says for how long it keeps letters, and that only this process sees them', () => {
    expect(memoryDeadLetters()).toMatchObject({ retentionMs: 30 * DAY, scope: 'process' });
    expect(memoryDeadLetters({ retention: 5_000 })).toMatchObject({ retentionMs: 5_000 });
  });

  test.each<[object, RegExp]>([
    [{ max: 0 }, /max is 0\. Pass an integer from 1\./],
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
