// A process that tries to take each of the given locks, at the given times.
import { setTimeout as pause } from 'node:timers/promises';
import { lockState } from '../../../src/tools/simulator/state/state-lock.js';

interface Contest {
  readonly states: readonly string[];
  /** When the first round begins, in milliseconds since 1970. */
  readonly begin: number;
  readonly everyMs: number;
}

process.on('message', async ({ states, begin, everyMs }: Contest) => {
  const outcomes: string[] = [];
  for (const [round, state] of states.entries()) {
    const at = begin + round * everyMs;
    await pause(Math.max(0, at - Date.now() - 2));
    while (Date.now() < at);
    outcomes.push(await lockState(state).then(() => 'taken', String));
  }
  // Alive until it is killed, so that its locks count.
  process.send?.(outcomes);
});
process.send?.('ready');
