// The figures as one table, for the terminal and for docs/benchmarks.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { machine, table, today } from '../setup/figures.js';
import { describe, REFERENCE } from './contestants.js';
import { busyPoll } from './load.js';
import type { Measurement } from './measure.js';
import { type Judged, judge, type Results } from './targets.js';

const DOC = new URL('../../docs/benchmarks.md', import.meta.url);
const SHOWN = ['express', 'express4', 'zod', 'raw-body'];

export interface Circumstances {
  /** Version of Node, with its `v`. */
  readonly version: string;
  readonly quick: boolean;
}

/** All figures as Markdown, which reads well in a terminal too. */
export function tableOf(results: Results, circumstances: Circumstances): string {
  const rows = results.measurements.flatMap(rowsOf);
  const head = ['', 'CPU, × by hand', 'requests a second', 'CPU µs each', 'disturbed windows'];
  const dropped = results.measurements.flatMap((one) =>
    [...one.dropped].map(([name, why]) => `Dropped from "${one.profile.title}": ${name}, since ${why}.`),
  );
  const judged = judge(results).map(({ what, value, gate, aim }) => [what, value.toFixed(2), gate, aim]);
  return [
    surroundings(circumstances, results),
    table(head, rows),
    ...dropped,
    table(['ratio', 'measured', 'gate', 'aim'], judged),
    memoryOf(results),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

export function missedGates(results: Results): Judged[] {
  return judge(results).filter(({ missed }) => missed);
}

function surroundings({ version, quick }: Circumstances, { measurements }: Results): string {
  const versions = SHOWN.map((name) => `${name} ${versionOf(name)}`).join(', ');
  const notes = [
    quick && 'A quick run: one epoch, so take it for a sketch.',
    measurements.some(isDisturbed) &&
      'A server without an undisturbed window waited: for its store, or for other work of the machine.',
    !busyPoll && 'Without a C compiler wrk slept between answers, which makes every contestant slower.',
  ].filter((note) => note !== false);
  return [`Node ${version}, ${machine()}, ${today()}. ${versions}.`, ...notes].join('\n');
}

function isDisturbed({ figures }: Measurement): boolean {
  return [...figures.values()].some(({ windows, disturbed }) => disturbed === windows);
}

function versionOf(name: string): string {
  const file = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}

function rowsOf({ profile, figures }: Measurement): string[][] {
  const reference = figures.get(REFERENCE);
  const rows = [...figures]
    .sort(([, one], [, other]) => one.ns - other.ns)
    .map(([name, { ns, requestsPerSecond, windows, disturbed }]) => [
      describe(name),
      reference ? (ns / reference.ns).toFixed(2) : '',
      Math.round(requestsPerSecond).toLocaleString('en'),
      (ns / 1_000).toFixed(1),
      disturbed > 0 ? `${disturbed} of ${windows}` : '',
    ]);
  return [[`**${profile.title}**`, '', '', '', ''], ...rows];
}

function memoryOf({ memory }: Results): string {
  if (!memory) return '';
  const { waiting, buffers, overhead } = memory;
  const each = (overhead / 1_024).toFixed(1);
  return `${waiting.toLocaleString('en')} deliveries that wait on slow handlers hold ${Math.round(buffers / 1e6)} MB of bodies, and ${each} KB each beyond what they hold by hand.`;
}

/** Replaces the figures of this major version of Node, and leaves those of others. */
export function record(text: string, major: number): string {
  const doc = readFileSync(DOC, 'utf8');
  const [begin, end] = [`<!-- node ${major}: begin -->`, `<!-- node ${major}: end -->`];
  const section = `${begin}\n## Node ${major}\n\n${text}\n${end}`;
  const [from, to] = [doc.indexOf(begin), doc.indexOf(end)];
  const written =
    from === -1
      ? `${doc.trimEnd()}\n\n${section}\n`
      : doc.slice(0, from) + section + doc.slice(to + end.length);
  writeFileSync(DOC, written);
  return fileURLToPath(DOC);
}
