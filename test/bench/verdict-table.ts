// The targets as a table, and those that were missed as lines.
import { table } from '../setup/figures.js';
import type { Estimate } from './bootstrap.js';
import type { Target } from './targets.js';
import { isMissed, type Judged, type Verdict } from './verdict.js';

/** Empty when there is nothing to judge. */
export function verdictTable(judged: readonly Judged[]): string {
  if (judged.length === 0) return '';
  const rows = judged.map(({ target, estimate, gate, aim }) => [
    target.what,
    estimate?.median.toFixed(2) ?? 'not measured',
    intervalOf(estimate),
    bound(target, target.gate, gate),
    bound(target, target.aim, aim),
  ]);
  return table(['ratio', 'median', '95 % interval', 'gate', 'aim'], rows);
}

export function missedGates(judged: readonly Judged[]): string[] {
  return judged.filter(isMissed).map(({ target, estimate }) => {
    const measured = estimate ? `${intervalOf(estimate)} is beyond` : 'was not measured, and has to be';
    return `Gate missed: ${target.what}: ${measured} ${sign(target)} ${target.gate?.toFixed(2)}`;
  });
}

export function intervalOf(estimate: Estimate | undefined, digits = 2): string {
  return estimate ? `${estimate.low.toFixed(digits)} – ${estimate.high.toFixed(digits)}` : '';
}

function bound(target: Target, value: number | undefined, verdict: Verdict | undefined): string {
  return value === undefined ? '' : `${sign(target)} ${value.toFixed(2)} ${verdict ?? ''}`.trimEnd();
}

function sign({ atLeast }: Target): string {
  return atLeast ? '≥' : '≤';
}
