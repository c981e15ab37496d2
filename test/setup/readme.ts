// Follows the README of an example: its first command starts the app, the others are typed in a second terminal.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeBlocks } from './markdown.js';
import { freePort, ROOT, type Running, shell, start } from './shell.js';

export interface Command {
  readonly script: string;
  /** The output that the README shows below it. */
  readonly shown: string | undefined;
}

export interface Session {
  /** What is typed once the app runs. */
  readonly commands: readonly Command[];
  readonly app: Running;
  /** Types a command in the second terminal, and returns what it prints. */
  type(script: string): Promise<string>;
  end(): Promise<void>;
}

export function commandsOf(readme: string): Command[] {
  const blocks = codeBlocks(readme);
  return blocks.flatMap(({ language, text }, index) => {
    if (language !== 'sh') return [];
    const next = blocks[index + 1];
    return [{ script: text, shown: next?.language === 'text' ? next.text.trim() : undefined }];
  });
}

/** Every `localhost:3000` of the commands becomes a free port. */
export async function followReadme(example: string): Promise<Session> {
  const [startIt, ...commands] = commandsOf(join(ROOT, 'examples', example, 'README.md'));
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), `${example}-`));
  const app = start(startIt?.script ?? '', { PORT: String(port) });
  await app.printed('http://localhost:');
  return {
    commands,
    app,
    async type(script) {
      const { stdout } = await shell(script.replaceAll(':3000', `:${port}`), { cwd: folder });
      return stdout.trim();
    },
    async end() {
      await app.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
