// Follows the README of an example: one command starts the app, the others are typed in a second terminal. What the
// README installs is here already, so that part is left out; test/consumers follows all of it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeBlocks } from './markdown.js';
import { freePort } from './ports.js';
import { ROOT, type Running, shell, startUntil } from './shell.js';

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

/** Whether it is the part of a README that installs what the example uses. */
export const installs = ({ script }: Command) => script.includes('npm install');

export function commandsOf(readme: string): Command[] {
  const blocks = codeBlocks(readme);
  return blocks.flatMap(({ language, text }, index) => {
    if (language !== 'sh') return [];
    const next = blocks[index + 1];
    return [{ script: text, shown: next?.language === 'text' ? next.text.trim() : undefined }];
  });
}

/**
 * Starts a command of an example, and waits until it has printed the text. One of the examples waits for a connection to
 * Postgres for a second only, which a busy machine may exceed: it is started again then.
 */
export async function startExample(
  text: string,
  script: string,
  { env, cwd }: { readonly env: Record<string, string | undefined>; readonly cwd: string },
): Promise<Running> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startUntil(text, script, env, cwd);
    } catch (error) {
      if (tries === 5 || !String(error).includes('connection timeout')) throw error;
    }
  }
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
  const inFolder = join(ROOT, 'examples', example);
  const all = commandsOf(join(inFolder, 'README.md')).filter((command) => !installs(command));
  const startIt = all.find(({ script }) => script.includes('npx tsx app.ts'));
  const commands = all.filter((command) => command !== startIt);
  const free = new Map<string, string>();
  for (const variable of Object.keys(ports)) free.set(variable, String(await freePort()));
  const folder = mkdtempSync(join(tmpdir(), `${example}-`));
  const app = await startExample('http://localhost:', startIt?.script ?? '', {
    env: Object.fromEntries(free),
    cwd: inFolder,
  });
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
