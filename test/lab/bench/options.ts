// The options of `npm run bench`, `bench:stores` and `bench:load`, and the errors for wrong ones.
import { parseArgs } from 'node:util';

type Described = Readonly<
  Record<string, { type: 'string' | 'boolean'; multiple?: boolean; default?: string; says: string }>
>;

/** Fewer epochs cannot tell two builds apart: processes of one build differ by 5 to 10 %. */
export const EPOCHS = 8;
const ROUNDS = 4;

const STORE_OPTIONS = {
  profile: { type: 'string', multiple: true, says: 'only this profile; may be given again' },
  epochs: { type: 'string', default: `${EPOCHS}`, says: `epochs of each profile; default ${EPOCHS}` },
  rounds: {
    type: 'string',
    default: `${ROUNDS}`,
    says: `windows of each contestant in an epoch; default ${ROUNDS}`,
  },
  ab: { type: 'string', says: 'compare the working tree with this commit' },
  gate: { type: 'boolean', says: 'exit with 1 when a whole interval is beyond its gate' },
  help: { type: 'boolean', says: 'print this' },
} as const satisfies Described;

const RECEIVER_OPTIONS = {
  ...STORE_OPTIONS,
  contestant: { type: 'string', multiple: true, says: 'only this contestant; may be given again' },
  node: { type: 'string', says: 'the Node that runs the contestants; default: this one' },
} as const satisfies Described;

const LOAD_OPTIONS = {
  store: { type: 'string', multiple: true, says: 'only this store; may be given again' },
  distance: { type: 'string', multiple: true, says: 'only this distance in ms; may be given again' },
  epochs: { type: 'string', default: '3', says: 'epochs of each store and distance; default 3' },
  seconds: { type: 'string', default: '2', says: 'length of a window; default 2' },
  minutes: { type: 'string', default: '8', says: 'start nothing that would end later; default 8' },
  file: { type: 'string', says: 'where results are kept; default .scratch/bench/load.json' },
  write: { type: 'boolean', says: 'write table and plot into docs/project/benchmarks.md' },
  gate: STORE_OPTIONS.gate,
  help: STORE_OPTIONS.help,
} as const satisfies Described;

/** An empty list means all. `help` is printed instead of measuring anything. */
export type Options = ReturnType<typeof storeOptions>;
export type ReceiverOptions = ReturnType<typeof receiverOptions>;
export type LoadOptions = ReturnType<typeof loadOptions>;

/** A wrong option; the message says what to type instead. */
export class UsageError extends Error {}

/** Of `npm run bench:stores`. */
export function storeOptions(args: readonly string[], known: readonly string[]) {
  const values = parse(args, STORE_OPTIONS);
  const help = `npm run bench:stores [-- OPTIONS]

Measures what a claim and its completion cost in each store, relative to a single round trip of the same client.`;
  return profileOptions(values, known, helpOf(`${help}\n\nProfiles: ${known.join(', ')}.`, STORE_OPTIONS));
}

/** Of `npm run bench`. */
export function receiverOptions(args: readonly string[], known: readonly string[]) {
  const values = parse(args, RECEIVER_OPTIONS);
  if (values.gate && values.contestant)
    throw new UsageError('--gate needs every contestant. Leave out --contestant.');
  const help = `npm run bench [-- OPTIONS]

Measures what a delivery costs, compared with receivers by hand and those of other packages.`;
  return {
    ...profileOptions(values, known, helpOf(`${help}\n\nProfiles: ${known.join(', ')}.`, RECEIVER_OPTIONS)),
    contestants: values.contestant ?? [],
    node: values.node ?? process.execPath,
  };
}

function profileOptions(
  values: ReturnType<typeof parse<typeof STORE_OPTIONS>>,
  known: readonly string[],
  help: string,
) {
  const { profile: profiles = [], ab, gate = false } = values;
  oneOf('profile', profiles, known, 'The profiles are');
  return {
    profiles,
    epochs: count('epochs', values.epochs),
    rounds: count('rounds', values.rounds),
    ab,
    gate,
    help: values.help ? help : undefined,
  };
}

/** Of `npm run bench:load`. */
export function loadOptions(
  args: readonly string[],
  stores: readonly string[],
  distances: readonly number[],
) {
  const { store = [], distance = [], ...values } = parse(args, LOAD_OPTIONS);
  const help = `npm run bench:load [-- OPTIONS]

Measures how long deliveries take at a rate, and the largest rate of which 99 of 100 are answered within 100 ms: with each
store at each distance, next to a receiver by hand. What is measured is kept: run it again until nothing is left.

Stores: ${stores.join(', ')}. Distances: ${distances.join(', ')}.`;
  return {
    stores: oneOf('store', store, stores),
    distances: oneOf('distance', distance.map(Number), distances),
    epochs: count('epochs', values.epochs),
    seconds: count('seconds', values.seconds),
    minutes: count('minutes', values.minutes),
    file: values.file,
    write: values.write ?? false,
    gate: values.gate ?? false,
    help: values.help ? helpOf(help, LOAD_OPTIONS) : undefined,
  };
}

/** Throws when one of the values is unknown. */
export function oneOf<Value extends string | number>(
  option: string,
  given: readonly Value[],
  known: readonly Value[],
  choose = 'Choose from',
): readonly Value[] {
  const unknown = given.find((value) => !known.includes(value));
  if (unknown === undefined) return given;
  throw new UsageError(`--${option}: there is no "${unknown}". ${choose} ${known.join(', ')}.`);
}

function helpOf(text: string, options: Described): string {
  const lines = Object.entries(options).map(([name, { says }]) => `  ${`--${name}`.padEnd(14)} ${says}`);
  return `${text}\n\n${lines.join('\n')}\n`;
}

function parse<Known extends Described>(args: readonly string[], options: Known) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new UsageError(`${(error as Error).message} The options are ${names.join(', ')}.`);
  }
}

function count(name: string, given: string): number {
  const number = Number(given);
  if (!(Number.isInteger(number) && number > 0))
    throw new UsageError(`--${name} must be an integer above 0; it is "${given}".`);
  return number;
}
