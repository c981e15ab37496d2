// The conformance suite of a store, for whoever writes one: cases for any test runner.
import { setTimeout as pause } from 'node:timers/promises';
import { OWNER_PROMISES } from './store-owners.js';
import { RACE_PROMISES } from './store-races.js';
import { RETENTION_PROMISES } from './store-retention.js';
import { type StoreContractOptions, Trial } from './store-trial.js';
import { VERB_PROMISES } from './store-verbs.js';
import { WALK_PROMISES } from './store-walk.js';

export type { StoreContractOptions } from './store-trial.js';

export interface StoreContractCase {
  /** What the store promises, as a sentence. */
  readonly name: string;
  /** Rejects with a sentence that says which promise was broken, and what the store did instead. */
  readonly run: () => Promise<void>;
}

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
  const promises = [
    ...VERB_PROMISES,
    ...OWNER_PROMISES,
    ...RACE_PROMISES,
    ...RETENTION_PROMISES,
    ...WALK_PROMISES,
  ];
  return promises.map(({ name, retention, check }) => ({
    name,
    run: async () => {
      const store = await create({ retention });
      try {
        await check(new Trial(store, sleep));
      } finally {
        await store.close?.();
      }
    },
  }));
}
