// What `simulate` prints while it runs: a line for each attempt, and its diagnosis.
import type { Logger } from '../logger.js';
import type { Terminal } from './command.js';
import { clockTime, shortId } from './delivery-text.js';
import { type Paint, painter, print, printable, type Style } from './print.js';

/** A settled attempt, as the simulator logs it. */
interface Settled {
  readonly delivery: string;
  readonly event: string;
  readonly eventName: string;
  readonly url: string;
  readonly attempt: number;
  readonly status: string;
  readonly answer: number | string | undefined;
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
  readonly #terminal: Terminal;
  readonly #json: boolean;
  readonly #paint: Paint;
  /** What happened before the first lines were printed; undefined since. */
  #early: string[] | undefined = [];

  constructor(terminal: Terminal, json: boolean) {
    this.#terminal = terminal;
    this.#json = json;
    this.#paint = painter(terminal.stdout, terminal.env);
  }

  /** From now on lines are printed as they come. */
  begin(): void {
    for (const text of this.#early ?? []) print(this.#terminal.stdout, text);
    this.#early = undefined;
  }

  readonly info = (fields: object | string): void => {
    if (typeof fields === 'string' || !('eventName' in fields)) return;
    const settled = fields as Settled;
    const text = this.#json ? JSON.stringify(record(settled)) : this.#line(settled);
    if (this.#early) this.#early.push(text);
    else print(this.#terminal.stdout, text);
  };

  readonly warn = (fields: object | string, message = String(fields)): void => {
    const { state, err } = Object(fields) as { state?: string; err?: { code?: string } };
    const place = state === undefined ? '' : ` (${state})`;
    const reason = err?.code === undefined ? '' : `: ${err.code}`;
    print(this.#terminal.stderr, printable(`${message}${place}${reason}`));
  };

  readonly error = this.warn;

  #line({ delivery, eventName, url, ...settled }: Settled): string {
    const { attempt, status, answer, durationMs, fault, diagnosis, nextAttemptAt } = settled;
    const parts = [
      this.#paint('dim', clockTime(new Date().toISOString())),
      this.#paint(STYLES.get(status) ?? 'dim', status.padEnd(9)),
      `${eventName}  ${shortId(delivery)}  → ${printable(url)}`,
      `${answer ?? ''}`,
      `${Math.round(durationMs)} ms`,
      [
        `attempt ${attempt}`,
        ...(fault === null ? [] : [`fault ${fault}`]),
        ...(nextAttemptAt === null ? [] : [`next retry at ${clockTime(nextAttemptAt)}`]),
      ].join(', '),
    ];
    const line = parts.join('  ');
    return diagnosis === null ? line : `${line}\n          ${this.#paint('dim', diagnosis)}`;
  }
}

function record({ delivery, event, eventName, durationMs, nextAttemptAt, ...rest }: Settled): object {
  const { url, attempt, status, answer = null, fault, diagnosis } = rest;
  return {
    ...{ type: 'attempt', delivery_id: delivery, event_id: event, event_name: eventName, url, attempt },
    ...{ status, answer, duration_ms: durationMs, fault, diagnosis, next_attempt_at: nextAttemptAt },
  };
}
