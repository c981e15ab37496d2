// A program of TypeScript in a process of its own, which tells how far it has come.
import { fork } from 'node:child_process';
import { join } from 'node:path';

export interface Program {
  /** Resolves with what the program told under this name, also if it has done so before. */
  told(name: string): Promise<Record<string, unknown>>;
  tell(name: string): void;
  kill(signal: NodeJS.Signals): void;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** @param file beside this one, without its extension */
export function startProgram(file: string): Program {
  const child = fork(join(__dirname, `${file}.ts`), { execArgv: ['--import', 'tsx'], stdio: 'inherit' });
  const heard: Record<string, unknown>[] = [];
  const listeners = new Set<() => void>();
  const exited = new Promise<Awaited<Program['exited']>>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  child.on('message', (message: Record<string, unknown>) => {
    heard.push(message);
    for (const listen of listeners) listen();
  });
  return {
    told: (name) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const message = heard.find((each) => each.name === name);
          if (!message) return;
          listeners.delete(look);
          resolve(message);
        };
        listeners.add(look);
        void exited.then(() => reject(new Error(`the program ended without telling ${name}`)));
        look();
      }),
    tell: (name) => void child.send({ name }),
    kill: (signal) => void child.kill(signal),
    exited,
  };
}
