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

/**
 * Every port that the commands name becomes a free one.
 *
 * @param ports what the README calls them, by the variable that sets them
 */
export async function followReadme(
  example: string,
  ports: Readonly<Record<string, number>> = { PORT: 3000 },
): Promise<Session> {
  const [startIt, ...commands] = commandsOf(join(ROOT, 'examples', example, 'README.md'));
  const free = new Map<string, string>();
  for (const variable of Object.keys(ports)) free.set(variable, String(await freePort()));
  const folder = mkdtempSync(join(tmpdir(), `${example}-`));
  const app = start(startIt?.script ?? '', Object.fromEntries(free));
  await app.printed('http://localhost:');
  return {
    commands,
    app,
    async type(script) {
      const withFreePorts = Object.entries(ports).reduce(
        (text, [variable, port]) => text.replaceAll(`:${port}`, `:${free.get(variable)}`),
        script,
      );
      const { stdout } = await shell(withFreePorts, { cwd: folder });
      return stdout.trim();
    },
    async end() {
      await app.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
