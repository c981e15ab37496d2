// The experiments of `npm run bench`: each profile that was asked for, of one build or of two.
import { oldName } from './ab-report.js';
import type { Build } from './build.js';
import type { Circumstances } from './circumstances.js';
import { isOurs, REFERENCE } from './contestants.js';
import type { Entry } from './entrant.js';
import type { Experiment } from './experiment.js';
import { measureLoadEpoch } from './load-epoch.js';
import { FLOOR_WAITING, measureMemoryEpoch, OURS_WAITING } from './memory-epoch.js';
import { type ReceiverOptions, UsageError } from './options.js';
import { MEMORY, PROFILES, type Profile, profiles } from './profiles.js';

export interface Setting {
  readonly options: ReceiverOptions;
  readonly circumstances: Circumstances;
  readonly build: Build;
  /** With `--ab`: what the build is compared with. */
  readonly old: Build | undefined;
}

/** Seconds to start and warm up one contestant, for one of its windows, and for an epoch of memory; rather too many. */
const EXPECTED = { start: 7, window: 1.2, memory: 40 };

export function receiverExperiments(setting: Setting): Experiment[] {
  const { options, old } = setting;
  refuseUnknown(options.contestants);
  const asked = options.profiles.length > 0 ? options.profiles : old ? ['accept'] : PROFILES;
  const experiments = profiles
    .filter(({ name }) => asked.includes(name))
    .map((profile) => loadExperiment(profile, setting))
    .filter(({ contestants }) => contestants.some((name) => name !== REFERENCE));
  const memory = asked.includes(MEMORY) && options.contestants.length === 0;
  if (memory && old) throw new UsageError('--profile memory cannot be used with --ab.');
  if (!memory && experiments.length === 0)
    throw new UsageError(
      `--contestant: ${options.contestants.join(', ')} is in none of the profiles ${asked.join(', ')}.`,
    );
  return memory ? [...experiments, memoryExperiment(setting)] : experiments;
}

function refuseUnknown(wanted: readonly string[]): void {
  const known = [...new Set(profiles.flatMap(({ contestants }) => contestants))];
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--contestant: there is no "${unknown}". The contestants are ${known.join(', ')}.`);
}

function loadExperiment(profile: Profile, setting: Setting): Experiment {
  const { rounds, node } = setting.options;
  const entries = entriesOf(profile, setting);
  const { name, title, size, forged, repeated = false } = profile;
  const contestants = entries.map((entry) => entry.name);
  return {
    name,
    title,
    contestants,
    key: {
      ...keyOf(setting),
      size,
      forged: String(forged),
      repeated: String(repeated),
      rounds,
      contestants: contestants.join(),
    },
    expectedSeconds: entries.length * (EXPECTED.start + rounds * EXPECTED.window),
    measure: (course) => measureLoadEpoch(profile, entries, { ...course, rounds, node }),
  };
}

/** With `--ab` ours alone, each once for each build. */
function entriesOf({ contestants }: Profile, { options, build, old }: Setting): Entry[] {
  const wanted = contestants.filter(
    (name) => options.contestants.length === 0 || options.contestants.includes(name) || name === REFERENCE,
  );
  const entry = (name: string, contestant: string, { folder }: Build) => ({
    name,
    contestant,
    build: folder,
  });
  if (!old) return wanted.map((name) => entry(name, name, build));
  return wanted.filter(isOurs).flatMap((name) => [entry(name, name, build), entry(oldName(name), name, old)]);
}

function memoryExperiment(setting: Setting): Experiment {
  return {
    name: MEMORY,
    title: 'Memory of deliveries that wait',
    contestants: [OURS_WAITING, FLOOR_WAITING],
    key: keyOf(setting),
    expectedSeconds: EXPECTED.memory,
    measure: ({ say }) => measureMemoryEpoch(setting.build.folder, { node: setting.options.node, say }),
  };
}

function keyOf({ circumstances, build, old }: Setting): Record<string, string> {
  return { ...circumstances, build: build.hash, old: old?.hash ?? '' };
}
