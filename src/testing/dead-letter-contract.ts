// The contract suite for dead-letter stores: one case for each promise, for any test runner.
import type { DeadLetterStore } from '../claims/dead-letter-store.js';
import { type ContractCase, contractCases } from './contract-cases.js';
import { DeadLetterContext } from './dead-letter-contract/context.js';
import { EXPIRY_CASES, MAX_MS, SHORT_MS } from './dead-letter-contract/expiry-cases.js';
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
