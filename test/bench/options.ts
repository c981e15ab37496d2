// What may be typed after `npm run bench --` and `npm run bench:stores --`, and what is said about mistakes in it.
import { parseArgs } from 'node:util';

interface Described {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  readonly says: string;
}

/** Fewer epochs cannot tell two builds apart: processes of one build differ by 5 to 10 %. */
export const EPOCHS = 8;
const ROUNDS = 4;

const STORE_OPTIONS = {
  profile: { type: 'string', multiple: true, says: 'only this profile; may be given again' },
  epochs: { type: 'string', says: `epochs of each profile; default ${EPOCHS}` },
  rounds: { type: 'string', says: `windows of each contestant in an epoch; default ${ROUNDS}` },
  ab: { type: 'string', says: 'compare the working tree with this commit' },
  gate: { type: 'boolean', says: 'exit with 1 when a whole interval is beyond its gate' },
  help: { type: 'boolean', says: 'print this' },
} as const satisfies Record<string, Described>;

const RECEIVER_OPTIONS = {
  ...STORE_OPTIONS,
  contestant: { type: 'string', multiple: true, says: 'only this contestant; may be given again' },
  node: { type: 'string', says: 'the Node that runs the contestants; default: this one' },
} as const satisfies Record<string, Described>;

const LOAD_EPOCHS = 3;
const LOAD_SECONDS = 2;
const LOAD_MINUTES = 8;

const LOAD_OPTIONS = {
  store: { type: 'string', multiple: true, says: 'only this store; may be given again' },
  distance: { type: 'string', multiple: true, says: 'only this distance in ms; may be given again' },
  epochs: { type: 'string', says: `epochs of each store and distance; default ${LOAD_EPOCHS}` },
  seconds: { type: 'string', says: `length of a window; default ${LOAD_SECONDS}` },
  minutes: { type: 'string', says: `start nothing that would end later; default ${LOAD_MINUTES}` },
  file: { type: 'string', says: 'where results are kept; default .scratch/bench/load.json' },
  write: { type: 'boolean', says: 'write table and plot into docs/project/benchmarks.md' },
  gate: STORE_OPTIONS.gate,
  help: STORE_OPTIONS.help,
} as const satisfies Record<string, Described>;

export interface Options {
  /** Empty: all. */
  readonly profiles: readonly string[];
  readonly epochs: number;
  readonly rounds: number;
  readonly ab: string | undefined;
  readonly gate: boolean;
  /** What to print instead of measuring. */
  readonly help: string | undefined;
}

export interface ReceiverOptions extends Options {
  /** Empty: all. */
  readonly contestants: readonly string[];
  readonly node: string;
}

export interface LoadOptions extends Pick<Options, 'epochs' | 'gate' | 'help'> {
  /** Empty: all. */
  readonly stores: readonly string[];
  /** Empty: all. */
  readonly distances: readonly number[];
  readonly seconds: number;
  readonly minutes: number;
  readonly file: string | undefined;
  readonly write: boolean;
}

/** Something that was typed is wrong; the message says what to type. */
export class UsageError extends Error {}

/** Of `npm run bench:stores`. */
export function storeOptions(args: readonly string[], profiles: readonly string[]): Options {
  const values = parse(args, STORE_OPTIONS);
  const help = `npm run bench:stores [-- OPTIONS]

Measures what a claim and its completion cost in each store, relative to a single round trip of the same client.`;
  return checked(values, { help, profiles, options: STORE_OPTIONS });
}

/** Of `npm run bench`. */
export function receiverOptions(args: readonly string[], profiles: readonly string[]): ReceiverOptions {
  const values = parse(args, RECEIVER_OPTIONS);
  if (values.gate && values.contestant)
    throw new UsageError('--gate needs every contestant. Leave out --contestant.');
  const help = `npm run bench [-- OPTIONS]

Measures what a delivery costs, compared with receivers by hand and those of other packages.`;
  return {
    ...checked(values, { help, profiles, options: RECEIVER_OPTIONS }),
    contestants: values.contestant ?? [],
    node: values.node ?? process.execPath,
  };
}

/** Of `npm run bench:load`. */
export function loadOptions(
  args: readonly string[],
  stores: readonly string[],
  distances: readonly number[],
): LoadOptions {
  const values = parse(args, LOAD_OPTIONS);
  const far = (values.distance ?? []).map(Number);
  oneOf('store', values.store ?? [], stores);
  oneOf('distance', far, distances);
  const help = `npm run bench:load [-- OPTIONS]

Measures how long deliveries take at a rate, and the largest rate of which 99 of 100 are answered within 100 ms: with each
store at each distance, next to a receiver by hand. What is measured is kept: run it again until nothing is left.

Stores: ${stores.join(', ')}. Distances: ${distances.join(', ')}.`;
  return {
    stores: values.store ?? [],
    distances: far,
    epochs: count('epochs', values.epochs, LOAD_EPOCHS),
    seconds: count('seconds', values.seconds, LOAD_SECONDS),
    minutes: count('minutes', values.minutes, LOAD_MINUTES),
    file: values.file,
    write: values.write ?? false,
    gate: values.gate ?? false,
    help: values.help ? `${help}\n\n${linesOf(LOAD_OPTIONS)}\n` : undefined,
  };
}

function oneOf(
  option: string,
  given: readonly (string | number)[],
  known: readonly (string | number)[],
): void {
  const unknown = given.find((value) => !known.includes(value));
  if (unknown !== undefined)
    throw new UsageError(`--${option}: there is no "${unknown}". Choose from ${known.join(', ')}.`);
}

function linesOf(options: Record<string, Described>): string {
  return Object.entries(options)
    .map(([name, { says }]) => `  ${`--${name}`.padEnd(14)} ${says}`)
    .join('\n');
}

function parse<Known extends Record<string, Described>>(args: readonly string[], options: Known) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new UsageError(`${(error as Error).message} The options are ${names.join(', ')}.`);
  }
}

function checked(
  values: ReturnType<typeof parse<typeof STORE_OPTIONS>>,
  {
    help,
    profiles: known,
    options,
  }: { help: string; profiles: readonly string[]; options: Record<string, Described> },
): Options {
  const { profile: profiles = [], gate = false } = values;
  const unknown = profiles.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--profile: there is no "${unknown}". The profiles are ${known.join(', ')}.`);
  return {
    profiles,
    ab: values.ab,
    gate,
    help: values.help ? `${help}\n\nProfiles: ${known.join(', ')}.\n\n${linesOf(options)}\n` : undefined,
    epochs: count('epochs', values.epochs, EPOCHS),
    rounds: count('rounds', values.rounds, ROUNDS),
  };
}

function count(name: string, given: string | undefined, standard: number): number {
  const number = Number(given ?? standard);
  if (!(Number.isInteger(number) && number > 0))
    throw new UsageError(`--${name} must be a whole number above 0; it is "${given}".`);
  return number;
}
