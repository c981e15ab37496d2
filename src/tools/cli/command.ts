// What a command is: its arguments and options as data, and the function that runs it.
import type { Readable, Writable } from 'node:stream';

/** Where a command reads and writes; the process itself is one. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What the shell completes a value with: file names, event names, or these words. */
export type Offer = 'file' | 'event' | readonly string[];

export interface Option {
  readonly type: 'string' | 'boolean';
  /** Whether it may be given several times. */
  readonly multiple?: boolean;
  /** The placeholder of the value in help, such as `FILE`. */
  readonly value?: string;
  /** A valid value, for the error when it is missing. */
  readonly example?: string;
  readonly about: string;
  readonly offer?: Offer;
  /** Another name that works and is not shown: a former one, or that of the same option of another command. */
  readonly alias?: string;
}

export type Options = Readonly<Record<string, Option>>;

export interface Argument {
  readonly name: string;
  readonly optional?: boolean;
  readonly about: string;
  readonly offer?: Offer;
}

type Value<Kind extends Option> = Kind extends { type: 'boolean' }
  ? boolean
  : Kind extends { multiple: true }
    ? string[]
    : string;

/** What was typed, by the name of the option. */
export type Values<Known extends Options> = { readonly [Name in keyof Known]?: Value<Known[Name]> };

/** A command in the table of all commands. */
export interface Row {
  /** One word, or two for a command of a group. */
  readonly name: string;
  /** The heading in the overview under which it stands. */
  readonly topic: string;
  readonly summary: string;
  /** Called when the command is needed, so that no command waits for the imports of another. */
  readonly load: () => Promise<Command>;
}

/** A command line that was parsed. */
export interface Invocation<Known extends Options> {
  readonly positionals: readonly string[];
  readonly values: Values<Known>;
  readonly terminal: Terminal;
  readonly commands: readonly Row[];
}

/** What a command found. */
export interface Result {
  /** For programs: one line of JSON each. */
  readonly values: readonly unknown[];
  /** For people, on standard output. */
  readonly text: string;
  /** Printed on standard error. */
  readonly notes?: Iterable<string>;
  /** Default: 0. */
  readonly exitCode?: ExitCode;
}

export interface Command<Known extends Options = Options> {
  /** What a person should know before the first use. */
  readonly about: string;
  readonly arguments: readonly Argument[];
  readonly options: Known;
  /** The purpose of each, by the whole command line. */
  readonly examples: Readonly<Record<string, string>>;
  /** Resolves with the exit code alone when the command printed its result itself. */
  run(invocation: Invocation<Known>): Promise<Result | ExitCode>;
}

/** Infers the types of the values from the options; a command without arguments need not say so. */
export function command<const Known extends Options>(
  definition: Omit<Command<Known>, 'arguments'> & Partial<Pick<Command, 'arguments'>>,
): Command<Known> {
  return { arguments: [], ...definition };
}

export const EXIT = {
  ok: 0,
  /** The delivery or check failed, a dead letter is left, or the service answered an error. */
  failed: 1,
  /** Wrong usage, a missing key, or a refusal to do what was asked. */
  refused: 2,
  /** Nothing listens there. */
  unreachable: 3,
  timedOut: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** For a connection that failed with this code. */
export function connectionExitCode(code: string | undefined): ExitCode {
  const isUnreachable = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/.test(code ?? '');
  return isUnreachable ? EXIT.unreachable : EXIT.failed;
}

/** Ends a command with a message for a person, and an exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;
  readonly code: string;

  constructor(message: string, exitCode: ExitCode = EXIT.refused, code = 'REFUSED') {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
  }
}

/** The command line is wrong; the message is followed by where to find help. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, EXIT.refused, 'USAGE');
  }
}

/**
 * An option with a value.
 *
 * @param value the placeholder in help, with a valid value for the error when it is missing: `{ FILE: 'key.txt' }`
 */
export function text<const More extends Partial<Pick<Option, 'multiple' | 'offer' | 'alias'>> = {}>(
  value: Readonly<Record<string, string>>,
  about: string,
  more?: More,
) {
  const [[placeholder = '', example = ''] = []] = Object.entries(value);
  return { type: 'string', value: placeholder, example, about, ...(more as More) } as const;
}

/** An option without a value. */
export function flag(about: string) {
  return { type: 'boolean', about } as const;
}

export const jsonOption = flag('Print one JSON object per line, for programs.');

export const keyFileOption = text(
  { FILE: 'key.txt' },
  'Read the private key from this file instead of SERVICE_PRIVATE_KEY.',
  { offer: 'file' },
);
