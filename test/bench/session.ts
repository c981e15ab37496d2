// One run of a benchmark: continues its series, and ends with a table or with the command that continues it.
import { fileURLToPath } from 'node:url';
import { complete, timeLeft } from './campaign.js';
import type { Experiment } from './experiment.js';
import { commandToContinue } from './help.js';
import { type Options, UsageError } from './options.js';
import { progress } from './progress.js';
import { Series } from './series.js';

const EPOCHS_FOLDER = fileURLToPath(new URL('../../.scratch/bench/', import.meta.url));
/** EX_TEMPFAIL of sysexits.h: try again. */
const UNFINISHED = 75;
const MISUSED = 2;

export interface Program {
  /** As package.json calls it. */
  readonly script: string;
  readonly options: Options;
  readonly experiments: readonly Experiment[];
  /** Prints what was measured. Gives the gates that were missed, a line each. */
  readonly conclude: (all: readonly Series[]) => readonly string[];
}

/** @returns the exit code */
export async function run({ script, options, experiments, conclude }: Program): Promise<number> {
  const all = experiments.map((experiment) => new Series(experiment, EPOCHS_FOLDER));
  if (options.fresh) for (const series of all) series.restart();
  if (!(await complete(all, options, progress))) {
    for (const { experiment, epochs } of all)
      progress(`${experiment.name}: ${epochs.length} of ${options.epochs} epochs are done.`);
    const command = commandToContinue(script, process.argv.slice(2));
    progress(`Not finished; ${timeLeft(all, options.epochs)} to go. Continue with: ${command}`);
    return UNFINISHED;
  }
  progress('', true);
  const missed = conclude(all);
  for (const line of missed) console.error(line);
  return options.gate && missed.length > 0 ? 1 : 0;
}

/** Runs a program to its exit code, with a line for what was typed wrongly, and ends what it started with it. */
export async function main(program: () => Promise<number>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  try {
    process.exitCode = await program();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = MISUSED;
  }
}
