// Holds a store against its contract: the suite that users get, and walks that fast-check chooses and shrinks.
import { setTimeout as pause } from 'node:timers/promises';
import { test } from '@jest/globals';
import fc from 'fast-check';
import { ALIVE_MS, BRIEF_MS, ContractContext } from '../../src/testing/store-contract/context.js';
import { compareWithModel, type Step } from '../../src/testing/store-contract/reference-model.js';
import { type StoreContractOptions, storeContract } from '../../src/testing/store-contract.js';
import { testAtOnce } from '../setup/at-once.js';

export function keepsTheContract<Transaction = never>(options: StoreContractOptions<Transaction>): void {
  // Each has keys of its own. Those that wait for seconds do so at the same time, unless a clock of the test says when.
  const waits = ({ name }: { readonly name: string }) =>
    !options.sleep && / retention | by chance /.test(name);
  testAtOnce(storeContract(options), waits);
}

const claim = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(30) });
const finished = fc.subarray(['mail', 'audit', 'ledger']);

/** Steps with leases of any of these lengths. */
export function stepsWith(leaseMs: fc.Arbitrary<number>): fc.Arbitrary<Step> {
  const verb = <Verb extends string>(name: Verb) => fc.constant(name);
  return fc.oneof(
    { weight: 4, arbitrary: fc.record({ verb: verb('claim'), key: fc.nat(2), bytes: fc.nat(1), leaseMs }) },
    { weight: 2, arbitrary: fc.record({ verb: verb('renew'), claim, leaseMs }) },
    { weight: 1, arbitrary: fc.record({ verb: verb('complete'), claim }) },
    { weight: 2, arbitrary: fc.record({ verb: verb('release'), claim, finished }) },
  );
}

/** For a store with a clock that runs by itself: a brief lease is waited for at once, a long one never ends. */
export function walksAsPromised(options: StoreContractOptions): void {
  const leaseMs = fc.constantFrom(ALIVE_MS, ALIVE_MS, ALIVE_MS, BRIEF_MS);
  const steps = fc.array(stepsWith(leaseMs), { maxLength: 40 });
  const wait: Step = { verb: 'wait', ms: 2 * BRIEF_MS };
  test('on any walk it answers as the model does', async () => {
    const store = await options.create({ retention: undefined });
    const run = async (walked: Step[]) => {
      const waited = walked.flatMap((step) =>
        'leaseMs' in step && step.leaseMs === BRIEF_MS ? [step, wait] : [step],
      );
      await compareWithModel(new ContractContext(store, (ms) => pause(ms)), waited);
    };
    await fc.assert(fc.asyncProperty(steps, run), { numRuns: 25, interruptAfterTimeLimit: 20_000 });
  }, 30_000);
}
