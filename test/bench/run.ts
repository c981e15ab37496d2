// `npm run bench`: measures receivers of one build, or of two builds in the same rounds, and prints one table.
import { execFileSync } from 'node:child_process';
import { abReport } from './ab-report.js';
import { type Build, buildOfCommit, buildOfWorkingTree } from './build.js';
import { isOurs, oldName, REFERENCE } from './contestants.js';
import type { Entry } from './entrant.js';
import { measureLoadEpoch } from './load-epoch.js';
import { FLOOR_WAITING, measureMemoryEpoch, OURS_WAITING } from './memory-epoch.js';
import { type ReceiverOptions, receiverOptions, UsageError } from './options.js';
import { prepare } from './prepare.js';
import { MEMORY, PROFILES, type Profile, profiles } from './profiles.js';
import { report } from './report.js';
import { conclude, type Experiment, main, measureAll, progress } from './session.js';
import { AB_TARGETS, targetsOn } from './targets.js';
import { judge } from './verdict.js';
import { missedGates, verdictTable } from './verdict-table.js';

/** What `--ab` measures unless something else is asked for. */
const AB_PROFILES = [...new Set(AB_TARGETS.map(({ profile }) => profile))];

interface Setting {
  readonly options: ReceiverOptions;
  readonly build: Build;
  /** With `--ab`: what the build is compared with. */
  readonly old: Build | undefined;
}

await main(async () => {
  const options = receiverOptions(process.argv.slice(2), PROFILES);
  if (options.help) {
    process.stdout.write(options.help);
    return 0;
  }
  const node = versionOf(options.node);
  const old = options.ab === undefined ? undefined : buildOfCommit(options.ab, progress);
  prepare(progress);
  const build = buildOfWorkingTree();
  const all = await measureAll(experimentsOf({ options, build, old }), options);
  if (old) {
    const judged = judge(all, AB_TARGETS);
    const text = `${abReport(all, build.label, old.label)}\n\n${verdictTable(judged)}`.trimEnd();
    return conclude(text, missedGates(judged), options);
  }
  const judged = judge(all, targetsOn(Number.parseInt(node.slice(1), 10)));
  const loads = all.filter(({ experiment }) => experiment.name !== MEMORY);
  return conclude(report(loads, judged, node), missedGates(judged), options);
});

function versionOf(program: string): string {
  try {
    return execFileSync(program, ['-v'], { encoding: 'utf8' }).trim();
  } catch {
    throw new UsageError(`--node: "${program}" cannot be run. Give the path of a Node.`);
  }
}

/** Each profile that was asked for. */
function experimentsOf(setting: Setting): Experiment[] {
  const { options, build, old } = setting;
  const known = [...new Set(profiles.flatMap(({ contestants }) => contestants))];
  const unknown = options.contestants.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--contestant: there is no "${unknown}". The contestants are ${known.join(', ')}.`);
  const asked = options.profiles.length > 0 ? options.profiles : old ? AB_PROFILES : PROFILES;
  const experiments = profiles
    .filter(({ name }) => asked.includes(name))
    .map((profile) => loadExperiment(profile, setting))
    .filter(({ contestants }) => contestants.some((name) => name !== REFERENCE));
  const memory = asked.includes(MEMORY) && options.contestants.length === 0;
  if (memory && old) throw new UsageError('--profile memory cannot be used with --ab.');
  if (!memory && experiments.length === 0)
    throw new UsageError(`None of the profiles ${asked.join(', ')} has ${options.contestants.join(', ')}.`);
  if (!memory) return experiments;
  const waiting: Experiment = {
    name: MEMORY,
    title: 'Memory of deliveries that wait',
    contestants: [OURS_WAITING, FLOOR_WAITING],
    measure: (say) => measureMemoryEpoch(build.folder, { node: options.node, say }),
  };
  return [...experiments, waiting];
}

function loadExperiment(profile: Profile, setting: Setting): Experiment {
  const { rounds, node } = setting.options;
  const entries = entriesOf(profile, setting);
  return {
    name: profile.name,
    title: profile.title,
    contestants: entries.map((entry) => entry.name),
    measure: (say) => measureLoadEpoch(profile, entries, { rounds, node, say }),
  };
}

/** With `--ab` ours alone, each once for each build. */
function entriesOf({ name: profile, contestants }: Profile, { options, build, old }: Setting): Entry[] {
  const wanted = contestants.filter(
    (name) => options.contestants.length === 0 || options.contestants.includes(name) || name === REFERENCE,
  );
  const entry = (name: string, contestant: string, { folder }: Build) => ({
    name,
    contestant,
    build: folder,
  });
  if (!old) return wanted.map((name) => entry(name, name, build));
  const gated = AB_TARGETS.filter((target) => target.profile === profile).map(
    ({ contestants: [one] }) => one,
  );
  const ours = options.contestants.length > 0 ? wanted.filter(isOurs) : gated;
  return ours.flatMap((name) => [entry(name, name, build), entry(oldName(name), name, old)]);
}
