// A store that is further away: a TCP proxy in a process of its own that holds back what the store answers.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Distance {
  readonly port: number;
  /** From here on every answer of the store takes so many milliseconds more, and what the timers of Node add. */
  set(ms: number): void;
  stop(): Promise<void>;
}

export async function distanceTo(port: number): Promise<Distance> {
  const program = fileURLToPath(new URL('distance-proxy.js', import.meta.url));
  const child = fork(program, [String(port)]);
  const [listening] = (await once(child, 'message')) as [number];
  return {
    port: listening,
    set: (ms) => void child.send(ms),
    async stop() {
      child.disconnect();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}
