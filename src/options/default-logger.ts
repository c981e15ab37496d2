// The logger of receivers that were given none: pino, on the standard output.
import { pino } from 'pino';
import type { Logger } from '../logger.js';

let shared: Logger | undefined;

/** One pino logger for all receivers of this process that were given none. */
export function defaultLogger(): Logger {
  shared ??= pino({ name: 'payment-webhooks' }, stdoutLines()) as Logger;
  return shared;
}

/** What pino writes a line to. */
interface LogLines {
  write(line: string): void;
}

/** Bytes that wait for a full disk. What comes after is dropped. */
const MOST_WAITING = 8 * 1_024 * 1_024;

/**
 * A write for each line costs more than the line itself, so the lines of one turn are written together when it ends, or
 * when the process does. When `process.stdout.write` was replaced, to capture the output, it gets each line.
 */
function stdoutLines(): LogLines {
  if (process.stdout.write !== process.stdout.constructor.prototype.write) return process.stdout;
  // Written like console.log writes to a pipe: what is on its way in another thread would be lost in a crash.
  const stdout = pino.destination({ dest: process.stdout.fd || 1, sync: true, maxLength: MOST_WAITING });
  stdout.on('error', () => {}); // A full disk must cost no event.
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
