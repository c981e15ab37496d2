// The contract suite for stores: one case for each promise, for any test runner.
import { setTimeout as pause } from 'node:timers/promises';
import type { IdempotencyStore } from '../stores/store.js';
import { CLAIM_CASES, OWNER_CASES } from './store-contract/claim-cases.js';
import { ContractContext } from './store-contract/context.js';
import { RACE_CASES } from './store-contract/race-cases.js';
import { MODEL_CASES } from './store-contract/reference-model.js';
import {
  LONG_MS,
  LONG_RETENTION_CASES,
  SHORT_MS,
  SHORT_RETENTION_CASES,
} from './store-contract/retention-cases.js';

export interface StoreContractOptions {
  /**
   * Makes the store that one case tests; called once for each case. Keys differ from case to case and from run to run,
   * so the stores may share a server.
   *
   * @param options.retention milliseconds for which the store must remember; undefined: its default, at least an hour
   */
  readonly create: (options: {
    readonly retention: number | undefined;
  }) => IdempotencyStore<object> | Promise<IdempotencyStore<object>>;
  /** Lets milliseconds pass by the clock of the store. @default a timer */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
}

export interface StoreContractCase {
  /** What the store promises, as a sentence. */
  readonly name: string;
  /** Rejects with an error that says which promise the store breaks, and what it did instead. */
  readonly run: () => Promise<void>;
}

const SUITES = [
  { cases: { ...CLAIM_CASES, ...OWNER_CASES, ...RACE_CASES }, retention: undefined },
  { cases: SHORT_RETENTION_CASES, retention: SHORT_MS },
  { cases: LONG_RETENTION_CASES, retention: LONG_MS },
  { cases: MODEL_CASES, retention: undefined },
];

/**
 * Everything that the receiver relies on, one case for each promise. A case takes at most three seconds.
 *
 * @example
 * const cases = storeContract({ create: ({ retention }) => myStore({ retention }) });
 * test.each(cases)('$name', ({ run }) => run());                 // Jest, Vitest
 * for (const { name, run } of cases) test(name, run);            // node:test
 */
export function storeContract({
  create,
  sleep = (ms) => pause(ms),
}: StoreContractOptions): StoreContractCase[] {
  return SUITES.flatMap(({ cases, retention }) =>
    Object.entries(cases).map(([name, check]) => ({
      name,
      run: async () => {
        const store = await create({ retention });
        try {
          await check(new ContractContext(store, sleep));
        } finally {
          await store.close?.();
        }
      },
    })),
  );
}
