// What `simulate` prints while it runs: a line for each attempt, with its diagnosis.
import type { Logger } from '../../logger.js';
import type { AttemptFields } from '../simulator/delivery/delivery-record.js';
import { answerText, attemptNotes, clockTime, shortId } from './delivery-text.js';
import { type Output, printable, type Style } from './print.js';

const STYLES: ReadonlyMap<string, Style> = new Map([
  ['delivered', 'green'],
  ['retrying', 'yellow'],
  ['failed', 'red'],
]);

export class AttemptLog implements Logger {
  readonly #output: Output;
  /** What to print after the banner; undefined once it is printed. */
  #early: AttemptFields[] | undefined = [];

  constructor(output: Output) {
    this.#output = output;
  }

  /** From now on, attempts are printed as they come. */
  begin(): void {
    for (const settled of this.#early ?? []) this.#print(settled);
    this.#early = undefined;
  }

  readonly info = (fields: object | string): void => {
    if (typeof fields === 'string' || !('eventName' in fields)) return;
    if (this.#early) this.#early.push(fields as AttemptFields);
    else this.#print(fields as AttemptFields);
  };

  readonly warn = (fields: object | string, message = String(fields)): void => {
    const { state, host } = Object(fields) as { state?: string; host?: string };
    const place = state ?? host;
    const reason = reasonIn(fields);
    this.#output.note(`${message}${place ? ` (${place})` : ''}${reason ? `: ${reason}` : ''}`);
  };

  readonly error = this.warn;

  #print(settled: AttemptFields): void {
    this.#output.print(jsonLine(settled), this.#line(settled));
  }

  #line({ delivery, event, eventName, url, answer, ...settled }: AttemptFields): string {
    const { attempt, status, durationMs, fault, diagnosis, nextAttemptAt } = settled;
    const { paint } = this.#output;
    const line = [
      paint('dim', clockTime(new Date().toISOString())),
      paint(STYLES.get(status) ?? 'dim', status.padEnd(9)),
      `${eventName}  ${event}  ${shortId(delivery)}  → ${printable(url)}`,
      printable(answerText(typeof answer === 'number' ? `[${answer}]` : answer, settled)),
      `${Math.round(durationMs)} ms`,
      [`attempt ${attempt}`, ...attemptNotes(fault, nextAttemptAt)].join(', '),
    ].join('  ');
    return diagnosis === null ? line : `${line}\n          ${paint('dim', diagnosis)}`;
  }
}

/** An error, or what a log entry says about one. */
interface LoggedError {
  readonly code?: string;
  readonly message?: string;
  readonly type?: string;
}

/** Why something failed: the code if there is one, else the message or the kind of the error. */
function reasonIn(fields: object | string): string {
  const {
    code,
    err,
    error = err,
  } = Object(fields) as LoggedError & { err?: LoggedError; error?: LoggedError };
  return code || error?.code || error?.message || error?.type || '';
}

function jsonLine({ delivery, event, eventName, durationMs, nextAttemptAt, ...same }: AttemptFields): object {
  return {
    type: 'attempt',
    delivery_id: delivery,
    event_id: event,
    event_name: eventName,
    ...same,
    answer: same.answer ?? null,
    duration_ms: durationMs,
    next_attempt_at: nextAttemptAt,
  };
}
