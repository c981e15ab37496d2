// Locks a state file for one simulator. The lock of a process that has ended is replaced.
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import { ConfigurationError } from '../../../errors.js';
import { isoTime } from '../delivery/delivery-record.js';
import { now } from '../real-time.js';

const lockHolder = z.object({
  pid: z.int().positive(),
  host: z.string(),
  since: z.string(),
});

type LockHolder = z.infer<typeof lockHolder>;

/** The locks of this process: in a container, a killed simulator had the same PID as the one that follows it. */
const held = new Set<string>();

export type Unlock = () => void;

/**
 * Creates a file that names its holder, and that only one process can create. Two processes that find the same stale lock
 * at the same instant may both start, which is acceptable for a development tool.
 *
 * @throws {ConfigurationError} that names the process with the lock
 */
export function lockState(state: string): Unlock {
  const path = `${state}.lock`;
  const holder: LockHolder = { pid: process.pid, host: hostname(), since: isoTime(now()) };
  const content = JSON.stringify(holder);
  if (!createFile(path, content)) {
    const other = holderOf(path, state);
    if (mayRun(other, path)) throw inUse(state, other);
    unlinkSync(path);
    if (!createFile(path, content)) throw inUse(state, holderOf(path, state));
  }
  held.add(path);
  return () => {
    held.delete(path);
    try {
      // Somebody may have deleted it, and another simulator may have the lock by now.
      if (readFileSync(path, 'utf8') === content) unlinkSync(path);
    } catch {}
  };
}

function holderOf(lock: string, state: string): LockHolder {
  try {
    return lockHolder.parse(JSON.parse(readFileSync(lock, 'utf8')));
  } catch {
    throw new ConfigurationError(
      `The state file ${state} may be in use. Its lock ${lock} cannot be read. If no simulator uses the file, delete the lock.`,
    );
  }
}

function inUse(state: string, { pid, host, since }: LockHolder): ConfigurationError {
  return new ConfigurationError(
    `The state file ${state} is in use by process ${pid} on the host ${JSON.stringify(host)}, since ${since}. ` +
      `Stop that simulator, or choose another file. If that process is not a simulator, delete ${state}.lock.`,
  );
}

/** Returns false if the file exists. Flushed, because an empty lock after a power failure would not name its holder. */
function createFile(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Whether the holder may still be running. A process on another host counts as running. */
function mayRun({ pid, host }: LockHolder, lock: string): boolean {
  if (host !== hostname()) return true;
  if (pid === process.pid) return held.has(lock);
  try {
    // Signal 0 only tests whether the process exists.
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? error);
}
