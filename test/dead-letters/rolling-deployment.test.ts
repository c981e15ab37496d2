// Two versions of an app redrive the same letters: the old one does not know an event that the new one handles.
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import {
  type DeadLetterReason,
  type EventSchemas,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
} from 'payment-webhooks';
import { z } from 'zod';
import { retryNote } from '../../src/dead-letters/due.js';
import { Rejection } from '../../src/errors.js';
import { fixtures } from '../../src/fixtures/fixture.js';
import { afterwards } from '../setup/afterwards.js';
import { delivery } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { faultyStore } from '../setup/faulty-store.js';
import { down } from '../setup/raise.js';
import { until } from '../setup/waiting.js';

const NEW = { 'refund.succeeded': z.looseObject({}) };
/** How an old version ends the letter of an event that only the new one knows. */
const OLD: [string, 'stillUnknown' | 'stillInvalid', EventSchemas][] = [
  ['does not declare its event', 'stillUnknown', {}],
  ['has another schema of it', 'stillInvalid', { 'refund.succeeded': z.object({ old: z.string() }) }],
];

/** A letter that the new version has left, and what the versions share. */
async function leftByNew(reason: DeadLetterReason = 'failed', code?: 'RETRY_LATER') {
  const [store, deadLetters] = [faultyStore({}, { store: memoryStore() }), memoryDeadLetters()];
  const shared = { store, deadLetters };
  const fresh = startReceiver({ ...shared, events: NEW, handlers: { 'refund.*': down } });
  await fresh.post(delivery(fixtures.event('refund.succeeded', {})));
  const [failed] = await fresh.letters();
  if (failed && reason !== failed.reason) await deadLetters.update(failed.id, { ...failed, reason });
  if (failed && code) {
    const issues = retryNote(new Rejection(code, { retryAfterMs: 0 }));
    await deadLetters.update(failed.id, { ...failed, code, issues });
  }
  const letters = await fresh.letters();
  store.calls.length = 0;
  const start = <const Events extends EventSchemas>(options: ReceiverOptions<Events>) => {
    const redrive = { delays: [1], every: '20ms' };
    const version = startReceiver<Events>({ ...shared, redrive, ...options });
    afterwards(() => version.hooks.close());
    return version;
  };
  return { letters, store, start };
}

describe.each(OLD)('a letter that waits for a retry, when the old version %s', (_, end, events) => {
  test.each(['failed', 'unfinished'] as const)(
    'and is %s, is left as it is by its redrive, and processed by the new version',
    async (reason) => {
      const { letters, store, start } = await leftByNew(reason);
      expect(letters).toMatchObject([{ reason, attempts: 1 }]);
      const old = start({ events, handlers: {} });
      old.hooks.start();
      await until(() => old.log.lines.some(({ msg }) => msg === 'replay'));
      await old.hooks.close();
      expect(store.calls).not.toContain('claim');
      expect(await lettersOf(old.hooks)).toEqual(letters);
      const replayed = old.log.lines.find(({ msg }) => msg === 'replay');
      expect(replayed).toMatchObject({ level: 30, outcome: 'ignored', deadLetter: reason });
      const { hooks } = start({ events: NEW, handlers: { 'refund.*': () => {} } });
      hooks.start();
      await until(async () => (await lettersOf(hooks)).length === 0);
    },
  );

  test.each([undefined, 'RETRY_LATER'] as const)(
    'and has the code %s, is looked at once there, and no observer is told that its tries are over',
    async (code) => {
      const { letters, start } = await leftByNew('failed', code);
      const exhausted: unknown[] = [];
      const observer = { exhausted: (letter: unknown) => void exhausted.push(letter) };
      // A time that was asked for after the last delay is not kept.
      const redrive = { delays: [code ? '1h' : 1], every: '20ms' };
      const old = start({ events, handlers: {}, observer, redrive });
      old.hooks.start();
      const looks = () => old.log.lines.filter(({ msg }) => msg === 'replay').length;
      await until(() => looks() > 0);
      // The next look comes after a second.
      await pause(1_300);
      expect([looks(), exhausted, old.log.lines.filter(({ level }) => level === 50)]).toEqual([1, [], []]);
      expect(await lettersOf(old.hooks)).toEqual(letters);
    },
  );

  test('is changed by a person who replays it there', async () => {
    const { start } = await leftByNew();
    const { hooks } = start({ events, handlers: {}, redrive: false });
    expect(await hooks.deadLetters?.replay()).toMatchObject({ [end]: 1 });
    const reason = end === 'stillUnknown' ? 'unknown' : 'invalid';
    expect(await lettersOf(hooks)).toMatchObject([{ reason, attempts: 2 }]);
  });

  test('runs there if the old version handles such events', async () => {
    const { start } = await leftByNew();
    const { hooks } = start({ events, handlers: {} });
    const runs: string[] = [];
    const handler = () => void runs.push('old');
    if (end === 'stillUnknown') hooks.onUnknown(handler);
    else hooks.onInvalid(handler);
    hooks.start();
    await until(async () => (await lettersOf(hooks)).length === 0);
    expect(runs).toEqual(['old']);
  });
});
