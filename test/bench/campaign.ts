// Adds epochs to every series until all have enough, or until the time of this run is up.
import { disturbedContestant, type Epoch } from './epoch.js';
import type { Series } from './series.js';

export interface Goal {
  /** Of each series. */
  readonly epochs: number;
  /** For this run, which begins at least one epoch. */
  readonly minutes: number;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
}

/** @returns whether every series has its epochs */
export async function complete(
  all: readonly Series[],
  { epochs, minutes, now = () => performance.now() }: Goal,
  say: (text: string, passing?: boolean) => void,
): Promise<boolean> {
  const until = now() + minutes * 60_000;
  for (let isFirst = true; ; isFirst = false) {
    const unfinished = all.filter((series) => series.epochs.length < epochs);
    if (unfinished.length === 0) return true;
    const beganAt = now();
    const fitting = unfinished.filter(({ longest }) => beganAt + longest * 1_000 <= until);
    const series = leastMeasured(isFirst ? unfinished : fitting);
    if (!series) return false;
    const where = `${series.experiment.name}, epoch ${series.epochs.length + 1} of ${epochs}`;
    say(`${where}; ${timeLeft(all, epochs)} to go`);
    const measured = await series.experiment.measure({
      until,
      say: (text) => say(`${where}: ${text}`, true),
    });
    if (!measured) {
      say(`${where}: left out, as the time is up.`);
      return false;
    }
    const epoch = { seconds: Math.round(now() - beganAt) / 1_000, ...measured };
    keep(series, epoch, (text) => say(`${where}: ${text}`));
  }
}

/** Unless it says nothing about one of the contestants. */
function keep(series: Series, epoch: Epoch, say: (text: string) => void): void {
  for (const [name, why] of Object.entries(epoch.dropped)) say(`${name} is dropped, since ${why}.`);
  const disturbed = disturbedContestant(epoch);
  if (disturbed === undefined) series.add(epoch);
  else {
    series.discard(epoch);
    say(`discarded, as ${disturbed} never had its CPU to itself. Is something else running?`);
  }
}

/** So that each series is spread over the whole run. */
function leastMeasured(all: readonly Series[]): Series | undefined {
  const fewest = Math.min(...all.map(({ attempts }) => attempts));
  return all.find(({ attempts }) => attempts === fewest);
}

/** Such as "about 12 min". */
export function timeLeft(all: readonly Series[], epochs: number): string {
  const seconds = all.reduce((sum, series) => sum + series.remaining(epochs), 0);
  return `about ${Math.max(1, Math.round(seconds / 60))} min`;
}
