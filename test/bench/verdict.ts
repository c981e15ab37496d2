// Holds what was measured against the targets.
import { type Estimate, estimate } from './bootstrap.js';
import { paired } from './pairing.js';
import type { Measured } from './session.js';
import type { Target } from './targets.js';

/** `within the interval`: the bound lies between its ends, so that nobody can say. */
export type Verdict = 'met' | 'missed' | 'within the interval';

export interface Judged {
  readonly target: Target;
  /** `undefined` when a contestant was dropped. */
  readonly estimate: Estimate | undefined;
  readonly gate: Verdict | undefined;
  readonly aim: Verdict | undefined;
}

/** Every target whose two contestants took part. */
export function judge(all: readonly Measured[], targets: readonly Target[]): Judged[] {
  return targets.flatMap((target) => {
    const series = all.find(({ experiment }) => experiment.name === target.profile);
    if (!series || !target.contestants.every((name) => series.experiment.contestants.includes(name)))
      return [];
    const measured = measuredOf(series, target);
    const verdictOn = (bound: number | undefined) =>
      measured && bound !== undefined ? compare(measured, bound, target.atLeast) : undefined;
    return { target, estimate: measured, gate: verdictOn(target.gate), aim: verdictOn(target.aim) };
  });
}

/** A gate is missed when the whole interval is beyond it, or when a contestant of it was dropped. */
export function isMissed({ target, estimate, gate }: Judged): boolean {
  return target.gate !== undefined && (estimate === undefined || gate === 'missed');
}

export function compare({ low, high }: Estimate, bound: number, atLeast = false): Verdict {
  if (atLeast) return low >= bound ? 'met' : high < bound ? 'missed' : 'within the interval';
  return high <= bound ? 'met' : low > bound ? 'missed' : 'within the interval';
}

function measuredOf({ epochs, dropped }: Measured, { contestants, compare }: Target): Estimate | undefined {
  if (contestants.some((name) => name in dropped)) return undefined;
  const measured = estimate(paired(epochs, contestants, compare));
  return measured && asShown(measured);
}

/** As the table shows it, so that nobody reads 0.95 beside a missed 0.95. */
function asShown({ median, low, high }: Estimate): Estimate {
  const round = (value: number) => Math.round(value * 100) / 100;
  return { median: round(median), low: round(low), high: round(high) };
}
