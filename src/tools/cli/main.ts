// Finds the command, parses its options, runs it, and prints its result or failure.

import { parseArgs } from 'node:util';
import { didYouMean, nearestName } from '../../misuse.js';
import {
  type Command,
  EXIT,
  type ExitCode,
  type Invocation,
  type Options,
  type Result,
  type Row,
  type Terminal,
  UsageError,
} from './command.js';
import { commands, findCommand } from './commands.js';
import { print } from './print.js';

/** @param argv without `node` and the path of the program */
export async function main(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const { stdout, stderr } = terminal;
  const json = argv.includes('--json');
  try {
    const result = await runCommand(argv, terminal);
    if (typeof result === 'number') return result;
    const { values, text, notes = [], exitCode = EXIT.ok } = result;
    if (json) for (const value of values) print(stdout, JSON.stringify(value));
    else if (text !== '') print(stdout, text);
    for (const note of notes) print(stderr, note);
    return exitCode;
  } catch (error) {
    const { describeFailure } = await import('./failure.js');
    const { text, line, exitCode } = describeFailure(error, terminal.env);
    print(stderr, json ? JSON.stringify(line) : text);
    if (error instanceof UsageError && !json) {
      const [first = ''] = argv;
      const name = findCommand(argv)?.row.name ?? (groupOf(first).length > 0 ? first : undefined);
      print(stderr, `See payment-webhooks ${name ? `${name} ` : ''}--help`);
    }
    return exitCode;
  }
}

async function runCommand(argv: readonly string[], terminal: Terminal): Promise<Result | ExitCode> {
  const [first] = argv;
  if (first === '--version' || first === '-V') {
    const { packageVersion } = await import('./help.js');
    print(terminal.stdout, packageVersion());
    return EXIT.ok;
  }
  const words = first === 'help' ? [...argv.slice(1), '--help'] : argv;
  const wantsHelp = words.includes('--help') || words.includes('-h');
  const found = findCommand(words) ?? (wantsHelp ? endingWith(words) : undefined);
  if (!found) return withoutCommand(words, wantsHelp, terminal);
  const command = await found.row.load();
  if (!wantsHelp) return command.run({ ...parse(found.row.name, command, found.rest), terminal });
  const { commandHelp } = await import('./help.js');
  terminal.stdout.write(commandHelp(found.row, command, terminal.stdout.columns));
  return EXIT.ok;
}

function groupOf(first: string): readonly Row[] {
  return commands.filter(({ name }) => name.startsWith(`${first} `));
}

/** The only command whose last word this is: `resend --help` means `deliveries resend --help`. */
function endingWith([first, ...rest]: readonly string[]) {
  const [row, ...others] = commands.filter(({ name }) => name.endsWith(` ${first}`));
  return row && others.length === 0 ? { row, rest } : undefined;
}

/** Prints the overview or the help of a group, or throws for an unknown command. */
async function withoutCommand(words: readonly string[], wantsHelp: boolean, { stdout, stderr }: Terminal) {
  const [first = '', second = ''] = words;
  const group = groupOf(first);
  const isTyped = first !== '' && !first.startsWith('-');
  if (first === '' || (wantsHelp && (!isTyped || group.length > 0))) {
    const { groupHelp, overview } = await import('./help.js');
    const help =
      group.length > 0 ? await groupHelp(first, group, stdout.columns) : overview(commands, stdout.columns);
    (wantsHelp ? stdout : stderr).write(help);
    return wantsHelp ? EXIT.ok : EXIT.refused;
  }
  if (group.length > 0) {
    const names = group.map(({ name }) => name.slice(first.length + 1));
    throw new UsageError(`\`${first}\` needs one of ${names.join(', ')}.${didYouMean(second, names)}`);
  }
  if (first.startsWith('-')) throw new UsageError('Put the command first, then its options.');
  throw new UsageError(`There is no command ${quoted(first)}.${suggestion(first)}`);
}

/** Suggests the first word of a command, or each command with this second word. */
function suggestion(typed: string): string {
  const near = nearestName(typed, new Set(commands.flatMap(({ name }) => name.split(' '))));
  if (near === undefined) return '';
  const inGroups = commands.filter(({ name }) => name.endsWith(` ${near}`)).map(({ name }) => `"${name}"`);
  return ` Did you mean ${inGroups.length === 0 ? `"${near}"` : inGroups.join(' or ')}?`;
}

type Parsed = Pick<Invocation<Options>, 'values' | 'positionals'>;

function parse(name: string, { arguments: known, options }: Command, args: readonly string[]): Parsed {
  const { values: typed, positionals } = parseOptions(name, options, args);
  const missing = known[positionals.length];
  if (missing && !missing.optional) {
    throw new UsageError(`\`${name}\` needs ${missing.name}: ${missing.about}`);
  }
  if (positionals.length > known.length) {
    throw new UsageError(`\`${name}\` takes no argument ${quoted(positionals[known.length])}.`);
  }
  const values: Record<string, unknown> = {};
  for (const [option, { alias = option, read }] of Object.entries(options)) {
    const given = typed[option] ?? typed[alias];
    const readOne = (text: unknown) => (read ? read(`--${option}`, String(text)) : text);
    if (given !== undefined) values[option] = Array.isArray(given) ? given.map(readOne) : readOne(given);
  }
  return {
    values: values as Parsed['values'],
    positionals: positionals.map((text, index) => {
      const argument = known[index];
      return argument?.read ? argument.read(argument.name, text) : text;
    }),
  };
}

function parseOptions(name: string, options: Options, args: readonly string[]) {
  const aliases = Object.values(options).flatMap((option) => (option.alias ? [[option.alias, option]] : []));
  const known: Options = { ...Object.fromEntries(aliases), ...options };
  try {
    return parseArgs({ args: [...args], options: known, allowPositionals: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [typed = ''] = /--?[\w-]+/.exec(message) ?? [];
    const option = known[typed.slice(2)];
    if (code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' || !option) {
      throw new UsageError(unknownOption(name, typed, Object.keys(options)));
    }
    if (option.type === 'boolean') throw new UsageError(`${typed} takes no value.`);
    const hint = message.includes('ambiguous')
      ? ` A value that begins with a hyphen is written ${typed}=-x.`
      : '';
    throw new UsageError(`${typed} needs a value, such as ${typed} ${option.example}.${hint}`);
  }
}

/** @param typed with its hyphens */
function unknownOption(name: string, typed: string, known: readonly string[]): string {
  const option = typed.replace(/^--?/, '');
  if (/^(private-?)?key$|^(access-?)?token$|^secret$/.test(option)) {
    const use = known.includes('token-file') ? '--token-file' : 'SERVICE_PRIVATE_KEY or --key-file';
    return `--${option} does not exist, because every user of this machine can read the command line. Use ${use}.`;
  }
  const hint = didYouMean(option, known).replace(/"(.+)"/, '"--$1"');
  const all = [...known, 'help'].map((each) => `--${each}`).join(', ');
  return `Unknown option ${typed}.${hint} \`${name}\` takes ${all}.`;
}

function quoted(word: unknown): string {
  return JSON.stringify(String(word).slice(0, 80));
}
