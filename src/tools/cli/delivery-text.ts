// Deliveries as text: a table of many, or everything about one.
import type { Attempt, Delivery } from '../simulator/delivery/delivery-record.js';
import { indented, printable, table } from './print.js';

const HEADINGS = ['ID', 'STATUS', 'EVENT', 'EVENT ID', 'TO', 'ANSWER', 'MS', 'ATTEMPTS', 'NEXT RETRY'];

/** The part of an id that people see and type. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** The local time of day; empty for null. */
export function clockTime(time: string | null): string {
  return time === null ? '' : new Date(time).toTimeString().slice(0, 8);
}

export function deliveryTable(deliveries: readonly Delivery[], filtered = false): string {
  if (deliveries.length === 0) return filtered ? 'No delivery matches.' : 'There are no deliveries.';
  return table([HEADINGS, ...deliveries.map(cells)]);
}

function cells({ id, status, event_name, event_id, url, attempts, next_attempt_at }: Delivery): string[] {
  const last = attempts.at(-1);
  const [answer, ms] = last ? [answerOf(last), `${Math.round(last.duration_ms)}`] : ['', ''];
  const sent = [shortId(id), status, event_name, event_id, url];
  return [...sent, answer, ms, `${last?.number ?? 0}`, clockTime(next_attempt_at)];
}

function answerOf({ response, outcome, error }: Attempt): string {
  return answerText(response?.status ?? error?.code, { reason: error?.message, outcome });
}

/**
 * The status and the outcome in the answer, or why no answer came.
 *
 * @param answer the status, or the code of the error
 */
export function answerText(
  answer: number | string | undefined,
  { reason, outcome }: { readonly reason: string | null | undefined; readonly outcome: string | null },
): string {
  const known = answer === 'UNKNOWN' ? reason : answer;
  return [known || reason || '', outcome ?? ''].join(' ').trimEnd();
}

/** Everything about one delivery, with one attempt in full. */
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

/** Each attempt, where there were several; else the table says it all. */
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

export function attemptNotes(fault: string | null, nextAttemptAt: string | null): string[] {
  const retry = nextAttemptAt === null ? [] : [`next retry at ${clockTime(nextAttemptAt)}`];
  return fault === null ? retry : [`fault ${fault}`, ...retry];
}

function exchangeText({ number, request, response, error }: Attempt): string {
  const sent = [`POST ${request.url}`, ...headerLines(request.headers), '', ...lines(request.body)];
  const cut = response?.body_truncated ? '\n(cut here)' : '';
  const body = response?.body ? ['', ...lines(response.body + cut)] : [];
  const answer = response
    ? [`${response.status}`, ...headerLines(response.headers), ...body]
    : [`no answer: ${error?.code} ${error?.message}`];
  return `request of attempt ${number}\n${indented(sent)}\n\nanswer to attempt ${number}\n${indented(answer)}`;
}

function headerLines(headers: readonly (readonly string[])[]): string[] {
  return headers.map(([name, value]) => `${name}: ${value}`);
}

function lines(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}
