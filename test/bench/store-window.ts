// One window of a store: many callers at once, and what an operation took of this process and of the store's server.
import { familyCpuTime } from './cpu-time.js';
import type { Sample } from './epoch.js';

const CALLERS = 64;
const WINDOW_MS = 1_000;

export interface Subject {
  readonly name: string;
  readonly work: () => Promise<unknown>;
}

/** @param serverPid `undefined` where the store has no server */
export async function measureWindow({ work }: Subject, serverPid: number | undefined): Promise<Sample> {
  const serverTime = () => (serverPid === undefined ? 0 : familyCpuTime(serverPid));
  let done = 0;
  const [startedAt, client, server] = [performance.now(), process.cpuUsage(), serverTime()];
  const caller = async () => {
    while (performance.now() < startedAt + WINDOW_MS) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const { user, system } = process.cpuUsage(client);
  return {
    wallUs: ((performance.now() - startedAt) * 1_000) / done,
    clientUs: (user + system) / done,
    serverUs: (serverTime() - server) / 1_000 / done,
  };
}
