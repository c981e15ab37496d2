// Turns the TypeScript blocks of the docs into files that a compiler and Node can read.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CodeBlock, codeBlocks, fileIn } from './markdown.js';
import { ROOT } from './shell.js';

export interface Snippet extends CodeBlock {
  /** The Markdown file, from the root of the repository. */
  readonly doc: string;
  /** Where the block was written to. */
  readonly file: string;
  /** The output that the doc shows below it. */
  readonly shown: string | undefined;
}

const FOLDER = join(ROOT, '.scratch/docs');
const PRELUDE = readFileSync(join(ROOT, 'test/docs/prelude.ts'), 'utf8');
const PRELUDE_NAMES = [
  ...PRELUDE.matchAll(/^export (?:declare (?:const|function) (\w+)|\{([^}]+)\})/gm),
].flatMap(
  ([, declared, listed]) =>
    declared ?? (listed ?? '').split(',').map((name) => name.trim().split(' ').at(-1) ?? ''),
);

/** Other pages import the file of "Set up Postgres" instead of repeating it. */
export const INBOX = fileIn(join(ROOT, 'docs/postgres.md'), 'inbox.ts');

/** Whether the block is a part of a file of an example, as its mark names it: `examples/hono/app.ts`. */
export const isOfExample = ({ mark }: CodeBlock) => mark.startsWith('examples/');

/** A block whose first line is `// name.ts` is a file of that name, which other blocks of the doc can import, besides `inbox.ts`. */
export function writeSnippets(docs: readonly string[]): Snippet[] {
  rmSync(FOLDER, { recursive: true, force: true });
  return docs.flatMap((doc) => {
    const folder = join(FOLDER, doc.replace(/\W+/g, '-'));
    mkdirSync(folder, { recursive: true });
    const blocks = codeBlocks(join(ROOT, doc));
    writeFileSync(join(folder, 'inbox.ts'), INBOX);
    return blocks.flatMap((block, index) => {
      if (block.language !== 'ts' || isOfExample(block)) return [];
      const name = /^\/\/ ([\w.-]+\.ts)$/m.exec(block.text.split('\n')[0] ?? '')?.[1];
      const file = join(folder, name ?? `line-${block.line}.ts`);
      writeFileSync(file, moduleOf(block));
      const next = blocks[index + 1];
      return [{ ...block, doc, file, shown: next?.language === 'text' ? next.text : undefined }];
    });
  });
}

/** The block stands on the same line as in its doc, so that the compiler's messages lead there. */
function moduleOf({ text, mark, line }: CodeBlock): string {
  const above = '\n'.repeat(line - 1);
  if (mark !== 'fragment') return `${above}${text}export {};\n`;
  const names = PRELUDE_NAMES.filter((name) => uses(text, name) && !declares(text, name));
  return `${above}${text}import { ${names.join(', ')} } from '../../../test/docs/prelude.js';\nexport {};\n`;
}

function uses(text: string, name: string): boolean {
  return new RegExp(`(?<![.\\w])${name}\\b`).test(text);
}

function declares(text: string, name: string): boolean {
  return new RegExp(`\\b(?:const|let|function|class|import) (?:\\{[^}]*)?\\b${name}\\b`).test(text);
}

export const TSCONFIG = join(FOLDER, 'tsconfig.json');

/** As strict as the sources, but a block may show a name without using it. */
export function writeTsconfig(): void {
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false };
  writeFileSync(
    TSCONFIG,
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['.'] }),
  );
}
