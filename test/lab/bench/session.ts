// Measures experiments epoch by epoch, each in its turn, and ends a program of the bench with its exit code.
import { disturbedContestant, type Epoch } from './epoch.js';
import { type Options, UsageError } from './options.js';

const MISUSED = 2;
/** Of one epoch, until it is undisturbed. */
const ATTEMPTS = 2;

/** Something that is measured in epochs. */
export interface Experiment {
  readonly name: string;
  readonly title: string;
  readonly contestants: readonly string[];
  measure(say: (text: string) => void): Promise<Epoch>;
}

export interface Measured {
  readonly experiment: Experiment;
  readonly epochs: readonly Epoch[];
  /** Contestants by name that were dropped in any epoch, and why. */
  readonly dropped: Readonly<Record<string, string>>;
}

/** In turns, so that each experiment is spread over the whole run. */
export async function measureAll(
  experiments: readonly Experiment[],
  { epochs: wanted }: Pick<Options, 'epochs'>,
): Promise<Measured[]> {
  const epochs = new Map(experiments.map(({ name }) => [name, [] as Epoch[]]));
  for (let number = 1; number <= wanted; number += 1) {
    for (const experiment of experiments) {
      const say = (text: string) => progress(`${experiment.name}, epoch ${number} of ${wanted}: ${text}`);
      epochs.get(experiment.name)?.push(...(await undisturbedEpoch(experiment, say)));
    }
  }
  return experiments.map((experiment) => {
    const measured = epochs.get(experiment.name) ?? [];
    if (measured.length === 0)
      throw new UsageError(`${experiment.name}: no epoch was undisturbed. Run it when the machine is idle.`);
    return {
      experiment,
      epochs: measured,
      dropped: Object.assign({}, ...measured.map(({ dropped }) => dropped)),
    };
  });
}

/** None where the machine is too busy: the ratios of such an epoch say nothing. */
async function undisturbedEpoch(experiment: Experiment, say: (text: string) => void): Promise<Epoch[]> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const epoch = await experiment.measure(say);
    for (const [name, why] of Object.entries(epoch.dropped)) say(`${name} is dropped: ${why}.`);
    const disturbed = disturbedContestant(epoch);
    if (disturbed === undefined) return [epoch];
    say(`discarded: ${disturbed} never had its CPU to itself. Is something else running?`);
  }
  return [];
}

/** On standard error: the tables alone are on standard output. */
export function progress(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
}

/**
 * Runs a program of the bench, with a line on standard error for a wrong option.
 *
 * @param read reads the options
 */
export async function main<Typed extends { readonly help: string | undefined }>(
  read: (args: readonly string[]) => Typed,
  program: (options: Typed) => Promise<number>,
): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  try {
    const options = read(process.argv.slice(2));
    if (options.help) process.stdout.write(options.help);
    else process.exitCode = await program(options);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = MISUSED;
  }
}

/** @returns the exit code */
export function conclude(text: string, missed: readonly string[], { gate }: Pick<Options, 'gate'>): number {
  progress('');
  console.log(text.trimEnd());
  for (const line of missed) console.error(line);
  return gate && missed.length > 0 ? 1 : 0;
}
