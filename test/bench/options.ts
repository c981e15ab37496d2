// What may be typed after `npm run bench --` and `npm run bench:stores --`, and what is said about mistakes in it.
import { parseArgs } from 'node:util';

export interface Described {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** What follows the option. */
  readonly value?: string;
  readonly says: string;
}

/** Fewer epochs cannot tell two builds apart: processes of one build differ by 5 to 10 %. */
export const EPOCHS = 8;
const ROUNDS = 4;
const MINUTES = 8.5;

export const STORE_OPTIONS = {
  profile: { type: 'string', multiple: true, value: 'NAME', says: 'only this profile; may be given again' },
  epochs: { type: 'string', value: 'N', says: `epochs of each profile; default ${EPOCHS}` },
  rounds: { type: 'string', value: 'N', says: `windows of each contestant in an epoch; default ${ROUNDS}` },
  minutes: {
    type: 'string',
    value: 'N',
    says: `stop between two epochs before this time is over; default ${MINUTES}`,
  },
  fresh: { type: 'boolean', says: 'delete the epochs measured so far and start over' },
  gate: { type: 'boolean', says: 'exit with 1 when a whole interval is beyond its gate' },
  help: { type: 'boolean', says: 'print this' },
} as const satisfies Record<string, Described>;

export const RECEIVER_OPTIONS = {
  ...STORE_OPTIONS,
  contestant: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    says: 'only this contestant; may be given again',
  },
  ab: {
    type: 'string',
    value: 'COMMIT',
    says: 'compare the working tree with this commit; default profile: accept',
  },
  node: { type: 'string', value: 'PROGRAM', says: 'the Node that runs the contestants; default: this one' },
} as const satisfies Record<string, Described>;

export interface Options {
  /** Empty: all. */
  readonly profiles: readonly string[];
  readonly epochs: number;
  readonly rounds: number;
  readonly minutes: number;
  readonly fresh: boolean;
  readonly gate: boolean;
  readonly help: boolean;
}

export interface ReceiverOptions extends Options {
  /** Empty: all. */
  readonly contestants: readonly string[];
  readonly ab: string | undefined;
  readonly node: string;
}

/** Something that was typed is wrong; the message says what to type. */
export class UsageError extends Error {}

/** Of `npm run bench:stores`. */
export function storeOptions(args: readonly string[], profiles: readonly string[]): Options {
  return checked(parse(args, STORE_OPTIONS), profiles);
}

/** Of `npm run bench`. */
export function receiverOptions(args: readonly string[], profiles: readonly string[]): ReceiverOptions {
  const values = parse(args, RECEIVER_OPTIONS);
  if (values.gate && (values.ab !== undefined || values.contestant))
    throw new UsageError('--gate needs every contestant of one build. Leave out --ab and --contestant.');
  return {
    ...checked(values, profiles),
    contestants: values.contestant ?? [],
    ab: values.ab,
    node: values.node ?? process.execPath,
  };
}

function parse<Known extends Record<string, Described>>(args: readonly string[], options: Known) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const message = (error as Error).message;
    const unknown = /^Unknown option '([^']+)'/.exec(message)?.[1];
    const names = Object.keys(options).map((name) => `--${name}`);
    throw new UsageError(
      `${unknown ? `Unknown option ${unknown}.` : message} The options are ${names.join(', ')}.`,
    );
  }
}

function checked(values: ReturnType<typeof parse<typeof STORE_OPTIONS>>, known: readonly string[]): Options {
  const { profile: profiles = [], fresh = false, gate = false, help = false } = values;
  const unknown = profiles.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--profile: there is no "${unknown}". The profiles are ${known.join(', ')}.`);
  return {
    profiles,
    fresh,
    gate,
    help,
    epochs: whole('epochs', values.epochs, EPOCHS),
    rounds: whole('rounds', values.rounds, ROUNDS),
    minutes: positive('minutes', values.minutes, MINUTES),
  };
}

function whole(name: string, given: string | undefined, standard: number): number {
  const number = positive(name, given, standard);
  if (!Number.isInteger(number)) throw new UsageError(`--${name} must be a whole number; it is "${given}".`);
  return number;
}

function positive(name: string, given: string | undefined, standard: number): number {
  const number = Number(given ?? standard);
  if (!(number > 0 && number < Number.POSITIVE_INFINITY))
    throw new UsageError(`--${name} must be a number above 0; it is "${given}".`);
  return number;
}
