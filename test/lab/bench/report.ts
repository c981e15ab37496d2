// The results as Markdown tables: of one build, of two builds, and of stores.
import { readFileSync } from 'node:fs';
import { machine, table, today } from '../../setup/figures.js';
import { describe, isOurs, oldName, REFERENCE } from './contestants.js';
import { type Comparison, type Figure, isDisturbed, paired, ratioOf, valuesOf } from './epoch.js';
import { EPOCHS } from './options.js';
import type { Measured } from './session.js';
import { type Estimate, estimate, median } from './statistics.js';
import { intervalOf } from './verdict.js';

const SHOWN = ['express', 'express4', 'zod', 'raw-body'];
const HEAD = ['', 'CPU, × by hand', '95 % interval', 'requests a second', 'CPU µs each', 'disturbed windows'];
const AB_HEAD = ['', 'CPU', '95 % interval', '', 'requests a second', '95 % interval'];
const STORE_HEAD = [
  ...['', 'CPU, × bare', '95 % interval', 'time, × bare', '95 % interval'],
  ...['a second', 'client µs', 'server µs'],
];

/** @param all the profiles, without that of memory */
export function report(all: readonly Measured[], node: string): string {
  const versions = SHOWN.map((name) => `${name} ${versionOf(name)}`).join(', ');
  const fewest = Math.min(...all.map(({ epochs }) => epochs.length));
  const opening = `Node ${node}, ${machine()}, ${today()}. ${versions}.`;
  return [
    fewest < EPOCHS ? `${opening}\nFewer than ${EPOCHS} epochs: take it for a sketch.` : opening,
    ...(all.length > 0 ? [table(HEAD, all.flatMap(rowsOf))] : []),
    ...all.flatMap(droppedFrom),
  ].join('\n\n');
}

function versionOf(name: string): string {
  const file = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

function rowsOf({ experiment, epochs, dropped }: Measured): string[][] {
  const rows = experiment.contestants
    .filter((name) => !(name in dropped))
    .map((name) => ({ name, cpuNs: median(valuesOf(epochs, name, 'cpuNs')) }))
    .sort((one, other) => one.cpuNs - other.cpuNs)
    .map(({ name, cpuNs }) => {
      const ratio = estimate(paired(epochs, [name, REFERENCE], ratioOf('cpuNs')));
      const samples = epochs.flatMap(({ rounds }) => rounds.flatMap((round) => round[name] ?? []));
      const disturbed = samples.filter(isDisturbed).length;
      return [
        describe(name),
        ratio?.median.toFixed(2) ?? '',
        name === REFERENCE ? '' : intervalOf(ratio),
        Math.round(median(valuesOf(epochs, name, 'requestsPerSecond'))).toLocaleString('en'),
        (cpuNs / 1_000).toFixed(1),
        disturbed === 0 ? '' : `${disturbed} of ${samples.length}`,
      ];
    });
  return [[`**${experiment.title}**`, '', '', '', '', ''], ...rows];
}

function droppedFrom({ experiment, dropped }: Measured): string[] {
  return Object.entries(dropped).map(
    ([name, why]) => `Dropped from "${experiment.title}": ${name}, since ${why}.`,
  );
}

/** What the new build costs, the old one being 1. */
export function abReport(all: readonly Measured[], newLabel: string, oldLabel: string): string {
  return [
    `${newLabel}, ${oldLabel} = 1. Contestants of both builds take turns in the same rounds.`,
    table(AB_HEAD, all.flatMap(abRowsOf)),
    ...all.flatMap(droppedFrom),
  ].join('\n\n');
}

function abRowsOf({ experiment, epochs, dropped }: Measured): string[][] {
  const rows = experiment.contestants
    .filter((name) => isOurs(name) && !name.endsWith('@old'))
    .filter((name) => !(name in dropped) && !(oldName(name) in dropped))
    .map((name) => {
      const ratio = (figure: Figure) => estimate(paired(epochs, [name, oldName(name)], ratioOf(figure)));
      const [cpu, requests] = [ratio('cpuNs'), ratio('requestsPerSecond')];
      return [describe(name), ...cells(cpu, 3), finding(cpu), ...cells(requests, 3)];
    });
  return [[`**${experiment.title}**`, '', '', '', '', ''], ...rows];
}

function finding(cpu: Estimate | undefined): string {
  if (!cpu) return '';
  return cpu.high < 1 ? 'cheaper' : cpu.low > 1 ? 'dearer' : 'no difference shown';
}

/** The cost of each store operation, relative to a bare round trip of its client. */
export function storeReport(all: readonly Measured[]): string {
  const rows = all.flatMap(({ experiment: { contestants }, epochs }) =>
    contestants.map((name) => {
      // The first that has the same client before the colon.
      const bare = contestants.find((other) => other.startsWith(`${name.split(':')[0]}:`)) ?? name;
      const relative = (compare: Comparison) =>
        bare === name ? ['1.00', ''] : cells(estimate(paired(epochs, [name, bare], compare)));
      const middle = (figure: Figure) => median(valuesOf(epochs, name, figure));
      return [
        name,
        ...relative(ratioOf('clientUs', 'serverUs')),
        ...relative(ratioOf('wallUs')),
        Math.round(1e6 / middle('wallUs')).toLocaleString('en'),
        middle('clientUs').toFixed(1),
        middle('serverUs').toFixed(1),
      ];
    }),
  );
  return table(STORE_HEAD, rows);
}

function cells(ratio: Estimate | undefined, digits = 2): string[] {
  return [ratio?.median.toFixed(digits) ?? '', intervalOf(ratio, digits)];
}
