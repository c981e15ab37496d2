// What a command of the command line is: its arguments and options as data, and the function that runs it.
import type { Readable, Writable } from 'node:stream';

/** Where a command reads and writes; the process itself is one. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What the shell should offer for a value: names of files, names of events, or these words. */
export type Offer = 'file' | 'event' | readonly string[];

export interface Option {
  readonly type: 'string' | 'boolean';
  /** May be given several times. */
  readonly multiple?: boolean;
  /** What stands for the value in help, such as `FILE`. */
  readonly value?: string;
  readonly about: string;
  readonly offer?: Offer;
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

/** A command in the table of all of them. */
export interface Row {
  /** One word, or two for a command of a group. */
  readonly name: string;
  readonly summary: string;
  /** Loaded when it is needed, so that no command waits for what another one imports. */
  readonly load: () => Promise<Command>;
}

/** A command line that has been read. */
export interface Invocation<Known extends Options> {
  readonly positionals: readonly string[];
  readonly values: { readonly [Name in keyof Known]?: Value<Known[Name]> };
  readonly terminal: Terminal;
  /** The table that this command stands in. */
  readonly commands: readonly Row[];
}

export interface Command<Known extends Options = Options> {
  /** What a person should know before the first use. */
  readonly about: string;
  readonly arguments: readonly Argument[];
  readonly options: Known;
  /** Whole command lines, each with what it is for. */
  readonly examples: readonly (readonly [line: string, purpose: string])[];
  /** Resolves with the exit code. */
  run(invocation: Invocation<Known>): Promise<ExitCode>;
}

/** Ties the types of the values to the options they belong to. */
export function command<const Known extends Options>(definition: Command<Known>): Command<Known> {
  return definition;
}

export const EXIT = {
  ok: 0,
  /** The delivery or check failed, or the service answered an error. */
  failed: 1,
  /** Usage, a missing key, or a refusal to do what was asked. */
  refused: 2,
  /** Nothing listens there. */
  nobody: 3,
  timedOut: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

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

/** The command line cannot be read; the message is followed by where to find help. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, EXIT.refused, 'USAGE');
  }
}

export const jsonOption = { type: 'boolean', about: 'One JSON object a line, for programs.' } as const;

export const keyFileOption = {
  type: 'string',
  value: 'FILE',
  about: 'Read the private key from this file instead of SERVICE_PRIVATE_KEY.',
  offer: 'file',
} as const;
