// What each operation of a store costs, beside the bare round trip of its client.
import { table } from '../setup/figures.js';
import { type Estimate, estimate } from './bootstrap.js';
import type { Epoch, Figure } from './epoch.js';
import { median } from './numbers.js';
import { type Comparison, paired, ratioOf, valuesOf } from './pairing.js';
import type { Measured } from './session.js';
import { intervalOf } from './verdict-table.js';

const HEAD = [
  '',
  'CPU, × bare',
  '95 % interval',
  'time, × bare',
  '95 % interval',
  'a second',
  'client µs',
  'server µs',
];

export function storeReport(all: readonly Measured[]): string {
  return table(
    HEAD,
    all.flatMap(({ experiment, epochs }) =>
      experiment.contestants.map((name) => row(name, experiment.contestants, epochs)),
    ),
  );
}

function row(name: string, all: readonly string[], epochs: readonly Epoch[]): string[] {
  const bare = bareOf(name, all);
  const beside = (compare: Comparison) =>
    bare === name ? undefined : estimate(paired(epochs, [name, bare], compare));
  const middle = (figure: Figure) => median(valuesOf(epochs, name, figure));
  return [
    name,
    ...cells(beside(ratioOf('clientUs', 'serverUs'))),
    ...cells(beside(ratioOf('wallUs'))),
    Math.round(1e6 / middle('wallUs')).toLocaleString('en'),
    middle('clientUs').toFixed(1),
    middle('serverUs').toFixed(1),
  ];
}

/** Of the same client: the first that has its name before the colon. */
function bareOf(name: string, all: readonly string[]): string {
  const client = name.slice(0, name.indexOf(':') + 1);
  return all.find((other) => other.startsWith(client)) ?? name;
}

function cells(ratio: Estimate | undefined): string[] {
  return [ratio?.median.toFixed(2) ?? '1.00', intervalOf(ratio)];
}
