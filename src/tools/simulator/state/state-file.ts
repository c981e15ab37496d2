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

export class StateFile {
  readonly #path: string;
  /** The content when it was opened; undefined for a new file. */
  readonly content: State | undefined;
  /** The error code of the last write; null if it succeeded. */
  error: string | null = null;
  readonly #unlock: Unlock;
  readonly #logger: Logger;
  #take: (() => State) | undefined;
  /** For the next write; undefined if nothing has changed since the last one began. */
  #timer: Timer | undefined;
  #lastMs = 0;
  /** The latest write, running or queued behind the previous one. */
  #writing: Promise<void> = Promise.resolve();
  #waits = false;
  #closed = false;

  private constructor(path: string, content: State | undefined, unlock: Unlock, logger: Logger) {
    this.#path = path;
    this.content = content;
    this.#unlock = unlock;
    this.#logger = logger;
  }

  /** @throws {ConfigurationError} for a file that is in use or cannot be used */
  static async open(given: string, logger: Logger): Promise<StateFile> {
    // Absolute: the process may change its working directory later.
    const path = resolve(given);
    const unlock = await lockState(path).catch((error) => {
      throw ConfigurationError.is(error) ? error : unwritable(path, error);
    });
    try {
      await removeLeftovers(path);
      return new StateFile(path, await read(path), unlock, logger);
    } catch (error) {
      await unlock();
      throw error;
    }
  }

  /** Writes the initial state, so that an error shows at startup. @throws {ConfigurationError} */
  async begin(take: () => State): Promise<void> {
    await replaceFile(this.#path, take()).catch((error) => {
      throw unwritable(this.#path, error);
    });
    this.#take = take;
  }

  writeSoon(ms: number = SOON_MS + this.#lastMs * PAUSE_FACTOR): void {
    if (!this.#closed) this.#timer ??= after(ms, () => void this.saved());
  }

  /** Resolves when every change is on disk, or {@link error} says that the write failed. */
  saved(): Promise<void> {
    // The running write began before this change. All callers until it ends share the next write.
    if (this.#timer && !this.#waits) {
      this.#waits = true;
      this.#writing = this.#writing.then(() => this.#write());
    }
    return this.#writing;
  }

  /** Saves the last changes and releases the lock. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.saved();
    await this.#unlock();
  }

  async #write(): Promise<void> {
    cancel(this.#timer);
    this.#timer = undefined;
    this.#waits = false;
    if (!this.#take) return;
    const started = monotonicNow();
    try {
      await replaceFile(this.#path, this.#take());
      this.error = null;
    } catch (error) {
      const code = codeOf(error);
      // Logged once, not for every retry.
      if (code !== this.error)
        writeLog(this.#logger, 'error', { state: this.#path, code }, 'the state file could not be written');
      this.error = code;
      this.writeSoon(RETRY_MS);
    }
    this.#lastMs = monotonicNow() - started;
  }
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
        `The state file ${path} is a symbolic link to ${await readlink(path)}. Give the path of the file itself.`,
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
  const state = parseState(text);
  if (typeof state === 'string') throw unusable(state);
  return state;
}

/** Removes the temporary files and takeover locks of killed processes. Only the holder of the lock uses either. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    const suffix = name.startsWith(basename(path)) ? name.slice(basename(path).length) : '';
    if (/^\.(tmp-|lock\.)[0-9a-f.]+$/.test(suffix)) await unlink(join(folder, name)).catch(() => {});
  }
}

/** Without it, a power failure could undo the rename. Windows does not support it, and does not need it. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
