// CPU time of other processes, in nanoseconds, as the kernel's scheduler counts it in /proc.
import { readdirSync, readFileSync } from 'node:fs';

/** Of all threads of the process so far. */
export function cpuTime(pid: number): number {
  return threadsOf(pid).reduce((sum, thread) => sum + Number.parseInt(read(`${thread}/schedstat`), 10), 0);
}

/** Of the process and its children so far: Postgres has a process for each connection. */
export function familyCpuTime(pid: number): number {
  const children = threadsOf(pid).flatMap((thread) => read(`${thread}/children`).split(' ').filter(Boolean));
  // A child may end while the list is read.
  return (
    cpuTime(pid) + children.reduce((sum, child) => sum + (attempt(() => cpuTime(Number(child))) ?? 0), 0)
  );
}

function threadsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`);
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
