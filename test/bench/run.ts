// `npm run bench`: measures receivers, prints one table, and writes docs/project/benchmarks.md after a run of everything.
import { abReport } from './ab-report.js';
import { buildOfCommit, buildOfWorkingTree } from './build.js';
import { circumstancesOf } from './circumstances.js';
import { receiverHelp } from './help.js';
import { EPOCHS, type ReceiverOptions, receiverOptions } from './options.js';
import { prepare } from './prepare.js';
import { MEMORY, PROFILES } from './profiles.js';
import { progress } from './progress.js';
import { receiverExperiments, type Setting } from './receiver-experiments.js';
import { record, report } from './report.js';
import type { Series } from './series.js';
import { main, run } from './session.js';
import { judge } from './verdict.js';
import { missedGates } from './verdict-table.js';

await main(async () => {
  const options = receiverOptions(process.argv.slice(2), PROFILES);
  if (options.help) {
    process.stdout.write(receiverHelp(PROFILES));
    return 0;
  }
  const circumstances = circumstancesOf(options.node);
  const old = options.ab === undefined ? undefined : buildOfCommit(options.ab, progress);
  prepare(progress);
  const setting = { options, circumstances, build: buildOfWorkingTree(), old };
  const experiments = receiverExperiments(setting);
  return run({ script: 'bench', options, experiments, conclude: (all) => conclude(all, setting) });
});

function conclude(
  all: readonly Series[],
  { options, circumstances, build, old }: Setting,
): readonly string[] {
  if (old) {
    console.log(abReport(all, build.label, old.label));
    return [];
  }
  const major = Number.parseInt(circumstances.node.slice(1), 10);
  const judged = judge(all, major);
  const text = report(
    all.filter(({ experiment }) => experiment.name !== MEMORY),
    judged,
    circumstances,
  );
  console.log(text);
  if (isWhole(options)) console.error(`Written to ${record(text, major)}.`);
  return missedGates(judged);
}

/** The page is for figures that can be trusted. */
function isWhole({ profiles, contestants, epochs }: ReceiverOptions): boolean {
  return profiles.length === 0 && contestants.length === 0 && epochs >= EPOCHS;
}
