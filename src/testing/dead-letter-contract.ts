// The contract suite for dead-letter stores: one case for each promise, for any test runner.
import type { DeadLetterStore } from '../contracts/dead-letter-store.js';
import { type ContractCase, contractCases } from './contract-cases.js';
import { assertSame, type DeadLetterCases, DeadLetterContext } from './dead-letter-contract/context.js';
import { KEEPING_CASES } from './dead-letter-contract/keeping-cases.js';
import { LISTING_CASES } from './dead-letter-contract/listing-cases.js';
import { REMOVING_CASES } from './dead-letter-contract/removing-cases.js';

export interface DeadLetterContractOptions {
  /**
   * Makes the store for one case; called once for each case. Each case has its own namespace, so the stores may share a
   * server.
   *
   * @param options.retention milliseconds for which the store must keep letters; undefined: its default, at least an hour
   */
  readonly create: (options: {
    readonly retention: number | undefined;
  }) => DeadLetterStore | Promise<DeadLetterStore>;
  /** Waits, by the clock of the store. @default a timer */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
}

export interface DeadLetterContractCase extends ContractCase {}

const SHORT_MS = 1_000;
const MAX_MS = 700;
const REST_MS = 400;

const EXPIRY_CASES: DeadLetterCases = {
  'an expired letter is not found by any call': async (context) => {
    const { id, key, fingerprint } = await context.kept();
    await context.sleep(MAX_MS + REST_MS);
    await context.listed([], 'an expired letter is not listed');
    await context.gone(id, 'an expired letter is gone');
    const change = { reason: 'failed', code: undefined, issues: [] } as const;
    const answers = [
      await context.store.update(id, change),
      await context.store.discard(id, { by: 'ada', because: 'late' }),
      await context.store.remove({ key, fingerprint }),
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

const SUITES = [
  { cases: { ...KEEPING_CASES, ...LISTING_CASES, ...REMOVING_CASES }, retention: undefined },
  { cases: EXPIRY_CASES, retention: SHORT_MS, slackMs: SHORT_MS - MAX_MS },
];

/**
 * Everything that the receiver relies on in a dead-letter store, with one case for each promise.
 *
 * @example
 * const cases = deadLetterContract({ create: ({ retention }) => myDeadLetters({ retention }) });
 * test.each(cases)('$name', ({ run }) => run());                 // Jest, Vitest
 * for (const { name, run } of cases) test(name, run);            // node:test
 */
export function deadLetterContract({ create, sleep }: DeadLetterContractOptions): DeadLetterContractCase[] {
  return contractCases(SUITES, create, (store, counted) => new DeadLetterContext(store, counted), sleep);
}
