// Picks the command that a command line names, reads its options, and turns failures into exit codes.
import { parseArgs } from 'node:util';
import { didYouMean } from '../nearest-name.js';
import {
  type Command,
  EXIT,
  type ExitCode,
  type Invocation,
  type Options,
  type Row,
  type Terminal,
  UsageError,
} from './command.js';
import { commands, findCommand } from './commands.js';
import { print } from './print.js';

/** Runs a command line, without the two words that Node puts before it. Never rejects. */
export async function main(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const json = argv.includes('--json');
  try {
    return await dispatch(argv, terminal);
  } catch (error) {
    const { describeFailure } = await import('./failure.js');
    const { text, line, exitCode } = describeFailure(error);
    print(terminal.stderr, json ? JSON.stringify(line) : text);
    if (error instanceof UsageError && !json) print(terminal.stderr, `See ${helpFor(argv)}`);
    return exitCode;
  }
}

async function dispatch(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [first] = argv;
  if (first === '--version' || first === '-V') {
    print(terminal.stdout, (await import('./version.js')).version());
    return EXIT.ok;
  }
  const words = first === 'help' ? [...argv.slice(1), '--help'] : argv;
  const found = findCommand(words);
  if (!found) return unknown(words, terminal);
  const command = await found.row.load();
  if (found.rest.includes('--help') || found.rest.includes('-h')) {
    const { commandHelp } = await import('./help.js');
    terminal.stdout.write(commandHelp(found.row, command));
    return EXIT.ok;
  }
  return command.run({ ...readOptions(found.row, command, found.rest), terminal, commands });
}

/** The overview, or an error, for words that name no command. */
async function unknown(words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [first = '', second] = words;
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  const asked = words.includes('--help') || words.includes('-h');
  if (asked || first === '') {
    const { overview } = await import('./help.js');
    const stream = asked ? terminal.stdout : terminal.stderr;
    stream.write(overview(group.length > 0 ? group : commands));
    return asked ? EXIT.ok : EXIT.refused;
  }
  if (group.length > 0) {
    const names = group.map(({ name }) => name.slice(first.length + 1));
    const hint = second === undefined ? '' : didYouMean(second, names);
    throw new UsageError(`\`${first}\` takes one of ${names.join(', ')}.${hint}`);
  }
  const names = new Set(commands.flatMap(({ name }) => [name, name.split(' ')[0] ?? name]));
  if (first.startsWith('-')) throw new UsageError(`The command comes first, and then its options.`);
  throw new UsageError(`There is no command ${quoted(first)}.${didYouMean(first, names)}`);
}

function readOptions(
  { name }: Row,
  command: Command,
  args: readonly string[],
): Pick<Invocation<Options>, 'values' | 'positionals'> {
  const parsed = parse(command.options, args);
  const { positionals } = parsed;
  const required = command.arguments.filter(({ optional }) => !optional);
  const missing = command.arguments[positionals.length];
  if (positionals.length < required.length && missing) {
    throw new UsageError(`\`${name}\` needs ${missing.name}: ${missing.about}`);
  }
  if (positionals.length > command.arguments.length) {
    throw new UsageError(`\`${name}\` takes no argument ${quoted(positionals[command.arguments.length])}.`);
  }
  return { values: parsed.values as Invocation<Options>['values'], positionals };
}

function parse(options: Options, args: readonly string[]) {
  const config = Object.entries(options).map(([option, { type, multiple = false }]) => [
    option,
    { type, multiple },
  ]);
  try {
    return parseArgs({ args: [...args], options: Object.fromEntries(config), allowPositionals: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [, option = ''] = /--([\w-]+)/.exec(message) ?? [];
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw new UsageError(message.split('\n')[0] ?? message);
    throw new UsageError(unknownOption(option, Object.keys(options)));
  }
}

function unknownOption(option: string, known: readonly string[]): string {
  if (/^(private-?)?key$|^(access-?)?token$|^secret$/.test(option)) {
    return `There is no --${option}: whatever stands on the command line can be read by every user of this machine. Use SERVICE_PRIVATE_KEY or --key-file.`;
  }
  const name = didYouMean(option, known);
  return `There is no option ${option === '' ? 'like that' : `--${option}`}.${name.replace(/"(.+)"/, '"--$1"')}`;
}

function helpFor(argv: readonly string[]): string {
  const name = findCommand(argv)?.row.name;
  return `payment-webhooks ${name ? `${name} ` : ''}--help`;
}

function quoted(word: unknown): string {
  return JSON.stringify(String(word).slice(0, 80));
}
