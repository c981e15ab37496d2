// Starts replaying-worker.ts in processes of their own, which are killed when a test ends.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import type { SharedMode } from '../setup/shared-stores.js';

const living = new Set<ChildProcess>();
afterEach(() => {
  for (const child of living) child.kill('SIGKILL');
  living.clear();
});

/** @param longest milliseconds that a handler takes at most  @param redrive the option, for letters that retry themselves */
export async function startWorker(
  mode: SharedMode,
  name: string,
  { longest = 15, redrive }: { longest?: number; redrive?: object } = {},
): Promise<ChildProcess> {
  const script = join(__dirname, 'replaying-worker.ts');
  const args = [mode, name, String(longest), ...(redrive ? [JSON.stringify(redrive)] : [])];
  const child = fork(script, args, { execArgv: ['--import', 'tsx'] });
  living.add(child);
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('a worker ended'))),
  ]);
  return child;
}
