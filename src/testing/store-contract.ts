// The contract suite for stores: one case for each promise, for any test runner.
import type { IdempotencyStore } from '../contracts/idempotency-store.js';
import { type ContractCase, contractCases } from './contract-cases.js';
import { CLAIM_CASES, OWNER_CASES, RACE_CASES } from './store-contract/claim-cases.js';
import {
  ALIVE_MS,
  assert,
  assertSame,
  type ContractCases,
  ContractContext,
} from './store-contract/context.js';
import { ONCE_CASES, type OnceContract } from './store-contract/once-cases.js';
import { OPTIONAL_CASES } from './store-contract/optional-cases.js';
import { MODEL_CASES } from './store-contract/reference-model.js';

export type { OnceContract } from './store-contract/once-cases.js';

export interface StoreContractOptions<Transaction = never> {
  /**
   * Makes the store for one case; called once for each case. Keys differ between cases and runs, so the stores may share
   * a server.
   *
   * @param options.retention milliseconds for which the store must remember; undefined: its default, at least an hour
   */
  readonly create: (options: {
    readonly retention: number | undefined;
  }) => IdempotencyStore<object> | Promise<IdempotencyStore<object>>;
  /** Waits, by the clock of the store. @default a timer */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
  /** How a handler writes, for a store whose handlers get `once`. Without it, `once` is not tested. */
  readonly once?: OnceContract<Transaction> | undefined;
}

export interface StoreContractCase extends ContractCase {}

// What a store may forget, and when, whether or not it is pruned.
const SHORT_MS = 100;
const PAST_SHORT_MS = 200;
const LONG_MS = 2_800;
// Allows a machine to stall for a second. Twice this is more than the retention.
const MAX_OF_LONG_MS = 1_450;

const SHORT_RETENTION_CASES: ContractCases = {
  'a completed key is new after its retention': async (context) => {
    const key = context.key();
    await (await context.granted(key, { leaseMs: SHORT_MS })).complete();
    await context.sleep(PAST_SHORT_MS);
    const known = await context.store.completedWith?.(key);
    assertSame(known, undefined, 'completedWith() returns undefined after the retention');
    const { attempt, finished } = await context.granted(key);
    assertSame([attempt, finished], [1, []], 'a key is new after its retention');
  },

  'a released or abandoned key is forgotten after its retention': async (context) => {
    const [released, abandoned] = [context.key(), context.key()];
    await context.granted(abandoned, { leaseMs: SHORT_MS });
    await (await context.granted(released, { leaseMs: SHORT_MS })).release(['mail']);
    await context.sleep(PAST_SHORT_MS);
    for (const key of [released, abandoned]) {
      const { attempt, finished } = await context.granted(key);
      assertSame([attempt, finished], [1, []], 'a key is new after its retention, whatever its state');
    }
  },

  'a key with a running lease is not forgotten, even after its retention': async (context) => {
    const [claimed, renewed] = [context.key(), context.key()];
    await context.granted(claimed);
    await (await context.granted(renewed, { leaseMs: SHORT_MS })).renew(ALIVE_MS);
    await context.sleep(PAST_SHORT_MS);
    for (const key of [claimed, renewed]) {
      const { status } = await context.claim(key);
      assertSame(status, 'in_progress', 'the retention of a key never ends before its lease');
    }
  },
};

const LONG_RETENTION_CASES: ContractCases = {
  'the retention starts with the last write': async (context) => {
    const [done, released, renewed, claimed] = [context.key(), context.key(), context.key(), context.key()];
    const leaseMs = 1;
    const first = await context.granted(done, { leaseMs });
    const second = await context.granted(released, { leaseMs });
    const third = await context.granted(renewed, { leaseMs });
    await context.granted(claimed, { leaseMs });
    await context.sleep(MAX_OF_LONG_MS);
    const wrote = [await first.complete(), await second.release(['mail']), await third.renew(leaseMs)];
    assert(wrote.every(Boolean), 'an owner may write within the retention', wrote);
    await context.granted(claimed, { leaseMs });
    await context.sleep(MAX_OF_LONG_MS);
    assertSame((await context.claim(done)).status, 'completed', 'complete() restarts the retention');
    assertSame((await context.granted(released)).finished, ['mail'], 'release() restarts the retention');
    assertSame((await context.granted(renewed)).attempt, 2, 'renew() restarts the retention');
    assertSame((await context.granted(claimed)).attempt, 3, 'claim() restarts the retention');
  },
};

const SUITES = [
  { cases: { ...CLAIM_CASES, ...OWNER_CASES, ...RACE_CASES, ...OPTIONAL_CASES }, retention: undefined },
  { cases: SHORT_RETENTION_CASES, retention: SHORT_MS, slackMs: SHORT_MS },
  { cases: LONG_RETENTION_CASES, retention: LONG_MS, slackMs: LONG_MS - MAX_OF_LONG_MS },
  { cases: MODEL_CASES, retention: undefined },
];

/**
 * Everything that the receiver relies on, with one case for each promise. A case takes at most three seconds.
 *
 * @example
 * const cases = storeContract({ create: ({ retention }) => myStore({ retention }) });
 * test.each(cases)('$name', ({ run }) => run());                 // Jest, Vitest
 * for (const { name, run } of cases) test(name, run);            // node:test
 */
export function storeContract<Transaction = never>({
  create,
  sleep,
  once,
}: StoreContractOptions<Transaction>): StoreContractCase[] {
  const suites = once
    ? [...SUITES, { cases: onceCases(once as OnceContract<unknown>), retention: undefined }]
    : SUITES;
  return contractCases(suites, create, (store, counted) => new ContractContext(store, counted), sleep);
}

function onceCases(database: OnceContract<unknown>): ContractCases {
  const given = Object.entries(ONCE_CASES);
  return Object.fromEntries(given.map(([name, run]) => [name, (context) => run(context, database)]));
}
