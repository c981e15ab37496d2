// What commands print: tables, colours only on a terminal, control characters made visible.
import type { Writable } from 'node:stream';
import type { Terminal } from './command.js';

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Style = keyof typeof STYLES;
export type Paint = (style: Style, text: string) => string;

/** Colours for a stream: only for a terminal that knows them, and never with `NO_COLOR` (https://no-color.org). */
export function painter(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Paint {
  const plain = !stream.isTTY || Boolean(env.NO_COLOR) || env.TERM === 'dumb';
  return (style, text) => (plain ? text : `\u001b[${STYLES[style]}m${text}\u001b[0m`);
}

/** A text from elsewhere that must not steer the terminal: control characters as `\u001b`. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}

/** Rows in columns as wide as they need to be; the cells are made printable. */
export function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export function print(stream: Writable, text: string): void {
  stream.write(`${text}\n`);
}

/** One line of JSON for each value with `--json`, else the text for people. */
export function printResult(
  { stdout }: Terminal,
  {
    json,
    values,
    text,
  }: { readonly json: boolean | undefined; readonly values: readonly unknown[]; readonly text: string },
): void {
  if (json) for (const value of values) print(stdout, JSON.stringify(value));
  else if (text !== '') print(stdout, text);
}
