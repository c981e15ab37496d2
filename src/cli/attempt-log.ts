// What `simulate` prints while it runs: a line for each attempt, with its diagnosis.
import type { Logger } from '../logger.js';
import { clockTime, shortId } from './delivery-text.js';
import { type Output, printable, type Style } from './print.js';

/** A settled attempt, as the simulator logs it. */
interface Settled {
  readonly delivery: string;
  readonly event: string;
  readonly eventName: string;
  readonly url: string;
  readonly attempt: number;
  readonly status: string;
  /** The status of the answer, or the code of the error. */
  readonly answer: number | string | undefined;
  /** The message of the error, if there was one. */
  readonly reason: string | null;
  /** What the endpoint says that it did with the event. */
  readonly outcome: string | null;
  readonly durationMs: number;
  readonly fault: string | null;
  readonly diagnosis: string | null;
  readonly nextAttemptAt: string | null;
}

const STYLES: ReadonlyMap<string, Style> = new Map([
  ['delivered', 'green'],
  ['retrying', 'yellow'],
  ['failed', 'red'],
]);

export class AttemptLog implements Logger {
  readonly #output: Output;
  /** What to print after the banner; undefined once it is printed. */
  #early: Settled[] | undefined = [];

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
    if (this.#early) this.#early.push(fields as Settled);
    else this.#print(fields as Settled);
  };

  readonly warn = (fields: object | string, message = String(fields)): void => {
    const { state, host } = Object(fields) as { state?: string; host?: string };
    const place = state ?? host;
    const reason = reasonIn(fields);
    this.#output.note(`${message}${place ? ` (${place})` : ''}${reason ? `: ${reason}` : ''}`);
  };

  readonly error = this.warn;

  #print(settled: Settled): void {
    this.#output.print(jsonLine(settled), this.#line(settled));
  }

  #line({ delivery, eventName, url, ...settled }: Settled): string {
    const { attempt, status, answer, reason, outcome, durationMs, fault, diagnosis, nextAttemptAt } = settled;
    const answered = String((answer === 'UNKNOWN' ? reason : answer) || reason || '');
    const { paint } = this.#output;
    const line = [
      paint('dim', clockTime(new Date().toISOString())),
      paint(STYLES.get(status) ?? 'dim', status.padEnd(9)),
      `${eventName}  ${shortId(delivery)}  → ${printable(url)}`,
      printable([answered, outcome ?? ''].join(' ').trimEnd()),
      `${Math.round(durationMs)} ms`,
      [
        `attempt ${attempt}`,
        ...(fault === null ? [] : [`fault ${fault}`]),
        ...(nextAttemptAt === null ? [] : [`next retry at ${clockTime(nextAttemptAt)}`]),
      ].join(', '),
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

function jsonLine(settled: Settled): object {
  return {
    type: 'attempt',
    delivery_id: settled.delivery,
    event_id: settled.event,
    event_name: settled.eventName,
    url: settled.url,
    attempt: settled.attempt,
    status: settled.status,
    answer: settled.answer ?? null,
    reason: settled.reason,
    outcome: settled.outcome,
    duration_ms: settled.durationMs,
    fault: settled.fault,
    diagnosis: settled.diagnosis,
    next_attempt_at: settled.nextAttemptAt,
  };
}
