// `npm run bench`: measures receivers of one build, or of two builds in the same rounds, and prints one table.
import { execFileSync } from 'node:child_process';
import { type Build, buildOfCommit, buildOfWorkingTree } from './build.js';
import { isOurs, oldName, REFERENCE } from './contestants.js';
import { type Entry, measureLoadEpoch } from './load-epoch.js';
import { FLOOR_WAITING, measureMemoryEpoch, OURS_WAITING } from './memory-epoch.js';
import { oneOf, type ReceiverOptions, receiverOptions, UsageError } from './options.js';
import { prepare } from './prepare.js';
import { MEMORY, PROFILES, type Profile, profiles } from './profiles.js';
import { abReport, report } from './report.js';
import { conclude, type Experiment, main, measureAll, progress } from './session.js';
import { AB_TARGETS, targetsOn } from './targets.js';
import { judge, missedGates, verdictTable } from './verdict.js';

/** The default profiles of `--ab`. */
const AB_PROFILES: readonly string[] = [...new Set(AB_TARGETS.map(({ profile }) => profile))];

interface Setting {
  readonly options: ReceiverOptions;
  readonly build: Build;
  /** With `--ab`: the build to compare with. */
  readonly old: Build | undefined;
}

const readOptions = (args: readonly string[]) => receiverOptions(args, PROFILES);

await main(readOptions, async (options) => {
  const node = versionOf(options.node);
  const old = options.ab === undefined ? undefined : buildOfCommit(options.ab, progress);
  prepare(progress);
  const build = buildOfWorkingTree();
  const all = await measureAll(experimentsOf({ options, build, old }), options);
  const judged = judge(all, old ? AB_TARGETS : targetsOn(Number.parseInt(node.slice(1), 10)));
  const loads = all.filter(({ experiment }) => experiment.name !== MEMORY);
  const figures = old ? abReport(all, build.label, old.label) : report(loads, node);
  return conclude(`${figures}\n\n${verdictTable(judged)}`, missedGates(judged), options);
});

function versionOf(program: string): string {
  try {
    return execFileSync(program, ['-v'], { encoding: 'utf8' }).trim();
  } catch {
    throw new UsageError(`--node: "${program}" cannot be run. Pass the path of a Node.`);
  }
}

/** Each profile that was asked for. */
function experimentsOf({ options, build, old }: Setting): Experiment[] {
  const known = [...new Set(profiles.flatMap(({ contestants }) => contestants))];
  oneOf('contestant', options.contestants, known, 'The contestants are');
  const asked = options.profiles.length > 0 ? options.profiles : old ? AB_PROFILES : PROFILES;
  const experiments: Experiment[] = profiles
    .filter(({ name }) => asked.includes(name))
    .map((profile) => ({ profile, entries: entriesOf(profile, { options, build, old }) }))
    .filter(({ entries }) => entries.some(({ name }) => name !== REFERENCE))
    .map(({ profile, entries }) => ({
      name: profile.name,
      title: profile.title,
      contestants: entries.map(({ name }) => name),
      measure: (say) => measureLoadEpoch(profile, entries, { ...options, say }),
    }));
  if (asked.includes(MEMORY) && options.contestants.length === 0) {
    if (old) throw new UsageError('--profile memory cannot be used with --ab.');
    experiments.push({
      name: MEMORY,
      title: 'Memory of deliveries that wait',
      contestants: [OURS_WAITING, FLOOR_WAITING],
      measure: (say) => measureMemoryEpoch(build.folder, { ...options, say }),
    });
  }
  if (experiments.length > 0) return experiments;
  throw new UsageError(`None of the profiles ${asked.join(', ')} has ${options.contestants.join(', ')}.`);
}

/** With `--ab` ours alone, each once for each build. */
function entriesOf({ name: profile, contestants }: Profile, { options, build, old }: Setting): Entry[] {
  const asked = options.contestants;
  const wanted = contestants.filter(
    (name) => asked.length === 0 || asked.includes(name) || name === REFERENCE,
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
  const ours = asked.length > 0 ? wanted.filter(isOurs) : gated;
  return ours.flatMap((name) => [entry(name, name, build), entry(oldName(name), name, old)]);
}
