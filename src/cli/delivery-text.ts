// Deliveries as text: a table of many, or everything about one.
import type { Attempt, Delivery } from '../simulator.js';
import { printable, table } from './print.js';

/** The digits of an id that people see and type. */
const SHORT = 8;

const HEADINGS = ['ID', 'STATUS', 'EVENT', 'TO', 'ANSWER', 'MS', 'ATTEMPTS', 'NEXT RETRY'];

export function shortId(id: string): string {
  return id.slice(0, SHORT);
}

export function deliveryTable(deliveries: readonly Delivery[]): string {
  if (deliveries.length === 0) return 'There are no deliveries.';
  return table([HEADINGS, ...deliveries.map(cells)]);
}

function cells({ id, status, event_name, url, attempts, next_attempt_at }: Delivery): string[] {
  const last = attempts.at(-1);
  return [
    shortId(id),
    status,
    event_name,
    url,
    last ? answerOf(last) : '',
    last ? `${Math.round(last.duration_ms)}` : '',
    `${last?.number ?? 0}`,
    clockTime(next_attempt_at),
  ];
}

/** The status of the answer, or what kept it from coming. */
export function answerOf({ response, error }: Attempt): string {
  return String(response?.status ?? error?.code ?? '');
}

/** The time of day, as the person's own clock shows it; empty for none. */
export function clockTime(time: string | null): string {
  return time === null ? '' : new Date(time).toTimeString().slice(0, 8);
}

/** Everything about one, with one attempt in full. */
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

function attemptText(attempt: Attempt): string {
  const { number, started_at, duration_ms, trigger, fault, diagnosis, next_attempt_at } = attempt;
  const manual = trigger === 'manual' ? ', by hand' : '';
  const faulted = fault === null ? '' : `, with the fault ${fault}`;
  const retry = next_attempt_at === null ? '' : `, next retry at ${clockTime(next_attempt_at)}`;
  const head = `attempt ${number}  ${clockTime(started_at)}  ${answerOf(attempt)}  ${Math.round(duration_ms)} ms`;
  return `${head}${manual}${faulted}${retry}${diagnosis === null ? '' : `\n  ${diagnosis}`}`;
}

function exchangeText({ number, request, response, error }: Attempt): string {
  const sent = [`POST ${request.url}`, ...request.headers.map(([name, value]) => `${name}: ${value}`)];
  const cut = response?.body_truncated ? '\n(cut here)' : '';
  const answer = response
    ? [`${response.status}`, ...response.headers.map(([name, value]) => `${name}: ${value}`)]
    : [`no answer: ${error?.code} ${error?.message}`];
  return [
    `request of attempt ${number}\n${indented([...sent, '', ...lines(request.body)])}`,
    `answer to attempt ${number}\n${indented([...answer, ...(response?.body ? ['', ...lines(response.body + cut)] : [])])}`,
  ].join('\n\n');
}

function lines(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

function indented(texts: readonly string[]): string {
  return texts.map((text) => `  ${printable(text)}`.trimEnd()).join('\n');
}
