// `npm run bench:imports -- COMMIT [ROUNDS]`: what an import and the first deliveries cost, in this build and in that of a commit.
import { execFileSync } from 'node:child_process';
import { buildOfCommit, buildOfWorkingTree, HALVES } from './build.js';
import { prepareOurs } from './prepare.js';
import { progress } from './session.js';
import { shuffled } from './statistics.js';

/** Imports a door, and delivers an event that fits and one that does not. Prints microseconds. */
const PROGRAM = `
const [, door] = process.argv;
const cpu = () => { const { user, system } = process.cpuUsage(); return user + system; };
const { createHmac } = require('node:crypto');
const deliver = (hooks, payload) => {
  const rawBody = JSON.stringify({ id: String(Math.random()), event_name: 'transaction.paid', sandbox: false, payload });
  const signature = createHmac('sha256', 'pri_bench').update(rawBody).digest('hex');
  return hooks.receive({ rawBody, headers: { 'x-service-signature': signature } });
};
(async () => {
  const { receiver } = await (LOAD);
  const imported = cpu();
  if (!receiver) return console.log(JSON.stringify({ import: imported }));
  const hooks = receiver({ privateKey: 'pri_bench', logger: false, handlers: { '*': () => {} } });
  const transaction = { id: 't', amount: '1', status: 1, currency: 'EUR', order_id: 'o' };
  const before = performance.now();
  const { status } = await deliver(hooks, { transaction });
  const fits = performance.now();
  const misfit = await deliver(hooks, {});
  const misfits = performance.now();
  if (status !== 200 || misfit.status !== 422) throw new Error('answered ' + status + ' and ' + misfit.status);
  const [first, second] = [(fits - before) * 1000, (misfits - fits) * 1000];
  console.log(JSON.stringify({ import: imported, 'first delivery': first, 'first misfit': second, all: cpu() }));
  await hooks.close();
})();`;

type Figures = Readonly<Record<string, number>>;

const LOADS = { esm: 'import(door)', cjs: 'require(door)' } as const;

function run(half: keyof typeof LOADS, door: string): Figures {
  const args = ['-e', PROGRAM.replace('LOAD', LOADS[half]), door];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

/** First quartile, median and third quartile. */
function quartiles(values: readonly number[], digits: number): string {
  const sorted = [...values].sort((one, other) => one - other);
  const at = (share: number) =>
    (sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN).toFixed(digits);
  return `${at(0.5)} (${at(0.25)}–${at(0.75)})`;
}

const HELP = `npm run bench:imports [-- COMMIT [ROUNDS]]

Measures what an import and the first deliveries cost, in the working tree and in COMMIT (default HEAD), in 21 rounds.

Example: npm run bench:imports -- HEAD~1 7
`;

const [commit = 'HEAD', rounds = '21'] = process.argv.slice(2);
if (commit.startsWith('-')) {
  process.stdout.write(HELP);
  process.exit(commit === '--help' ? 0 : 1);
}
prepareOurs(progress);
console.log(`Node ${process.version}, working tree and ${commit}, ${rounds} rounds; median (quartiles)\n`);
console.log(
  '| | | working tree, ms | the commit, ms | ratio of each round |\n| --- | --- | --: | --: | --: |',
);
for (const half of HALVES) {
  const ours = `${buildOfWorkingTree(half).folder}/index.js`;
  const theirs = `${buildOfCommit(commit, progress, half).folder}/index.js`;
  const rows: { bare: Figures; ours: Figures; theirs: Figures }[] = [];
  for (let round = 0; round < Number(rounds); round += 1) {
    const figures = new Map<string, Figures>();
    for (const door of shuffled(['node:fs', ours, theirs])) figures.set(door, run(half, door));
    const of = (door: string) => figures.get(door) ?? {};
    rows.push({ bare: of('node:fs'), ours: of(ours), theirs: of(theirs) });
  }
  for (const name of ['import', 'first delivery', 'first misfit', 'all']) {
    const isCpu = name === 'import' || name === 'all';
    const value = (of: Figures, bare: Figures) => ((of[name] ?? 0) - (isCpu ? (bare.import ?? 0) : 0)) / 1000;
    const pairs = rows.map(({ bare, ours, theirs }) => [value(ours, bare), value(theirs, bare)] as const);
    const cells = [
      quartiles(
        pairs.map(([one]) => one),
        1,
      ),
      quartiles(
        pairs.map(([, other]) => other),
        1,
      ),
      quartiles(
        pairs.map(([one, other]) => one / other),
        2,
      ),
    ];
    const what = isCpu ? `${name}, CPU beyond Node` : `${name}, time`;
    console.log(`| ${half} | ${what} | ${cells.join(' | ')} |`);
  }
}
