// The dead-letter contract, part four: what the retention ends, whether or not anything deletes it.
import { assertSame, type DeadLetterCases } from './context.js';

export const SHORT_MS = 1_000;
export const MAX_MS = 700;
const REST_MS = 400;

export const EXPIRY_CASES: DeadLetterCases = {
  'a letter whose retention is over is found by no call': async (context) => {
    const { id, key, fingerprint } = await context.kept();
    await context.sleep(MAX_MS + REST_MS);
    await context.listed([], 'a letter whose retention is over is not listed');
    await context.gone(id, 'a letter whose retention is over is gone');
    const change = { reason: 'failed', code: undefined, issues: [] } as const;
    const answers = [
      await context.store.update(id, change),
      await context.store.discard(id, { by: 'ada', because: 'late' }),
      await context.store.remove({ key, fingerprint }, {}),
    ];
    assertSame(answers, [false, false, 0], 'a letter whose retention is over is found by no call');
  },

  'the retention counts from the first time that a letter was kept': async (context) => {
    const first = await context.kept({ eventId: 'e-1', attempts: 5 });
    await context.sleep(MAX_MS);
    await context.kept({ eventId: 'e-1' });
    const young = await context.kept({ eventId: 'e-2' });
    await context.store.update(first.id, { reason: 'invalid', code: undefined, issues: [] });
    await context.sleep(REST_MS);
    await context.listed([young], 'the retention counts from keptAt, whatever came after it');
    const again = await context.kept({ eventId: 'e-1' });
    await context.listed([young, again], 'an event whose letter is over can be kept again');
    const [, letter] = await context.list();
    assertSame(letter?.attempts, 1, 'a letter whose retention is over is forgotten');
  },

  'the retention of a tombstone counts from the time that it was discarded': async (context) => {
    const letter = await context.kept();
    await context.sleep(MAX_MS);
    await context.store.discard(letter.id, { by: 'ada', because: 'test data' });
    await context.sleep(REST_MS);
    await context.listed([letter], 'a tombstone is kept for the retention too', { discarded: true });
    await context.sleep(MAX_MS);
    await context.listed([], 'a tombstone whose retention is over is gone', { discarded: true });
  },
};
