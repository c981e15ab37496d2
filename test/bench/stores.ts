// `npm run bench:stores`: what a claim and its completion cost in each store, beside one bare round trip of its client.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { buildOfCommit, buildOfWorkingTree } from './build.js';
import type { Epoch } from './epoch.js';
import { storeOptions } from './options.js';
import { prepareOurs } from './prepare.js';
import { conclude, main, measureAll, progress } from './session.js';
import { STORE_CONTESTANTS, storeContestants } from './store-names.js';
import { storeReport } from './store-report.js';
import { STORE_AB_TARGETS, STORE_TARGETS } from './targets.js';
import { judge } from './verdict.js';
import { missedGates, verdictTable } from './verdict-table.js';

const NAMES = Object.keys(STORE_CONTESTANTS);

await main(async () => {
  const options = storeOptions(process.argv.slice(2), NAMES);
  if (options.help) {
    process.stdout.write(options.help);
    return 0;
  }
  const old = options.ab === undefined ? undefined : buildOfCommit(options.ab, progress);
  prepareOurs(progress);
  const builds = [buildOfWorkingTree(), ...(old ? [old] : [])].map(({ folder }) => folder);
  const experiments = NAMES.filter(
    (name) => options.profiles.length === 0 || options.profiles.includes(name),
  ).map((name) => ({
    name,
    title: name,
    contestants: storeContestants(name, old !== undefined),
    measure: (say: (text: string) => void) => {
      say('measuring');
      return measureStoreEpoch(name, options.rounds, builds);
    },
  }));
  const all = await measureAll(experiments, options);
  const judged = judge(all, old ? STORE_AB_TARGETS : STORE_TARGETS);
  const text = `${storeReport(all)}\n\n${verdictTable(judged)}`.trimEnd();
  return conclude(text, missedGates(judged), options);
});

async function measureStoreEpoch(name: string, rounds: number, builds: readonly string[]): Promise<Epoch> {
  const program = fileURLToPath(new URL('store-epoch.ts', import.meta.url));
  const child = fork(program, [name, String(rounds), ...builds], { execArgv: ['--import', 'tsx'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The epoch of ${name} ended with code ${code}.`);
  });
  const [measured] = await Promise.race([once(child, 'message'), ended]);
  if (child.exitCode === null) await once(child, 'exit');
  return { rounds: measured, dropped: {} };
}
