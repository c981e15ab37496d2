// The counterexamples of the model, replayed in the code with the same bug in it, and without.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUGS as MODEL_BUGS } from '../model/configurations.js';
import { BUGS } from './bugs.js';
import { bundleReceiver } from './load.js';
import { type Replayed, replayTrail } from './trail.js';

export const TRAILS_FILE = join(process.cwd(), 'test/lab/interleavings/trails.json');

/** As Spin printed them, by their bugs: `npm run test:model` compares. */
export const TRAILS: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readFileSync(TRAILS_FILE, 'utf8'),
);

/** Bugs of the model that cannot be made in the code, and why. */
export const WITHOUT_COUNTERPART: Readonly<Record<string, string>> = {
  'no-wait': 'that an insert waits is up to the database, and SQLite lets one transaction write at a time',
};

export interface Replay {
  /** In the code. */
  readonly bug: string;
  readonly broken: Replayed;
  readonly real: Replayed;
  /** With the bug, the code follows every line of the trail, and violates the property that the model says. */
  readonly fails: boolean;
  /** Without it, the code leaves the trail, and violates nothing. */
  readonly holds: boolean;
}

/** @param name of a bug of the model */
export async function replaysOf(name: string, lines = TRAILS[name] ?? []): Promise<readonly Replay[]> {
  const trail = { lines, defines: MODEL_BUGS[name]?.defines ?? [] };
  const replays: Replay[] = [];
  for (const bug of BUGS.filter((each) => (each.trail ?? each.name) === name)) {
    const { backend = 'memory', breaks } = bug;
    const broken = await replayTrail(await bundleReceiver(bug), backend, trail);
    const real = await replayTrail(await bundleReceiver(), backend, trail);
    const fails = broken.departures.length === 0 && breaks.test(broken.violations[0] ?? '');
    const holds = real.departures.length > 0 && real.violations.length === 0;
    replays.push({ bug: bug.name, broken, real, fails, holds });
  }
  return replays;
}
