// What a command consists of: arguments and options as data, and the function that runs it.
import type { Readable, Writable } from 'node:stream';

/** Streams and environment of a command, such as `process`. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** `columns` of a terminal only, not of a pipe. */
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Option {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** The placeholder of the value in help, such as `FILE`. */
  readonly value?: string;
  /** A valid value, for the error when it is missing. */
  readonly example?: string;
  readonly about: string;
  /** Also accepted, but not shown: an earlier name, or the name that another command uses. */
  readonly alias?: string;
  /** Reads the value that was given for `name`. Without it the value is the text. @throws {UsageError} */
  readonly read?: (name: string, text: string) => unknown;
}

export type Options = Readonly<Record<string, Option>>;

export interface Argument {
  readonly name: string;
  readonly about: string;
  readonly optional?: boolean;
  readonly read?: (name: string, text: string) => string;
}

type Single<Kind extends Option> = Kind extends { read(name: string, text: string): infer Read }
  ? Read
  : string;
type Value<Kind extends Option> = Kind extends { type: 'boolean' }
  ? boolean
  : Kind extends { multiple: true }
    ? Single<Kind>[]
    : Single<Kind>;

/** The values of the options that were given. */
export type Values<Known extends Options> = { readonly [Name in keyof Known]?: Value<Known[Name]> };

export interface Row {
  /** One word, or two for a command of a group. */
  readonly name: string;
  /** Its heading in the overview. */
  readonly topic: string;
  readonly summary: string;
  /** Imports the command when it is needed, so that starting one command does not import the others. */
  readonly load: () => Promise<Command>;
}

export interface Invocation<Known extends Options> {
  readonly positionals: readonly string[];
  readonly values: Values<Known>;
  readonly terminal: Terminal;
}

export interface Result {
  /** With --json, one line each. */
  readonly values: readonly unknown[];
  readonly text: string;
  readonly notes?: Iterable<string>;
  /** Default: 0. */
  readonly exitCode?: ExitCode;
}

export interface Command<Known extends Options = Options> {
  readonly about: string;
  readonly arguments: readonly Argument[];
  readonly options: Known;
  /** Command lines, each with its purpose. */
  readonly examples: Readonly<Record<string, string>>;
  /** Resolves with an exit code if the command has printed its result itself. */
  run(invocation: Invocation<Known>): Promise<Result | ExitCode>;
}

/** Infers the types of the values from the options. */
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
  unreachable: 3,
  timedOut: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export function connectionExitCode(code: string | undefined): ExitCode {
  if (code === 'TIMED_OUT') return EXIT.timedOut;
  const isUnreachable = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/.test(code ?? '');
  return isUnreachable ? EXIT.unreachable : EXIT.failed;
}

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

/** The command line is wrong. The message is followed by a hint to `--help`. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, EXIT.refused, 'USAGE');
  }
}

/** @param value its placeholder in help, and a valid one for the error when it is missing: `{ FILE: 'key.txt' }` */
export function text<const More extends Partial<Pick<Option, 'multiple' | 'alias' | 'read'>> = {}>(
  value: Readonly<Record<string, string>>,
  about: string,
  more?: More,
) {
  const [[placeholder = '', example = ''] = []] = Object.entries(value);
  return { type: 'string', value: placeholder, example, about, ...(more as NoInfer<More>) } as const;
}

export function flag(about: string) {
  return { type: 'boolean', about } as const;
}

export const jsonOption = flag('Print one JSON object per line, for programs.');

export const keyFileOption = text(
  { FILE: 'key.txt' },
  'Read the private key from this file instead of SERVICE_PRIVATE_KEY.',
);
