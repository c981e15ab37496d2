// Locks a state file for one simulator, and takes over the lock of a dead process.
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { readFile, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';
import { ConfigurationError } from '../../../errors.js';
import { isoTime } from '../delivery/delivery-record.js';
import { after, monotonicNow, now } from '../real-time.js';

const lockHolder = z.object({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  pid: z.int().positive(),
  host: z.string(),
  /** When it took the lock. */
  since: z.string(),
  /** See {@link processStart}. */
  start: z.string().nullable(),
});

type LockHolder = z.infer<typeof lockHolder>;

/** A process creates its lock and then writes it. On a busy machine, others see it empty for a while. */
const WRITTEN_WITHIN_MS = 1000;

/** Releases a lock. Never rejects. */
export type Unlock = () => Promise<void>;

/**
 * Creates a file that names its holder, and that only one process can create.
 *
 * @throws {ConfigurationError} that names the process with the lock
 */
export async function lockState(state: string): Promise<Unlock> {
  const path = `${state}.lock`;
  const [id, since, start] = [randomBytes(8).toString('hex'), isoTime(now()), processStart(process.pid)];
  const content = JSON.stringify({
    id,
    pid: process.pid,
    host: hostname(),
    since,
    start,
  } satisfies LockHolder);
  const create = async (lock: string): Promise<void> => {
    while (!createFile(lock, content)) {
      const holder = await holderOf(lock, state);
      if (!holder) continue;
      if (mayRun(holder)) throw inUse(state, holder);
      // Of several processes that see the stale lock, only the one with this second lock may remove it.
      const takeover = `${lock}.${holder.id}`;
      await create(takeover);
      await remove(lock, holder.id);
      await remove(takeover, id);
    }
  };
  /** Removes a lock, unless another process holds it by now. */
  const remove = async (lock: string, holder: string) => {
    if ((await holderOf(lock, state))?.id === holder) await unlink(lock);
  };
  await create(path);
  return () => remove(path, id).catch(() => {});
}

/** Undefined if there is no such lock. */
async function holderOf(lock: string, state: string): Promise<LockHolder | undefined> {
  const deadline = monotonicNow() + WRITTEN_WITHIN_MS;
  for (;;) {
    try {
      return lockHolder.parse(JSON.parse(await readFile(lock, 'utf8')));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      if (monotonicNow() > deadline)
        throw new ConfigurationError(
          `The state file ${state} may be in use. Its lock ${lock} cannot be read. If no simulator uses the file, delete the lock.`,
        );
    }
    await new Promise<void>((resolve) => void after(20, resolve).ref());
  }
}

function inUse(state: string, { pid, host, since }: LockHolder): ConfigurationError {
  return new ConfigurationError(
    `The state file ${state} is in use by process ${pid} on the host ${JSON.stringify(host)}, since ${since}. ` +
      `Stop that simulator, or choose another file. If that process is not a simulator, delete ${state}.lock.`,
  );
}

/**
 * Returns false if the file exists. Synchronous, so that the file is empty only for a moment, and flushed, because an
 * empty lock after a power failure would not name its holder. Only its owner may read it.
 */
function createFile(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Whether the process may still be running. A process on another host counts as running. */
function mayRun({ pid, host, start }: LockHolder): boolean {
  if (host !== hostname()) return true;
  try {
    // Signal 0 only tests whether the process exists.
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
  }
  const known = processStart(pid);
  // Another process may have the PID now, for example after a reboot.
  return start === null || known === null || start === known;
}

/**
 * Tells a process from a later one with the same PID: the boot, and when the process started within it.
 * Null if the system does not say; only Linux does.
 */
function processStart(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain anything. After it come the state and, 19 fields later, the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : `${boot} ${fields[19]}`;
  } catch {
    return null;
  }
}

export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? error);
}
