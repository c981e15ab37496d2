// Searches random orders of events for one in which a property of the receiver does not hold.
import fc from 'fast-check';
import { type BackendName, openBackend } from './backends.js';
import type { Bug } from './bugs.js';
import { loadReceiver } from './load.js';
import { plans, World } from './world.js';

export interface SearchOptions {
  /** @default 'memory' */
  readonly backend?: BackendName | undefined;
  readonly seed: number;
  readonly runs: number;
  readonly ms?: number | undefined;
  readonly bug?: Bug | undefined;
  /** Of one run, as it was printed when it failed. */
  readonly path?: string | undefined;
  readonly onRun?: (runs: number) => void;
}

export interface Found {
  readonly runs: number;
  /** What does not hold; none when every property held in every run. */
  readonly violations: readonly string[];
  /** For {@link SearchOptions.path}. */
  readonly path: string | undefined;
  /** What happened in the last run, step by step. */
  readonly order: readonly string[];
}

export async function search({
  backend = 'memory',
  seed,
  runs,
  ms,
  bug,
  path,
  onRun,
}: SearchOptions): Promise<Found> {
  const loaded = await loadReceiver(bug);
  let done = 0;
  let violations: readonly string[] = [];
  let order: readonly string[] = [];
  const property = fc.asyncProperty(fc.scheduler(), plans, async (scheduler, plan) => {
    loaded.clock.reset();
    const opened = await openBackend(backend, loaded);
    const world = new World(scheduler, plan, loaded, opened);
    try {
      await world.run();
    } finally {
      opened.ledger?.close();
    }
    order = world.order;
    done += 1;
    onRun?.(done);
    if (world.violations.length > 0) {
      violations = world.violations;
      throw new Error(world.violations.join('; '));
    }
  });
  const details = await fc.check(property, {
    seed,
    ...(path !== undefined && { path }),
    numRuns: runs,
    endOnFailure: true,
    ...(ms !== undefined && { interruptAfterTimeLimit: ms, markInterruptAsFailure: false }),
  });
  if (details.failed && violations.length === 0)
    violations = [String(details.errorInstance instanceof Error ? details.errorInstance.stack : 'failed')];
  return {
    runs: done,
    violations: details.failed ? violations : [],
    path: details.counterexamplePath ?? undefined,
    order,
  };
}
