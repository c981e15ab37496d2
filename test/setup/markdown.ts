// Reads the fenced code blocks of a Markdown file, so that tests can run what the docs show.
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
