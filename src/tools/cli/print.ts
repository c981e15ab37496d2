// How commands print: tables, progress, colours; control characters are escaped.
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Terminal } from './command.js';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow';
export type Paint = (style: Style, text: string) => string;

/** Colours only on a terminal, and never with `NO_COLOR` (https://no-color.org). */
export function painter(stream: { readonly isTTY?: boolean }, env: Terminal['env']): Paint {
  const plain = !stream.isTTY || Boolean(env.NO_COLOR) || env.TERM === 'dumb';
  return (style, text) => (plain ? text : styleText(style, text, { validateStream: false }));
}

export function unicodeEscape(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
}

/** Escapes control characters, so that text from outside cannot control the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, unicodeEscape);
}

export function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${printable(line)}`.trimEnd()).join('\n');
}

/**
 * Rows in columns as wide as their longest cell; the cells are made printable. On a narrower terminal each row is a
 * paragraph with a line per cell, which the first row names.
 */
export function table(rows: readonly (readonly string[])[], room = Number.POSITIVE_INFINITY): string {
  const cells = rows.map((row) => row.map(printable));
  // Not Math.max(...rows): it overflows the stack at about 120,000 rows.
  const widest = (column: number) => cells.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0);
  const widths = (cells[0] ?? []).map((_, column) => widest(column));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  if (widths.reduce((sum, width) => sum + width + 2, -2) <= room)
    return cells.map((row) => line(row).join('  ').trimEnd()).join('\n');
  const [names = [], ...others] = cells;
  const named = (row: string[]) =>
    table(row.flatMap((cell, column) => (cell ? [[names[column] ?? '', cell]] : [])));
  return others.map(named).join('\n\n');
}

export function print(stream: Writable, text: string): void {
  stream.write(`${text}\n`);
}

/** Prints records while a command runs: as text, or with --json as one JSON object per line. */
export function outputTo({ stdout, stderr, env }: Terminal, json: boolean) {
  return {
    json,
    paint: painter(stdout, env),
    print: (record: object, text: string) => print(stdout, json ? JSON.stringify(record) : text),
    /** On standard error, also with --json. */
    note: (text: string) => print(stderr, printable(text)),
  };
}

export type Output = ReturnType<typeof outputTo>;

const WIDTH = 24;

/** On standard error, if that is a terminal. */
export function progressBar({ stderr }: Terminal) {
  const line = (text: string) => {
    if (!stderr.isTTY) return;
    // A line that wraps could not be erased.
    const room = (stderr.columns || Number.POSITIVE_INFINITY) - 1;
    stderr.write(`\r\u001b[K${text.slice(0, room)}`);
  };
  return {
    line,
    /** @param more printable text for the end of the line */
    show(done: number, total: number, more = ''): void {
      const filled = total > 0 ? Math.floor((Math.min(done, total) / total) * WIDTH) : WIDTH;
      const bar = '#'.repeat(filled).padEnd(WIDTH, '-');
      line(`[${bar}] ${done} of ${total}${more && `, ${more}`}`);
    },
    end: () => line(''),
  };
}

export type ProgressBar = ReturnType<typeof progressBar>;
