// Keeps the state file up to date: soon after every change, and before an answer that promises something.
import { ConfigurationError } from '../errors.js';
import { type Logger, writeLog } from '../logger.js';
import type { Ledger } from './ledger.js';
import { after, cancel, elapsed, type Timer } from './real-time.js';
import { codeOf, type State, writeState } from './state-file.js';

/** What a snapshot is made from, and where it goes. */
export interface SnapshotTools {
  readonly path: string;
  readonly ledger: Ledger;
  readonly take: () => State;
  readonly logger: Logger;
}

const SOON_MS = 50;
// Of all time, at most this part is spent on writing what nobody waits for.
const IDLE_SHARE = 4;

export class Snapshot {
  /** Why the last one could not be written. */
  error: string | null = null;
  readonly #tools: SnapshotTools;
  readonly #unwatch: () => void;
  #dirty = false;
  #timer: Timer | undefined;
  #lastMs = 0;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** Writes a first snapshot, so that a place that cannot be written is found at once. */
  static async begin(tools: SnapshotTools): Promise<Snapshot> {
    try {
      await writeState(tools.path, tools.take());
    } catch (error) {
      throw new ConfigurationError(
        `The state file ${tools.path} cannot be written (${codeOf(error)}). Choose a file in a folder that exists and is writable.`,
      );
    }
    return new Snapshot(tools);
  }

  private constructor(tools: SnapshotTools) {
    this.#tools = tools;
    this.#unwatch = tools.ledger.watch(() => {
      this.#dirty = true;
      this.#timer ??= after(SOON_MS + this.#lastMs * IDLE_SHARE, () => void this.saved());
    });
  }

  /** Resolves when everything that has changed is on disk, or an error said that it is not. */
  saved(): Promise<void> {
    if (!this.#dirty) return this.#next ?? this.#writing;
    // The write under way began before this change; all who come meanwhile share the one after it.
    this.#next ??= this.#writing.then(() => this.#write());
    return this.#next;
  }

  async close(): Promise<void> {
    this.#unwatch();
    cancel(this.#timer);
    await this.saved();
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
    const { path, take, logger } = this.#tools;
    const started = elapsed();
    try {
      await writeState(path, take());
      this.error = null;
    } catch (error) {
      this.error = codeOf(error);
      writeLog(logger, 'error', { state: path, code: this.error }, 'the state file could not be written');
    }
    this.#lastMs = elapsed() - started;
  }
}
