// The state file: locked while open, written soon after every change, and replaced atomically.
import { randomBytes } from 'node:crypto';
import { constants, lstat, open, readdir, readlink, rename, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ConfigurationError } from '../../../errors.js';
import { type Logger, writeLog } from '../../../logger.js';
import { after, cancel, monotonicNow, type Timer } from '../real-time.js';
import { parseState, type State } from './state.js';
import { codeOf, lockState, type Unlock } from './state-lock.js';

const SOON_MS = 50;
const RETRY_MS = 1_000;
// The pause is this many times the last write, so that writing takes at most a fifth of the time.
const PAUSE_FACTOR = 4;

export type StateFile = Awaited<ReturnType<typeof openStateFile>>;

/** @throws {ConfigurationError} for a file that is in use or cannot be used */
export async function openStateFile(given: string, logger: Logger) {
  // Absolute: the process may change its working directory later.
  const path = resolve(given);
  const unlock = lock(path);
  try {
    await removeLeftovers(path);
    return stateFile(path, await read(path), unlock, logger);
  } catch (error) {
    unlock();
    throw error;
  }
}

function lock(path: string): Unlock {
  try {
    return lockState(path);
  } catch (error) {
    throw ConfigurationError.is(error) ? error : unwritable(path, error);
  }
}

/** @param content undefined for a new file */
function stateFile(path: string, content: State | undefined, unlock: Unlock, logger: Logger) {
  let take: (() => State) | undefined;
  /** The error code of the last write; null if it succeeded. */
  let failure: string | null = null;
  /** For the next write; undefined if nothing has changed since the last one began. */
  let timer: Timer | undefined;
  let lastMs = 0;
  /** The latest write, running or queued behind the previous one. */
  let writing: Promise<void> = Promise.resolve();
  let waits = false;
  let closed = false;

  const write = async () => {
    cancel(timer);
    timer = undefined;
    waits = false;
    if (!take) return;
    const started = monotonicNow();
    try {
      await replaceFile(path, take());
      failure = null;
    } catch (error) {
      const code = codeOf(error);
      // Logged once, not for every retry.
      if (code !== failure)
        writeLog(logger, 'error', { state: path, code }, 'the state file could not be written');
      failure = code;
      writeSoon(RETRY_MS);
    }
    lastMs = monotonicNow() - started;
  };

  const writeSoon = (ms: number = SOON_MS + lastMs * PAUSE_FACTOR): void => {
    if (!closed) timer ??= after(ms, () => void saved());
  };

  /** Resolves when every change is on disk, or `error` says that the write failed. */
  const saved = (): Promise<void> => {
    // The running write began before this change. All callers until it ends share the next write.
    if (timer && !waits) {
      waits = true;
      writing = writing.then(write);
    }
    return writing;
  };

  return {
    ...{ content, writeSoon, saved },
    get error() {
      return failure;
    },

    /** Writes the initial state, so that an error shows at startup. @throws {ConfigurationError} */
    async begin(takeState: () => State): Promise<void> {
      await replaceFile(path, takeState()).catch((error) => {
        throw unwritable(path, error);
      });
      take = takeState;
    },

    /** Saves the last changes and releases the lock. Never rejects. */
    async close(): Promise<void> {
      closed = true;
      await saved();
      unlock();
    },
  };
}

/** Renames a temporary file, so that the file is complete at all times. Its random name overwrites no other file. */
async function replaceFile(path: string, content: State): Promise<void> {
  const temporary = `${path}.tmp-${randomBytes(8).toString('hex')}`;
  try {
    // Flushed, so that a power failure leaves the old file or the whole new one. Only its owner may read it.
    await writeFile(temporary, JSON.stringify(content), { flag: 'wx', mode: 0o600, flush: true });
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

function unwritable(path: string, error: unknown): ConfigurationError {
  return new ConfigurationError(
    `The state file ${path} cannot be written (${codeOf(error)}). Choose a file in a folder that exists and is writable.`,
  );
}

/** Undefined for a new file. */
async function read(path: string): Promise<State | undefined> {
  const unusable = (reason: string) =>
    new ConfigurationError(
      `The state file ${path} ${reason}. It was not changed. Move it, or choose another file.`,
    );
  let text: string;
  try {
    const stat = await lstat(path);
    if (stat.isSymbolicLink()) {
      // Writing would replace the link, and following it would let its owner choose the file.
      throw new ConfigurationError(
        `The state file ${path} is a symbolic link to ${await readlink(path)}. Pass the path of the file itself.`,
      );
    }
    if (!stat.isFile()) throw unusable('is not a regular file');
    // It may have become a link by now. Windows does not have this flag.
    const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    text = await file.readFile('utf8').finally(() => file.close());
  } catch (error) {
    if (ConfigurationError.is(error)) throw error;
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unusable(`cannot be read (${codeOf(error)})`);
  }
  // An editor may have added a byte-order mark.
  const state = parseState(text.replace(/^\ufeff/, ''));
  if (typeof state === 'string') throw unusable(state);
  return state;
}

/** Removes the temporary files of killed processes. Only the holder of the lock uses them. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    const suffix = name.startsWith(basename(path)) ? name.slice(basename(path).length) : '';
    if (/^\.tmp-[0-9a-f]+$/.test(suffix)) await unlink(join(folder, name)).catch(() => {});
  }
}

/** Without it, a power failure could undo the rename. Windows does not support it, and does not need it. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
