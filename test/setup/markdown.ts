// Reads the fenced code blocks and the tables of a Markdown file, so that tests can hold the docs to the code.
import { readFileSync } from 'node:fs';

export interface CodeBlock {
  /** `ts`, `sh`, `text`, … */
  readonly language: string;
  /** What stands behind the language, such as `fragment`. */
  readonly mark: string;
  readonly text: string;
  /** Of the section that it is in, such as `Jest with swc`. */
  readonly heading: string;
  /** Line of the file on which the text begins, counted from 1. */
  readonly line: number;
}

export function codeBlocks(file: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { language: string; mark: string; heading: string; line: number; lines: string[] } | undefined;
  let heading = '';
  readFileSync(file, 'utf8')
    .split('\n')
    .forEach((text, index) => {
      const fence = /^```(\w*) *(.*)$/.exec(text);
      if (open && text === '```') {
        const { lines, ...block } = open;
        blocks.push({ ...block, text: `${lines.join('\n')}\n` });
        open = undefined;
      } else if (open) {
        open.lines.push(text);
      } else if (fence) {
        open = { language: fence[1] ?? '', mark: fence[2] ?? '', heading, line: index + 2, lines: [] };
      } else {
        heading = /^#+ (.*)$/.exec(text)?.[1] ?? heading;
      }
    });
  if (open) throw new Error(`${file}: the code block at line ${open.line - 1} is never closed.`);
  return blocks;
}

/** The rows of the table below a heading, cell by cell, without the row of column names. */
export function tableBelow(file: string, heading: string): string[][] {
  const [, section = ''] = `\n${readFileSync(file, 'utf8')}`.split(`\n${heading}\n`);
  const [before = ''] = section.split(/^#/m);
  const rows = before.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((line) => {
    const cells = line.split(/(?<!\\)\|/).slice(1, -1);
    return cells.map((cell) => cell.trim());
  });
}

/** The text below a heading, with its sub-sections, up to the next heading of its level. */
export function sectionOf(file: string, heading: string): string {
  const level = /^#+/.exec(heading)?.[0] ?? '#';
  const [, section = ''] = `\n${readFileSync(file, 'utf8')}`.split(`\n${heading}\n`);
  return section.split(`\n${level} `)[0] ?? '';
}

/** What stands in backticks in a cell. */
export function codesIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** The text of the block whose first line names this file, as in `// app.ts`. */
export function fileIn(page: string, file: string): string {
  const block = codeBlocks(page).find(({ text }) => text.startsWith(`// ${file}\n`));
  if (!block) throw new Error(`${page} has no block that begins with // ${file}.`);
  return block.text;
}
