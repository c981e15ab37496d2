// The figures of all profiles as Markdown, for the terminal and for docs/project/benchmarks.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { table, today } from '../setup/figures.js';
import { estimate } from './bootstrap.js';
import type { Circumstances } from './circumstances.js';
import { describe, REFERENCE } from './contestants.js';
import { type Epoch, isDisturbed } from './epoch.js';
import { median } from './median.js';
import { EPOCHS } from './options.js';
import { paired, ratioOf, valuesOf } from './pairing.js';
import type { Series } from './series.js';
import type { Judged } from './verdict.js';
import { intervalOf, verdictTable } from './verdict-table.js';

const DOC = new URL('../../docs/project/benchmarks.md', import.meta.url);
const SHOWN = ['express', 'express4', 'zod', 'raw-body'];
const HEAD = ['', 'CPU, × by hand', '95 % interval', 'requests a second', 'CPU µs each', 'disturbed windows'];

/** @param all the series of profiles, without that of memory */
export function report(
  all: readonly Series[],
  judged: readonly Judged[],
  circumstances: Circumstances,
): string {
  const parts = [
    opening(all, circumstances),
    all.length > 0 ? table(HEAD, all.flatMap(rowsOf)) : '',
    ...all.flatMap(droppedFrom),
    verdictTable(judged),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Of which machine and which versions, and how much was measured. */
function opening(all: readonly Series[], { node, machine }: Circumstances): string {
  const versions = SHOWN.map((name) => `${name} ${versionOf(name)}`).join(', ');
  const fewest = Math.min(...all.map(({ epochs }) => epochs.length));
  const line = `Node ${node}, ${machine}, ${today()}. ${versions}.`;
  return fewest < EPOCHS ? `${line}\nFewer than ${EPOCHS} epochs: take it for a sketch.` : line;
}

function versionOf(name: string): string {
  const file = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

function rowsOf({ experiment, epochs, dropped }: Series): string[][] {
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

export function droppedFrom({ experiment, dropped }: Series): string[] {
  return Object.entries(dropped).map(
    ([name, why]) => `Dropped from "${experiment.title}": ${name}, since ${why}.`,
  );
}

/** Replaces the figures of this major version of Node in the page, and leaves those of others. */
export function record(text: string, major: number): string {
  const page = readFileSync(DOC, 'utf8');
  const [begin, end] = [`<!-- node ${major}: begin -->`, `<!-- node ${major}: end -->`];
  const section = `${begin}\n## Node ${major}\n\n${text}\n${end}`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  writeFileSync(
    DOC,
    from === -1
      ? `${page.trimEnd()}\n\n${section}\n`
      : page.slice(0, from) + section + page.slice(to + end.length),
  );
  return fileURLToPath(DOC);
}
