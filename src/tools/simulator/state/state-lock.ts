// Locks a state file for one simulator. The lock of a process that has died is taken over.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, rmdir, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '../../../errors.js';
import { isoTime } from '../delivery/delivery-record.js';
import { now } from '../real-time.js';

const MAX_TRIES = 100;

/** The process that holds a lock. */
const lockHolder = z.object({
  pid: z.int().positive(),
  host: z.string(),
  /** When it took the lock. */
  since: z.string(),
  /** See {@link processStart}. */
  start: z.string().nullable(),
});

type LockHolder = z.infer<typeof lockHolder>;

/**
 * The lock is a folder with one file that names the holder. It is made under another name and renamed into place.
 * A folder can replace only an empty one, so one of several processes wins. Removing the file of a stale lock
 * empties it. The name of the file is unique, so that this never removes the file of a newer lock.
 */
export class StateLock {
  readonly #folder: string;
  readonly #file: string;

  private constructor(folder: string, file: string) {
    this.#folder = folder;
    this.#file = file;
  }

  /** @throws {ConfigurationError} that names the process with the lock */
  static async take(path: string): Promise<StateLock> {
    const folder = `${path}.lock`;
    const id = randomBytes(8).toString('hex');
    const prepared = `${folder}-${id}`;
    await mkdir(prepared, { mode: 0o700 });
    try {
      const holder: LockHolder = {
        pid: process.pid,
        host: hostname(),
        since: isoTime(now()),
        start: processStart(process.pid),
      };
      // Flushed to disk: after a power failure an empty file would not say whose lock it is.
      await writeNewFile(join(prepared, `${id}.json`), JSON.stringify(holder));
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        if (await replaces(prepared, folder)) return new StateLock(folder, `${id}.json`);
        await removeStaleLock(folder, path);
      }
      throw unreadable(path, folder);
    } catch (error) {
      await rm(prepared, { recursive: true, force: true });
      throw error;
    }
  }

  /** Never rejects. */
  async release(): Promise<void> {
    await unlink(join(this.#folder, this.#file)).catch(() => {});
    // Fails if another process has taken the folder.
    await rmdir(this.#folder).catch(() => {});
  }
}

/**
 * Removes the lock folder of a process that has died.
 *
 * @throws {ConfigurationError} if its process may still run
 */
export async function removeStaleLock(folder: string, path: string): Promise<void> {
  const ignoreMissing = (error: unknown) => {
    // Another process has removed it.
    if (codeOf(error) !== 'ENOENT') throw unreadable(path, folder);
    return undefined;
  };
  const names = await readdir(folder).catch(ignoreMissing);
  for (const name of names ?? []) {
    const text = await readFile(join(folder, name), 'utf8').catch(ignoreMissing);
    if (text === undefined) continue;
    const holder = parseHolder(text);
    if (!holder) throw unreadable(path, folder);
    if (mayRun(holder)) throw inUse(path, folder, holder);
    await unlink(join(folder, name)).catch(ignoreMissing);
  }
  // Fails if another process has taken the folder.
  await rmdir(folder).catch(() => {});
}

/** Writes a file that does not exist yet, and flushes it to disk. Only its owner may read it. */
export async function writeNewFile(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Renames the folder into place; false if another lock is there. */
async function replaces(prepared: string, folder: string): Promise<boolean> {
  try {
    await rename(prepared, folder);
    return true;
  } catch (error) {
    // Windows answers EPERM for every folder that exists.
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES'].includes(codeOf(error))) return false;
    throw error;
  }
}

function parseHolder(text: string): LockHolder | undefined {
  try {
    return lockHolder.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Whether the process may still run. Nothing is known about another host, so there it counts as running. */
function mayRun({ pid, host, start }: LockHolder): boolean {
  if (host !== hostname()) return true;
  try {
    // Signal 0 only tests whether the process exists.
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
  }
  const known = processStart(pid);
  // Another process may have the number now, after a reboot for example.
  return start === null || known === null || start === known;
}

/**
 * Tells a process from a later one with the same number: the boot, and the start of the process within it.
 * Null where the system does not say; only Linux does.
 */
function processStart(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain anything. After it come the state and, 19 fields later, the start.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'ended' : `${boot} ${fields[19]}`;
  } catch {
    return null;
  }
}

/** The code of a system error. */
export function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? error);
}

function inUse(path: string, lock: string, { pid, host, since }: LockHolder): ConfigurationError {
  return new ConfigurationError(
    `The state file ${path} is in use by process ${pid} on the host ${JSON.stringify(host)}, since ${since}. ` +
      `Stop that simulator, or choose another file. If that process is not a simulator, delete ${lock}.`,
  );
}

function unreadable(path: string, lock: string): ConfigurationError {
  return new ConfigurationError(
    `The state file ${path} may be in use. Its lock ${lock} cannot be read. If no simulator uses the file, delete the lock.`,
  );
}
