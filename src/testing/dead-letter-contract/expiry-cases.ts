// The dead-letter contract, part four: what expires after the retention.
import { assertSame, type DeadLetterCases } from './context.js';

export const SHORT_MS = 1_000;
export const MAX_MS = 700;
const REST_MS = 400;

export const EXPIRY_CASES: DeadLetterCases = {
  'an expired letter is not found by any call': async (context) => {
    const { id, key, fingerprint } = await context.kept();
    await context.sleep(MAX_MS + REST_MS);
    await context.listed([], 'an expired letter is not listed');
    await context.gone(id, 'an expired letter is gone');
    const change = { reason: 'failed', code: undefined, issues: [] } as const;
    const answers = [
      await context.store.update(id, change),
      await context.store.discard(id, { by: 'ada', because: 'late' }),
      await context.store.remove({ key, fingerprint }, {}),
    ];
    assertSame(answers, [false, false, 0], 'an expired letter is not found by any call');
  },

  'the retention starts when a letter is first kept': async (context) => {
    const first = await context.kept({ eventId: 'e-1', attempts: 5 });
    await context.sleep(MAX_MS);
    await context.kept({ eventId: 'e-1' });
    const young = await context.kept({ eventId: 'e-2' });
    await context.store.update(first.id, { reason: 'invalid', code: undefined, issues: [] });
    await context.sleep(REST_MS);
    await context.listed([young], 'the retention starts at keptAt, whatever happens later');
    const again = await context.kept({ eventId: 'e-1' });
    await context.listed([young, again], 'an event can be kept again after its letter has expired');
    const [, letter] = await context.list();
    assertSame(letter?.attempts, 1, 'an expired letter is forgotten');
  },

  'the retention of a tombstone starts when its letter is discarded': async (context) => {
    const letter = await context.kept();
    await context.sleep(MAX_MS);
    await context.store.discard(letter.id, { by: 'ada', because: 'test data' });
    await context.sleep(REST_MS);
    await context.listed([letter], 'a tombstone is kept for the retention', { discarded: true });
    await context.sleep(MAX_MS);
    await context.listed([], 'an expired tombstone is gone', { discarded: true });
  },
};
