// `npm run bench:stores`: what a claim and its completion cost in each store, beside one bare round trip of its client.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Build, buildOfWorkingTree } from './build.js';
import { type Circumstances, circumstancesOf } from './circumstances.js';
import type { Measured } from './epoch.js';
import type { Experiment } from './experiment.js';
import { storeHelp } from './help.js';
import { storeOptions } from './options.js';
import { prepareOurs } from './prepare.js';
import { progress } from './progress.js';
import type { Series } from './series.js';
import { main, run } from './session.js';
import { STORE_CONTESTANTS } from './store-names.js';
import { storeReport } from './store-report.js';
import { judge } from './verdict.js';
import { missedGates, verdictTable } from './verdict-table.js';

const NAMES = Object.keys(STORE_CONTESTANTS);
/** Seconds for what comes before and after the windows of an epoch. */
const AROUND_S = 4;

interface Setting {
  readonly rounds: number;
  readonly build: Build;
  readonly circumstances: Circumstances;
}

await main(async () => {
  const options = storeOptions(process.argv.slice(2), NAMES);
  if (options.help) {
    process.stdout.write(storeHelp(NAMES));
    return 0;
  }
  prepareOurs(progress);
  const circumstances = circumstancesOf(process.execPath);
  const setting = { rounds: options.rounds, build: buildOfWorkingTree(), circumstances };
  const experiments = Object.entries(STORE_CONTESTANTS)
    .filter(([name]) => options.profiles.length === 0 || options.profiles.includes(name))
    .map(([name, contestants]) => storeExperiment(name, contestants, setting));
  return run({ script: 'bench:stores', options, experiments, conclude });
});

function storeExperiment(
  name: string,
  contestants: readonly string[],
  { rounds, build, circumstances }: Setting,
): Experiment {
  return {
    name,
    title: name,
    contestants,
    key: { ...circumstances, build: build.hash, rounds },
    expectedSeconds: AROUND_S + contestants.length * (rounds + 1),
    measure: () => measureStoreEpoch(name, rounds, build.folder),
  };
}

async function measureStoreEpoch(name: string, rounds: number, build: string): Promise<Measured> {
  const program = fileURLToPath(new URL('store-epoch.ts', import.meta.url));
  const child = fork(program, [name, String(rounds), build], { execArgv: ['--import', 'tsx'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The epoch of ${name} ended with code ${code}.`);
  });
  const [measured] = await Promise.race([once(child, 'message'), ended]);
  if (child.exitCode === null) await once(child, 'exit');
  return { rounds: measured, dropped: {} };
}

function conclude(all: readonly Series[]): readonly string[] {
  const judged = judge(all, Number.parseInt(process.versions.node, 10));
  console.log(`${storeReport(all)}\n\n${verdictTable(judged)}`.trimEnd());
  return missedGates(judged);
}
