// Reading one letter with its bytes, and listing letters by the page, within the namespace of a receiver.
import { describe, expect, test } from '@jest/globals';
import {
  ConfigurationError,
  type DeadLetterStore,
  memoryDeadLetters,
  receiver,
  StoreError,
} from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY } from '../setup/delivery.js';
import { faultyDeadLetters, lettersOf } from '../setup/faulty-dead-letters.js';
import { answers, hangs, rejects } from '../setup/faulty-store.js';

async function start(deadLetters: DeadLetterStore = memoryDeadLetters(), namespace = 'default') {
  const hooks = receiver({ privateKey: KEY, logger: false, deadLetters, namespace, storeTimeout: 50 });
  const keep = async (name = 'refund.made') => {
    const { body: rawBody, headers } = delivery(fixtures.event(name, { refund: { id: 'r-1' } }));
    await hooks.receive({ rawBody, headers: { ...headers, authorization: 'secret' } });
    return { rawBody, headers, id: (await lettersOf(hooks)).at(-1)?.id ?? '' };
  };
  return { letters: hooks.deadLetters, keep, hooks };
}

describe('read()', () => {
  test('gives the exact bytes and the headers that are no credentials', async () => {
    const { letters, keep } = await start();
    const { id, rawBody, headers } = await keep();
    const content = await letters.read(id);
    expect(content).toEqual({
      status: 'found',
      letter: expect.objectContaining({ id, reason: 'unknown' }),
      rawBody,
      headers: { 'content-type': headers['content-type'] },
      keyIndex: 0,
      signaturePrefix: headers['x-service-signature']?.slice(0, 12),
    });
  });

  test('says that a letter is gone, of another namespace, or not what was kept', async () => {
    const deadLetters = faultyDeadLetters();
    const { letters, keep } = await start(deadLetters);
    const other = await start(deadLetters, 'other');
    const { id } = await keep();
    expect(await letters.read('none')).toEqual({ status: 'gone' });
    expect(await other.letters.read(id)).toEqual({ status: 'gone' });
    deadLetters.faults.read = answers({ value: { status: 'unreadable' } });
    expect(await letters.read(id)).toEqual({ status: 'unreadable' });
    expect(await other.letters.read(id)).toEqual({ status: 'gone' });
    deadLetters.faults.read = undefined;
    await letters.discard(id, { by: 'ada', because: 'test data' });
    expect(await letters.read(id)).toEqual({ status: 'gone' });
  });

  test.each([undefined, null, '', 7])('refuses the id %j', async (id) => {
    const { letters, keep } = await start();
    await keep();
    await expect(letters.read(id as string)).rejects.toThrow(ConfigurationError);
  });

  test.each(['list', 'read'] as const)(
    'rejects with a StoreError when %s() of the store fails',
    async (name) => {
      const deadLetters = faultyDeadLetters();
      const { letters, keep } = await start(deadLetters);
      const { id } = await keep();
      for (const fault of [rejects, hangs, answers({ value: 'letter' })]) {
        deadLetters.faults[name] = fault;
        await expect(letters.read(id)).rejects.toThrow(StoreError);
      }
    },
  );
});

describe('page()', () => {
  test('gives all letters once, in the order of their arrival', async () => {
    const deadLetters = memoryDeadLetters();
    const { letters, keep, hooks } = await start(deadLetters);
    const other = await start(deadLetters, 'other');
    for (let count = 0; count < 5; count += 1) await keep();
    await other.keep();
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let after: string | undefined; ; ) {
      const page = await letters.page({ event: 'refund.*' }, { limit: 2, after });
      seen.push(...page.letters.map(({ id }) => id));
      sizes.push(page.letters.length);
      if (page.next === undefined) break;
      after = page.next;
    }
    expect(sizes).toEqual([2, 2, 1]);
    expect(seen).toEqual((await lettersOf(hooks)).map(({ id }) => id));
    expect((await letters.page()).letters).toHaveLength(5);
    expect((await letters.page({ event: 'payout.*' })).letters).toEqual([]);
  });

  test.each<[object, object, RegExp]>([
    [{ evnt: 'a' }, {}, /Unknown option "evnt"/],
    [{}, { limit: 0 }, /^limit is 0\. Give a whole number from 1/],
    [{}, { limit: 101 }, /^limit is 101\. Give at most 100/],
    [{}, { limit: '5' }, /^limit is "5"/],
    [{}, { after: '' }, /^after is ""/],
    [{}, { after: 5 }, /^after is 5/],
  ])('refuses %j with %j', async (filter, page, message) => {
    const { letters } = await start();
    await expect(letters.page(filter, page)).rejects.toThrow(message);
    await expect(letters.page(filter, page)).rejects.toThrow(ConfigurationError);
  });

  test('rejects with a StoreError when the store fails', async () => {
    const deadLetters = faultyDeadLetters();
    const { letters } = await start(deadLetters);
    for (const fault of [rejects, hangs, answers({ value: {} })]) {
      deadLetters.faults.list = fault;
      await expect(letters.page()).rejects.toThrow(StoreError);
    }
  });
});
