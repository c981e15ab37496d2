// What commands print: tables, progress, colours on a terminal; control characters made visible.
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Terminal } from './command.js';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow';
export type Paint = (style: Style, text: string) => string;

/** Colours for a stream: only for a terminal that has them, and never with `NO_COLOR` (https://no-color.org). */
export function painter(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  const plain = !stream.isTTY || Boolean(env.NO_COLOR) || env.TERM === 'dumb';
  return (style, text) => (plain ? text : styleText(style, text, { validateStream: false }));
}

/** A text from elsewhere that must not control the terminal: control characters as `\u001b`. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}

/** Each line two spaces in, and printable. */
export function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${printable(line)}`.trimEnd()).join('\n');
}

/** Rows in columns as wide as their longest cell; the cells are made printable. */
export function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  // A spread into Math.max() overflows the stack at some 120,000 rows.
  const widest = (column: number) => cells.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0);
  const widths = (cells[0] ?? []).map((_, column) => widest(column));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  return cells.map((row) => line(row).join('  ').trimEnd()).join('\n');
}

export function print(stream: Writable, text: string): void {
  stream.write(`${text}\n`);
}

/** Prints lines as they come: for people, or one JSON object per line for programs. */
export class Output {
  readonly json: boolean;
  readonly paint: Paint;
  readonly #terminal: Terminal;

  constructor(terminal: Terminal, json: boolean) {
    this.json = json;
    this.paint = painter(terminal.stdout, terminal.env);
    this.#terminal = terminal;
  }

  print(record: object, text: string): void {
    print(this.#terminal.stdout, this.json ? JSON.stringify(record) : text);
  }

  /** On standard error, with --json too. */
  note(text: string): void {
    print(this.#terminal.stderr, printable(text));
  }
}

const WIDTH = 24;

export class ProgressBar {
  readonly #stderr: Terminal['stderr'];

  constructor({ stderr }: Terminal) {
    this.#stderr = stderr;
  }

  /** @param more what else there is to say, without characters that control a terminal */
  show(done: number, total: number, more = ''): void {
    const filled = total > 0 ? Math.floor((Math.min(done, total) / total) * WIDTH) : WIDTH;
    const bar = `${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}`;
    this.line(`[${bar}] ${done} of ${total}${more === '' ? '' : `, ${more}`}`);
  }

  /** Replaces what it showed before. */
  line(text: string): void {
    if (!this.#stderr.isTTY) return;
    // What wraps into a second line could not be erased.
    const room = (this.#stderr.columns || Number.POSITIVE_INFINITY) - 1;
    this.#stderr.write(`\r\u001b[K${text.slice(0, room)}`);
  }

  /** Leaves an empty line for what is printed next. */
  end(): void {
    this.line('');
  }
}
