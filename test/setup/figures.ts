// Figures in Markdown: of which machine they are, as a table, and in their place in a page.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';

export function machine(): string {
  const [cpu] = cpus();
  return `${cpus().length} × ${cpu?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()}`;
}

export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** Reads well in a terminal too. The first column holds words, the others numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, 3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** Replaces what stands between the two marks of that name. */
export function writeFigures(page: URL, name: string, text: string): void {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const old = readFileSync(page, 'utf8');
  const [from, to] = [old.indexOf(begin), old.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`${page.pathname} has no marks "${begin}" and "${end}".`);
  writeFileSync(page, `${old.slice(0, from)}${begin}\n${text}\n${old.slice(to)}`);
}
