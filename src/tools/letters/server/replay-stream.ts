// Streams the progress and the report of a replay as NDJSON; a disconnect ends the replay.
import type { ServerResponse } from 'node:http';
import type { DeadLetters } from '../../../dead-letters/dead-letters.js';
import type { ReplayOptions, ReplayProgress, ReplayReport } from '../../../dead-letters/replay.js';
import { replaySettings } from '../../../dead-letters/replay.js';
import { ConfigurationError } from '../../../errors.js';
import { show } from '../../../misuse.js';
import { answerTo } from './page-http.js';

const BETWEEN_LINES_MS = 100;
/** Proxies close connections that are idle for a minute, and one handler may take longer. */
const HEARTBEAT_MS = 10_000;
const MAX_CONCURRENCY = 100;

const HEADERS = {
  'Content-Type': 'application/x-ndjson; charset=utf-8',
  // Proxies must not compress or buffer it.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
};

/**
 * @returns the report; undefined if the replay failed, which the last line then says
 * @throws {ConfigurationError} for invalid options, before the response begins
 */
export async function streamReplay(
  letters: DeadLetters,
  options: ReplayOptions,
  response: ServerResponse,
): Promise<ReplayReport | undefined> {
  const { concurrency = 1 } = options;
  if (!Number.isSafeInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY)
    throw new ConfigurationError(
      `concurrency is ${show(concurrency)}. Pass an integer from 1 to ${MAX_CONCURRENCY}.`,
    );
  // replay() would reject the other options only after the status is sent.
  replaySettings('', options);
  const reader = new AbortController();
  response.on('close', () => reader.abort());
  // The client left, or other code answered, while authorize ran or the body was read.
  if (response.closed || response.headersSent) reader.abort();
  else {
    // Not chained: a middleware may have replaced writeHead() with one that returns nothing.
    response.writeHead(200, HEADERS);
    response.flushHeaders();
  }
  const lines = replayLines(response);
  try {
    const report = await letters.replay({ ...options, onProgress: lines.progress, signal: reader.signal });
    lines.end({ report });
    return report;
  } catch (error) {
    const { message, code } = answerTo(error);
    lines.end({ error: { message, code } });
    return undefined;
  }
}

function replayLines(response: ServerResponse) {
  let latest: ReplayProgress = { done: 0, total: 0, processed: 0, failed: 0 };
  let writtenAt = Number.NEGATIVE_INFINITY;
  let trailing: NodeJS.Timeout | undefined;

  /** A middleware may have replaced a method with one that throws, which in a timer would end the process. */
  const attempt = (step: () => unknown) => {
    try {
      step();
    } catch {
      response.destroy();
    }
  };

  const write = (line: object) => {
    writtenAt = performance.now();
    const { destroyed, writableEnded } = response;
    // Other code may have called end(), and a write after it would be an uncaught error.
    if (!destroyed && !writableEnded) attempt(() => response.write(`${JSON.stringify(line)}\n`));
  };

  /** Skips lines while the buffer of a slow client is full. */
  const writeLatest = () => {
    clearTimeout(trailing);
    trailing = undefined;
    if (!response.writableNeedDrain) write({ progress: latest });
  };

  const heartbeat = setInterval(() => write({ progress: latest }), HEARTBEAT_MS);
  return {
    progress(progress: ReplayProgress): void {
      latest = progress;
      const wait = writtenAt + BETWEEN_LINES_MS - performance.now();
      if (wait <= 0 || progress.done === progress.total) writeLatest();
      else trailing ??= setTimeout(writeLatest, wait);
    },

    end(last: object): void {
      clearInterval(heartbeat);
      clearTimeout(trailing);
      write(last);
      attempt(() => response.end());
    },
  };
}
