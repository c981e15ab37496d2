// Keeps the state file up to date: soon after every change, and before an answer that promises something.
import { type Logger, writeLog } from '../../logger.js';
import { after, cancel, monotonicNow, type Timer } from '../real-time.js';
import type { State } from './state.js';
import { type StateFile, unwritable } from './state-file.js';
import { codeOf } from './state-lock.js';

const SOON_MS = 50;
const RETRY_MS = 1_000;
// Pauses are this many times as long as the last write: writing takes at most a fifth of the time.
const PAUSE_FACTOR = 4;

export class Snapshot {
  /** The code of the error of the last write. */
  error: string | null = null;
  readonly #file: StateFile;
  readonly #take: () => State;
  readonly #logger: Logger;
  #dirty = false;
  #timer: Timer | undefined;
  #lastMs = 0;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #closed = false;

  /** Writes the first snapshot, so that an error shows at the start. @throws {ConfigurationError} */
  static async begin(file: StateFile, take: () => State, logger: Logger): Promise<Snapshot> {
    try {
      await file.write(take());
    } catch (error) {
      throw unwritable(file.path, error);
    }
    return new Snapshot(file, take, logger);
  }

  private constructor(file: StateFile, take: () => State, logger: Logger) {
    this.#file = file;
    this.#take = take;
    this.#logger = logger;
  }

  /** Call it after every change. */
  writeSoon(): void {
    this.#writeIn(SOON_MS + this.#lastMs * PAUSE_FACTOR);
  }

  /** Resolves when every change is on disk, or an error says that it is not. */
  saved(): Promise<void> {
    if (!this.#dirty) return this.#next ?? this.#writing;
    // The current write started before this change. All callers until its end share the next one.
    this.#next ??= this.#writing.then(() => this.#write());
    return this.#next;
  }

  async close(): Promise<void> {
    this.#closed = true;
    cancel(this.#timer);
    await this.saved();
  }

  #writeIn(ms: number): void {
    this.#dirty = true;
    if (!this.#closed) this.#timer ??= after(ms, () => void this.saved());
  }

  #write(): Promise<void> {
    cancel(this.#timer);
    this.#timer = undefined;
    this.#dirty = false;
    this.#next = undefined;
    this.#writing = this.#tryToWrite();
    return this.#writing;
  }

  async #tryToWrite(): Promise<void> {
    const started = monotonicNow();
    try {
      await this.#file.write(this.#take());
      this.error = null;
    } catch (error) {
      const code = codeOf(error);
      // Logged once, not for every retry.
      if (code !== this.error) {
        const fields = { state: this.#file.path, code };
        writeLog(this.#logger, 'error', fields, 'the state file could not be written');
      }
      this.error = code;
      this.#writeIn(RETRY_MS);
    }
    this.#lastMs = monotonicNow() - started;
  }
}
