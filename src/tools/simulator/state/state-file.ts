// The state file: locked while it is open, written soon after every change, and always replaced as a whole.
import { randomBytes } from 'node:crypto';
import { constants, lstat, open, readdir, readlink, rename, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ConfigurationError } from '../../../errors.js';
import { type Logger, writeLog } from '../../../logger.js';
import { after, cancel, monotonicNow, type Timer } from '../real-time.js';
import { parseState, type State, stateText } from './state.js';
import { codeOf, StateLock } from './state-lock.js';

const SOON_MS = 50;
const RETRY_MS = 1_000;
// Pauses are this many times as long as the last write: writing takes at most a fifth of the time.
const PAUSE_FACTOR = 4;

export class StateFile {
  readonly path: string;
  /** The content when it was opened; undefined for a new file. */
  readonly content: State | undefined;
  /** The code of the error of the last write. */
  error: string | null = null;
  readonly #lock: StateLock;
  readonly #logger: Logger;
  #take: (() => State) | undefined;
  #timer: Timer | undefined;
  #lastMs = 0;
  /** Whether something has changed since the last write began. */
  #dirty = false;
  /** The latest write, also while it waits for the one before it. */
  #writing: Promise<void> = Promise.resolve();
  #waits = false;
  #closed = false;

  private constructor(path: string, content: State | undefined, lock: StateLock, logger: Logger) {
    this.path = path;
    this.content = content;
    this.#lock = lock;
    this.#logger = logger;
  }

  /** @throws {ConfigurationError} for a file that is in use or cannot be used */
  static async open(given: string, logger: Logger): Promise<StateFile> {
    // Absolute: the process may change its working directory later.
    const path = resolve(given);
    const lock = await StateLock.take(path).catch((error) => {
      throw ConfigurationError.is(error) ? error : unwritable(path, error);
    });
    try {
      await removeLeftovers(path);
      return new StateFile(path, await read(path), lock, logger);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** Writes the first state, so that an error shows at the start. @throws {ConfigurationError} */
  async begin(take: () => State): Promise<void> {
    try {
      await replaceFile(this.path, stateText(take()));
    } catch (error) {
      throw unwritable(this.path, error);
    }
    this.#take = take;
  }

  /** Call it after every change. */
  writeSoon(): void {
    this.#writeIn(SOON_MS + this.#lastMs * PAUSE_FACTOR);
  }

  /** Resolves when every change is on disk, or an error says that it is not. */
  saved(): Promise<void> {
    // The current write began before this change. All callers until its end share the next one.
    if (this.#dirty && !this.#waits) {
      this.#waits = true;
      this.#writing = this.#writing.then(() => this.#write());
    }
    return this.#writing;
  }

  /** Saves the last changes and releases the lock. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    cancel(this.#timer);
    await this.saved();
    await this.#lock.release();
  }

  #writeIn(ms: number): void {
    this.#dirty = true;
    if (!this.#closed) this.#timer ??= after(ms, () => void this.saved());
  }

  async #write(): Promise<void> {
    cancel(this.#timer);
    this.#timer = undefined;
    this.#waits = false;
    this.#dirty = false;
    if (!this.#take) return;
    const started = monotonicNow();
    try {
      await replaceFile(this.path, stateText(this.#take()));
      this.error = null;
    } catch (error) {
      const code = codeOf(error);
      // Logged once, not for every retry.
      if (code !== this.error)
        writeLog(this.#logger, 'error', { state: this.path, code }, 'the state file could not be written');
      this.error = code;
      this.#writeIn(RETRY_MS);
    }
    this.#lastMs = monotonicNow() - started;
  }
}

/**
 * Writes a temporary file and renames it, so that there is always one whole file, the old or the new.
 * Its name is random, so that nothing that exists is written to.
 */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp-${randomBytes(8).toString('hex')}`;
  try {
    // Flushed, so that a power failure leaves the old file or the whole new one. Only its owner may read it.
    await writeFile(temporary, text, { flag: 'wx', mode: 0o600, flush: true });
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

async function read(path: string): Promise<State | undefined> {
  const text = await readText(path).catch((error) => {
    if (ConfigurationError.is(error)) throw error;
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unusable(path, `cannot be read (${codeOf(error)})`);
  });
  if (text === undefined) return undefined;
  const state = parseState(text);
  if (typeof state === 'string') throw unusable(path, state);
  return state;
}

async function readText(path: string): Promise<string> {
  const stat = await lstat(path);
  if (stat.isSymbolicLink()) {
    // Writing would replace the link, and following it would let its owner choose the file.
    throw new ConfigurationError(
      `The state file ${path} is a symbolic link to ${await readlink(path)}. Give the path of the file itself.`,
    );
  }
  if (!stat.isFile()) throw unusable(path, 'is not a regular file');
  // It may have become a link by now. Windows has no such flag.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  return file.readFile('utf8').finally(() => file.close());
}

function unusable(path: string, reason: string): ConfigurationError {
  return new ConfigurationError(
    `The state file ${path} ${reason}. It was left as it is: move it, or choose another file.`,
  );
}

/** Removes what killed processes left: temporary files, and locks of a takeover. Only the holder of the lock needs either. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    const suffix = name.startsWith(basename(path)) ? name.slice(basename(path).length) : '';
    if (/^\.(tmp-|lock\.)[0-9a-f.]+$/.test(suffix)) await unlink(join(folder, name)).catch(() => {});
  }
}

/** After a power failure the rename could be lost without it. Windows cannot do it, and does not need it. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
