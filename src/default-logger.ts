// The default logger: pino on the standard output, or the console on Workers.
import { setImmediate } from 'node:timers';
import { pino } from 'pino';
import { type Logger, runsInWorker } from './logger.js';

const NAME = 'payment-webhooks';

let shared: Logger | undefined;

/** One pino logger for all receivers of this process that were given none. */
export function defaultLogger(): Logger {
  shared ??= makeLogger();
  return shared;
}

function makeLogger(): Logger {
  // A Worker has no file descriptor for stdout, and its bundlers take pino's build for browsers.
  if (typeof pino.destination !== 'function' || runsInWorker()) return consoleLogger();
  return pino({ name: NAME }, stdoutLines()) as Logger;
}

/** Writes each line at once: a Worker may stop after the request, before the next turn of the event loop. */
function consoleLogger(): Logger {
  const stream = { write: (line: string) => console.log(line.trimEnd()) };
  const serializers = { err: pino.stdSerializers.err };
  // The build for browsers ignores the stream and the option `name`, the other one ignores `browser`.
  const logger = pino({ base: null, serializers, browser: { serialize: true, write } }, stream);
  return logger.child({ name: NAME }) as Logger;
}

/** A handler may log values that JSON cannot represent. */
function write(line: object): void {
  try {
    console.log(JSON.stringify(line));
  } catch {
    console.log(line);
  }
}

/** Bytes that are buffered while the disk is full. Further lines are dropped. */
const MAX_WAITING = 8 * 1_024 * 1_024;

/**
 * A write for each line costs more than the line itself, so the lines of one turn are written together when it ends, or
 * when the process does. When `process.stdout.write` was replaced, to capture the output, it gets each line.
 */
function stdoutLines(): { write(line: string): void } {
  if (process.stdout.write !== process.stdout.constructor.prototype.write) return process.stdout;
  // Synchronous, like console.log to a pipe: lines that wait in another thread would be lost in a crash.
  const stdout = pino.destination({ dest: process.stdout.fd || 1, sync: true, maxLength: MAX_WAITING });
  stdout.on('error', () => {}); // A full disk must not lose an event.
  let lines = '';
  const flush = () => {
    const text = lines;
    lines = '';
    if (text !== '') stdout.write(text);
  };
  process.on('exit', flush);
  return {
    write(line) {
      if (lines === '') setImmediate(flush);
      lines += line;
    },
  };
}
