// The figures of all profiles as Markdown.
import { readFileSync } from 'node:fs';
import { machine, table, today } from '../setup/figures.js';
import { estimate } from './bootstrap.js';
import { describe, REFERENCE } from './contestants.js';
import { type Epoch, isDisturbed } from './epoch.js';
import { median } from './numbers.js';
import { EPOCHS } from './options.js';
import { paired, ratioOf, valuesOf } from './pairing.js';
import type { Measured } from './session.js';
import type { Judged } from './verdict.js';
import { intervalOf, verdictTable } from './verdict-table.js';

const SHOWN = ['express', 'express4', 'zod', 'raw-body'];
const HEAD = ['', 'CPU, × by hand', '95 % interval', 'requests a second', 'CPU µs each', 'disturbed windows'];

/** @param all the profiles, without that of memory */
export function report(all: readonly Measured[], judged: readonly Judged[], node: string): string {
  const parts = [
    opening(all, node),
    all.length > 0 ? table(HEAD, all.flatMap(rowsOf)) : '',
    ...all.flatMap(droppedFrom),
    verdictTable(judged),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Of which machine and which versions, and how much was measured. */
function opening(all: readonly Measured[], node: string): string {
  const versions = SHOWN.map((name) => `${name} ${versionOf(name)}`).join(', ');
  const fewest = Math.min(...all.map(({ epochs }) => epochs.length));
  const line = `Node ${node}, ${machine()}, ${today()}. ${versions}.`;
  return fewest < EPOCHS ? `${line}\nFewer than ${EPOCHS} epochs: take it for a sketch.` : line;
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
      return [
        describe(name),
        ratio?.median.toFixed(2) ?? '',
        name === REFERENCE ? '' : intervalOf(ratio),
        Math.round(median(valuesOf(epochs, name, 'requestsPerSecond'))).toLocaleString('en'),
        (cpuNs / 1_000).toFixed(1),
        disturbed(epochs, name),
      ];
    });
  return [[`**${experiment.title}**`, '', '', '', '', ''], ...rows];
}

function disturbed(epochs: readonly Epoch[], name: string): string {
  const samples = epochs.flatMap(({ rounds }) => rounds.flatMap((round) => round[name] ?? []));
  const count = samples.filter(isDisturbed).length;
  return count === 0 ? '' : `${count} of ${samples.length}`;
}

export function droppedFrom({ experiment, dropped }: Measured): string[] {
  return Object.entries(dropped).map(
    ([name, why]) => `Dropped from "${experiment.title}": ${name}, since ${why}.`,
  );
}
