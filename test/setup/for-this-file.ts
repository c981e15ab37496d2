// Something for one file of tests: there from before the first test to after the last.
import { afterAll, beforeAll } from '@jest/globals';

/** To be called in tests and later hooks. */
export function forThisFile<Thing>(
  start: () => Promise<Thing>,
  stop: (thing: Thing) => unknown,
): () => Thing {
  let started: { readonly thing: Thing } | undefined;
  beforeAll(async () => {
    started = { thing: await start() };
  }, 90_000);
  afterAll(async () => {
    if (started) await stop(started.thing);
  }, 60_000);
  return () => {
    if (!started) throw new Error('It has not been started yet.');
    return started.thing;
  };
}
