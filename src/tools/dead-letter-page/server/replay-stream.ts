// Streams the progress of a replay and its report as lines of JSON, and ends the replay when nobody reads them.
import type { ServerResponse } from 'node:http';
import type { DeadLetters } from '../../../dead-letters/dead-letters.js';
import {
  type ReplayOptions,
  type ReplayProgress,
  type ReplayReport,
  replaySettings,
} from '../../../dead-letters/replay.js';
import { ConfigurationError, show } from '../../../errors.js';
import { answerTo } from './page-answers.js';

const BETWEEN_LINES_MS = 100;
/** A proxy closes what says nothing for a minute, and one handler may take longer. */
const SILENCE_MS = 10_000;
const MAX_CONCURRENCY = 100;

const HEADERS = {
  'Content-Type': 'application/x-ndjson; charset=utf-8',
  // Neither compressed nor collected on the way.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/**
 * @returns the report; undefined when the replay failed, which is then in the last line
 * @throws {ConfigurationError} for options that cannot be right, before the answer begins
 */
export async function streamReplay(
  letters: DeadLetters,
  options: ReplayOptions,
  response: ServerResponse,
): Promise<ReplayReport | undefined> {
  checkOptions(options);
  const reader = new AbortController();
  response.on('close', () => reader.abort());
  // It left, or other code answered it, while authorize was asked or the body read.
  if (response.closed || response.headersSent) reader.abort();
  else {
    // Two statements: a replaced writeHead() may return nothing.
    response.writeHead(200, HEADERS);
    response.flushHeaders();
  }
  const lines = new ReplayLines(response);
  try {
    const onProgress = (progress: ReplayProgress) => lines.progress(progress);
    const report = await letters.replay({ ...options, onProgress, signal: reader.signal });
    lines.end({ report });
    return report;
  } catch (error) {
    const { message, code } = answerTo(error);
    lines.end({ error: { message, code } });
    return undefined;
  }
}

/** As replay() will, which would be too late for another status. */
function checkOptions(options: ReplayOptions): void {
  const { concurrency = 1 } = options;
  if (!Number.isSafeInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY)
    throw new ConfigurationError(
      `concurrency is ${show(concurrency)}. Give a whole number from 1 to ${MAX_CONCURRENCY}.`,
    );
  replaySettings('', options);
}

class ReplayLines {
  readonly #response: ServerResponse;
  readonly #silence: NodeJS.Timeout;
  #latest: ReplayProgress = { done: 0, total: 0, processed: 0, failed: 0 };
  #writtenAt = Number.NEGATIVE_INFINITY;
  #trailing: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#silence = setInterval(() => this.#write({ progress: this.#latest }), SILENCE_MS);
  }

  progress(progress: ReplayProgress): void {
    this.#latest = progress;
    const wait = this.#writtenAt + BETWEEN_LINES_MS - performance.now();
    if (wait <= 0 || progress.done === progress.total) this.#writeLatest();
    else this.#trailing ??= setTimeout(() => this.#writeLatest(), wait);
  }

  end(last: object): void {
    clearInterval(this.#silence);
    clearTimeout(this.#trailing);
    this.#write(last);
    this.#attempt(() => this.#response.end());
  }

  /** A reader that is slow gets the next line that it has room for. */
  #writeLatest(): void {
    clearTimeout(this.#trailing);
    this.#trailing = undefined;
    if (!this.#response.writableNeedDrain) this.#write({ progress: this.#latest });
  }

  #write(line: object): void {
    this.#writtenAt = performance.now();
    const { destroyed, writableEnded } = this.#response;
    // After an end, which may be that of other code, a write would be an uncaught error.
    if (!destroyed && !writableEnded) this.#attempt(() => this.#response.write(`${JSON.stringify(line)}\n`));
  }

  /** A middleware may have replaced a method with one that throws. In a timer, that would end the process. */
  #attempt(step: () => unknown): void {
    try {
      step();
    } catch {
      this.#response.destroy();
    }
  }
}
