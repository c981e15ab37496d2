// `npm run bench:stores`: what a claim and its completion cost in each store, relative to a bare round trip of its client.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { buildOfCommit, buildOfWorkingTree } from './build.js';
import { isBare, oldName, STORE_CONTESTANTS } from './contestants.js';
import type { Epoch } from './epoch.js';
import { storeOptions } from './options.js';
import { prepareOurs } from './prepare.js';
import { storeReport } from './report.js';
import { conclude, main, measureAll, progress } from './session.js';
import { STORE_AB_TARGETS, STORE_TARGETS } from './targets.js';
import { judge, missedGates, verdictTable } from './verdict.js';

const readOptions = (args: readonly string[]) => storeOptions(args, Object.keys(STORE_CONTESTANTS));

await main(readOptions, async (options) => {
  const old = options.ab === undefined ? undefined : buildOfCommit(options.ab, progress);
  prepareOurs(progress);
  const builds = [buildOfWorkingTree(), ...(old ? [old] : [])].map(({ folder }) => folder);
  const experiments = Object.entries(STORE_CONTESTANTS)
    .filter(([name]) => options.profiles.length === 0 || options.profiles.includes(name))
    .map(([name, contestants]) => ({
      name,
      title: name,
      // Each once for each build; a bare round trip has none.
      contestants: old
        ? contestants.flatMap((one) => (isBare(one) ? one : [one, oldName(one)]))
        : contestants,
      measure: (say: (text: string) => void) => {
        say('measuring');
        return measureStoreEpoch(name, options.rounds, builds);
      },
    }));
  const all = await measureAll(experiments, options);
  const judged = judge(all, old ? STORE_AB_TARGETS : STORE_TARGETS);
  return conclude(`${storeReport(all)}\n\n${verdictTable(judged)}`, missedGates(judged), options);
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
