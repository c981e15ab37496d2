// The help texts, from the table of commands, and the version of the package.
import type { Command, Row } from './command.js';
import { manifest } from './packaged.js';

/** Of lines to read. A command to copy stays one line. */
const MAX_WIDTH = 78;
/** Beside a description. */
const LEAST_ROOM = 24;

export function packageVersion(): string {
  return JSON.parse(String(manifest().get('package.json'))).version;
}

type Described = readonly [name: string, about: string];

export function overview(rows: readonly Row[], columns?: number): string {
  const room = widthOf(columns);
  const width = Math.max(...rows.map(({ name }) => name.length));
  const sections = [...new Set(rows.map(({ topic }) => topic))].map((topic) =>
    section(topic, rows.filter((row) => row.topic === topic).map(summaryRow), room, width),
  );
  const codes = Object.entries(EXIT_CODES).map(([code, about]): Described => [code, about]);
  return `${wrap('Receive, test and manage the signed webhooks of a payment service.', '', room)}

Usage: payment-webhooks <command> [options]

${sections.join('\n\n')}

Examples
  payment-webhooks simulate --forward 3000/hooks
  payment-webhooks trigger transaction.paid
  printf %s '{"a":1}' | payment-webhooks sign
  payment-webhooks doctor http://localhost:3000/hooks
  payment-webhooks webhooks ensure https://shop.example/hooks --live

${wrap(KEYS, '', room)}

${section('Exit codes', codes, room)}

${wrap('`payment-webhooks <command> --help` shows the options of a command.', '', room)}
`;
}

const KEYS =
  'The private key comes from SERVICE_PRIVATE_KEY or --key-file, never from the command line, because every user of the machine can read the command line.';

const EXIT_CODES: Readonly<Record<string, string>> = {
  0: 'success',
  1: 'the delivery or check failed, a dead letter is left, or the service answered an error',
  2: 'wrong usage, a missing key, or a refusal',
  3: 'nothing listens at the address',
  4: 'timed out',
};

function widthOf(columns: number | undefined): number {
  return Math.min(columns || MAX_WIDTH, MAX_WIDTH);
}

export async function groupHelp(first: string, rows: readonly Row[], columns?: number): Promise<string> {
  const room = widthOf(columns);
  const loaded = await Promise.all(rows.map(({ load }) => load()));
  const sections = [
    `Usage: payment-webhooks ${first} <command> [options]`,
    section('Commands', rows.map(summaryRow), room),
    examplesText(
      loaded.flatMap(({ examples }) => Object.entries(examples).slice(0, 1)),
      room,
    ),
    wrap(`\`payment-webhooks ${first} <command> --help\` shows the options of a command.`, '', room),
  ];
  return `${sections.join('\n\n')}\n`;
}

const BELOW = ' '.repeat(6);

function summaryRow({ name, summary }: Row): Described {
  return [name, summary];
}

/** @param width at least, of the left column */
function section(title: string, rows: readonly Described[], room: number, width = 0): string {
  const left = Math.max(width, ...rows.map(([name]) => name.length)) + 4;
  const line = ([name, about]: Described) =>
    room - left < LEAST_ROOM
      ? `  ${name}\n${BELOW}${wrap(about, BELOW, room)}`
      : `  ${name.padEnd(left - 2)}${wrap(about, ' '.repeat(left), room)}`;
  const lines = rows.map(line);
  return [title, ...lines].join('\n');
}

function examplesText(examples: readonly (readonly [line: string, purpose: string])[], room: number): string {
  return `Examples\n${examples.map(([line, purpose]) => `  # ${wrap(purpose, '  # ', room)}\n  ${line}`).join('\n')}`;
}

export function commandHelp({ name }: Row, command: Command, columns?: number): string {
  const room = widthOf(columns);
  const positionals = command.arguments.map(({ name, optional }) => (optional ? `[${name}]` : name));
  const known = command.arguments.map(({ name, about }): Described => [name, about]);
  const options = Object.entries(command.options).map(([name, option]): Described => {
    const { type, value = 'TEXT', multiple, about } = option;
    return [`--${name}${type === 'string' ? ` ${value}` : ''}${multiple ? ' …' : ''}`, about];
  });
  const sections = [
    `Usage: ${['payment-webhooks', name, ...positionals, '[options]'].join(' ')}`,
    wrap(command.about, '', room),
    ...(known.length === 0 ? [] : [section('Arguments', known, room)]),
    section('Options', [...options, ['-h, --help', 'Show this help.']], room),
    examplesText(Object.entries(command.examples), room),
  ];
  return `${sections.join('\n\n')}\n`;
}

/** Breaks a text between words, and indents every line but the first. */
function wrap(text: string, indent: string, room: number): string {
  const wholeWords = new RegExp(`\\S.{0,${room - indent.length - 1}}(?= |$)|\\S+`, 'g');
  return text.match(wholeWords)?.join(`\n${indent}`) ?? '';
}
