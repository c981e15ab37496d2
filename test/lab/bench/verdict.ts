// Compares the results with the targets: a table, and a line for each missed gate.
import { table } from '../../setup/figures.js';
import { paired } from './epoch.js';
import type { Measured } from './session.js';
import { type Estimate, estimate } from './statistics.js';
import type { Target } from './targets.js';

/** `within the interval`: the bound lies inside it, so nobody can say. */
type Verdict = 'met' | 'missed' | 'within the interval';

export interface Judged {
  readonly target: Target;
  /** `undefined` when a contestant was dropped. */
  readonly estimate: Estimate | undefined;
}

/** Every target whose two contestants took part. */
export function judge(all: readonly Measured[], targets: readonly Target[]): Judged[] {
  return targets.flatMap((target) => {
    const { profile, contestants, compare } = target;
    const series = all.find(({ experiment }) => experiment.name === profile);
    if (!series || !contestants.every((name) => series.experiment.contestants.includes(name))) return [];
    const isDropped = contestants.some((name) => name in series.dropped);
    const measured = isDropped ? undefined : estimate(paired(series.epochs, contestants, compare));
    return { target, estimate: measured && asShown(measured) };
  });
}

/** As the table shows it, so that 0.95 is never shown as missing 0.95. */
function asShown({ median, low, high }: Estimate): Estimate {
  const round = (value: number) => Math.round(value * 100) / 100;
  return { median: round(median), low: round(low), high: round(high) };
}

export function verdictOn({ low, high }: Estimate, bound: number, atLeast = false): Verdict {
  if (atLeast) return low >= bound ? 'met' : high < bound ? 'missed' : 'within the interval';
  return high <= bound ? 'met' : low > bound ? 'missed' : 'within the interval';
}

/** Empty when there is nothing to judge. */
export function verdictTable(judged: readonly Judged[]): string {
  if (judged.length === 0) return '';
  const rows = judged.map(({ target, estimate }) => {
    const cell = (bound: number | undefined) => {
      if (bound === undefined) return '';
      const verdict = estimate ? verdictOn(estimate, bound, target.atLeast) : '';
      return `${sign(target)} ${bound.toFixed(2)} ${verdict}`.trimEnd();
    };
    const median = estimate?.median.toFixed(2) ?? 'not measured';
    return [target.what, median, intervalOf(estimate), cell(target.gate), cell(target.aim)];
  });
  return table(['ratio', 'median', '95 % interval', 'gate', 'aim'], rows);
}

/** A gate is missed when the whole interval is beyond it, or when a contestant of it was dropped. */
export function missedGates(judged: readonly Judged[]): string[] {
  return judged.flatMap(({ target, estimate }) => {
    const { what, gate, atLeast } = target;
    if (gate === undefined || (estimate && verdictOn(estimate, gate, atLeast) !== 'missed')) return [];
    const measured = estimate ? `${intervalOf(estimate)} is beyond` : 'was not measured, and has to be';
    return `Gate missed: ${what}: ${measured} ${sign(target)} ${gate.toFixed(2)}`;
  });
}

export function intervalOf(estimate: Estimate | undefined, digits = 2): string {
  return estimate ? `${estimate.low.toFixed(digits)} – ${estimate.high.toFixed(digits)}` : '';
}

function sign({ atLeast }: Target): string {
  return atLeast ? '≥' : '≤';
}
