// A process of its own that tries to take each of the locks it is told, at the instant it is told.
import { setTimeout as pause } from 'node:timers/promises';
import { StateLock } from '../../../src/tools/simulator/state/state-lock.js';

interface Contest {
  readonly states: readonly string[];
  /** When the first round begins, in milliseconds since 1970. */
  readonly begin: number;
  readonly everyMs: number;
}

process.on('message', async ({ states, begin, everyMs }: Contest) => {
  const won: boolean[] = [];
  for (const [round, state] of states.entries()) {
    const at = begin + round * everyMs;
    await pause(Math.max(0, at - Date.now() - 2));
    while (Date.now() < at);
    won.push(
      await StateLock.take(state).then(
        () => true,
        () => false,
      ),
    );
  }
  // Alive until it is killed, so that its locks count.
  process.send?.(won);
});
process.send?.('ready');
