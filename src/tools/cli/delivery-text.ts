// Deliveries as text: a table, one delivery in full, or one line per attempt while `simulate` runs.
import type { Logger } from '../../logger.js';
import type { Attempt, AttemptFields, Delivery } from '../simulator/delivery/delivery-record.js';
import type { Terminal } from './command.js';
import { indented, type Output, type Paint, printable, type Style, table } from './print.js';

const HEADINGS = ['ID', 'STATUS', 'EVENT', 'EVENT ID', 'TO', 'ANSWER', 'MS', 'ATTEMPTS', 'NEXT RETRY'];

/** The part of an id that people read and type. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** The local time of day; empty for null. */
function clockTime(time: string | null): string {
  return time === null ? '' : new Date(time).toTimeString().slice(0, 8);
}

export function deliveryTable(
  deliveries: readonly Delivery[],
  { stdout }: Terminal,
  filtered = false,
): string {
  if (deliveries.length === 0) return filtered ? 'No delivery matches.' : 'There are no deliveries.';
  return table([HEADINGS, ...deliveries.map(cells)], stdout.columns);
}

function cells({ id, status, event_name, event_id, url, attempts, next_attempt_at }: Delivery): string[] {
  const last = attempts.at(-1);
  const answer = last ? [answerOf(last), `${Math.round(last.duration_ms)}`, `${last.number}`] : ['', '', '0'];
  return [shortId(id), status, event_name, event_id, url, ...answer, clockTime(next_attempt_at)];
}

function answerOf({ response, outcome, error }: Attempt): string {
  return answerText({ answer: response?.status ?? error?.code, reason: error?.message ?? null, outcome });
}

/** The status and the outcome in the answer, or why no answer came. */
function answerText({ answer, reason, outcome }: Pick<AttemptFields, 'answer' | 'reason' | 'outcome'>) {
  const known = answer === 'UNKNOWN' ? reason : answer;
  return [known || reason || '', outcome ?? ''].join(' ').trimEnd();
}

export function deliveryText(delivery: Delivery, shown: Attempt | undefined): string {
  const { id, event_id, event_name, url, status, attempts, created_at, cancelled_because } = delivery;
  const reason = cancelled_because === undefined ? '' : ` (${cancelled_because})`;
  const facts = table([
    ['delivery', id],
    ['event', `${event_name}  ${event_id}`],
    ['to', url],
    ['status', `${status}${reason}`],
    ['created', created_at],
  ]);
  return [facts, ...attempts.map(attemptText), ...(shown ? [exchangeText(shown)] : [])].join('\n\n');
}

/** Each attempt, if there were several: one attempt is complete in the table. */
export function attemptsText({ id, attempts }: Delivery): string {
  if (attempts.length < 2) return '';
  return [`delivery ${shortId(id)}`, ...attempts.map(attemptText)].join('\n');
}

function attemptText(attempt: Attempt): string {
  const { number, started_at, duration_ms, trigger, fault, diagnosis, next_attempt_at } = attempt;
  const answer = printable(answerOf(attempt));
  const line = [
    `attempt ${number}  ${clockTime(started_at)}  ${answer}  ${Math.round(duration_ms)} ms`,
    ...(trigger === 'manual' ? ['resent by hand'] : []),
    ...attemptNotes(fault, next_attempt_at),
  ].join(', ');
  return diagnosis === null ? line : `${line}\n  ${diagnosis}`;
}

function attemptNotes(fault: string | null, nextAttemptAt: string | null): string[] {
  const retry = nextAttemptAt === null ? [] : [`next retry at ${clockTime(nextAttemptAt)}`];
  return fault === null ? retry : [`fault ${fault}`, ...retry];
}

function exchangeText({ number, request, response, error }: Attempt): string {
  const sent = messageLines(`POST ${request.url}`, request.headers, request.body);
  const cut = response?.body && response.body_truncated ? '\n(cut here)' : '';
  const answer = response
    ? messageLines(`${response.status}`, response.headers, response.body + cut)
    : [`no answer: ${error?.code} ${error?.message}`];
  return `request of attempt ${number}\n${indented(sent)}\n\nanswer to attempt ${number}\n${indented(answer)}`;
}

function messageLines(first: string, headers: readonly (readonly string[])[], body: string): string[] {
  const lines = body === '' ? [] : ['', ...body.replace(/\n$/, '').split('\n')];
  return [first, ...headers.map(([name, value]) => `${name}: ${value}`), ...lines];
}

const STYLES: Partial<Record<string, Style>> = { delivered: 'green', retrying: 'yellow', failed: 'red' };

/** An error, or its description. */
type LoggedError = { readonly [Name in 'code' | 'message' | 'type']?: string };
type LoggedFields = { readonly [Name in 'state' | 'host' | 'code']?: string } & {
  readonly [Name in 'err' | 'error']?: LoggedError;
};

/** The logger of the simulator: prints attempts, and notes what went wrong. */
export function attemptLog(output: Output) {
  /** Attempts to print after the banner; undefined once the banner is printed. */
  let early: AttemptFields[] | undefined = [];
  const print = (settled: AttemptFields) =>
    output.print(jsonLine(settled), attemptLine(settled, output.paint));
  const warn = (fields: object | string, message = String(fields)): void => {
    const { state, host, code, err, error = err } = Object(fields) as LoggedFields;
    const place = state ?? host;
    const reason = code || error?.code || error?.message || error?.type;
    output.note(`${message}${place ? ` (${place})` : ''}${reason ? `: ${reason}` : ''}`);
  };
  return {
    /** Prints the attempts so far, and from now on each one at once. */
    begin(): void {
      early?.forEach(print);
      early = undefined;
    },
    info(fields: object | string): void {
      if (typeof fields === 'string' || !('eventName' in fields)) return;
      if (early) early.push(fields as AttemptFields);
      else print(fields as AttemptFields);
    },
    warn,
    error: warn,
  } satisfies Logger & { begin(): void };
}

function attemptLine({ delivery, event, eventName, url, answer, ...settled }: AttemptFields, paint: Paint) {
  const { attempt, status, durationMs, fault, diagnosis, nextAttemptAt, signature, again } = settled;
  const line = [
    paint('dim', clockTime(new Date().toISOString())),
    paint(STYLES[status] ?? 'dim', status.padEnd(9)),
    `${printable(`${eventName}  ${event}`)}  ${shortId(delivery)}  → ${printable(url)}`,
    printable(answerText({ ...settled, answer: typeof answer === 'number' ? `[${answer}]` : answer })),
    `${Math.round(durationMs)} ms`,
    [`attempt ${attempt}`, ...attemptNotes(fault, nextAttemptAt)].join(', '),
  ].join('  ');
  const remarks = [diagnosis, signature?.message, again].filter((text) => typeof text === 'string');
  return [line, ...remarks.map((text) => `          ${paint('dim', printable(text))}`)].join('\n');
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
