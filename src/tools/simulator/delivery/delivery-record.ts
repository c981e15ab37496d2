// Deliveries and attempts as JSON, for the API, the page, programs and the log.
import { hash } from 'node:crypto';
import { compareBodies } from './compare-bodies.js';
import type { DeliveryStatus } from './delivery-status.js';
import type { FaultKind } from './faults.js';
import {
  type CancelReason,
  type EndpointResponse,
  type HeaderPair,
  nextNumber,
  type SimulatedAttempt,
  type SimulatedDelivery,
} from './simulated-delivery.js';

/** One attempt to deliver an event: what was sent, how the endpoint answered, and whether a retry was scheduled. */
export interface Attempt {
  number: number;
  trigger: 'automatic' | 'manual';
  started_at: string;
  duration_ms: number;
  succeeded: boolean;
  /** What the endpoint reports that it did with the event, such as `ignored`. */
  outcome: string | null;
  fault: FaultKind | null;
  diagnosis: string | null;
  will_retry: boolean;
  next_attempt_at: string | null;
  request: { method: 'POST'; url: string; headers: HeaderPair[]; body: string; body_sha256: string };
  response: EndpointResponse | null;
  error: { code: string; message: string } | null;
}

/** The record of an event on its way to one webhook. */
export interface Delivery {
  id: string;
  event_id: string;
  event_name: string;
  webhook_id: string;
  url: string;
  status: DeliveryStatus;
  attempts: Attempt[];
  next_attempt_at: string | null;
  created_at: string;
  delivered_at: string | null;
  /** Present only if the status is `cancelled`. */
  cancelled_because?: CancelReason;
}

/** A delivery in a list, without bodies. */
export type DeliveryRow = ReturnType<typeof deliveryRow>;

export function deliveryRecord(delivery: SimulatedDelivery): Delivery {
  const { status, cancelledBecause, attempts } = delivery;
  const record = sharedFields(delivery, attempts.map(attemptRecord));
  if (status !== 'cancelled' || !cancelledBecause) return record;
  return { ...record, cancelled_because: cancelledBecause };
}

export function deliveryRow(delivery: SimulatedDelivery, maxAttempts: number) {
  const last = delivery.attempts.at(-1) ?? null;
  return {
    ...sharedFields(delivery, nextNumber(delivery) - 1),
    sandbox: delivery.event.sandbox,
    max_attempts: maxAttempts,
    last: last && {
      started_at: isoTime(last.startedAt),
      duration_ms: last.durationMs,
      status: last.response?.status ?? null,
      error: last.error?.code ?? null,
      outcome: last.response && outcomeIn(last.response.body),
      fault: last.fault,
      diagnosis: last.diagnosis,
      ...(last.finding && { signature_header: last.finding.header }),
    },
  };
}

/** @param attempts the records of the attempts, or their number */
function sharedFields<Attempts>(delivery: SimulatedDelivery, attempts: Attempts) {
  return {
    id: delivery.id,
    event_id: delivery.event.id,
    event_name: delivery.event.name,
    webhook_id: delivery.webhookId,
    url: delivery.url,
    status: delivery.status,
    attempts,
    next_attempt_at: isoTime(delivery.nextAttemptAt),
    created_at: isoTime(delivery.createdAt),
    delivered_at: isoTime(delivery.deliveredAt),
  };
}

function attemptRecord(attempt: SimulatedAttempt): Attempt {
  const { response, error } = attempt;
  return {
    number: attempt.number,
    trigger: attempt.trigger,
    started_at: isoTime(attempt.startedAt),
    duration_ms: attempt.durationMs,
    succeeded: attempt.succeeded,
    outcome: response && outcomeIn(response.body),
    fault: attempt.fault,
    diagnosis: attempt.diagnosis,
    will_retry: attempt.nextAttemptAt !== null,
    next_attempt_at: isoTime(attempt.nextAttemptAt),
    request: {
      method: 'POST',
      url: attempt.url,
      headers: copyOf(attempt.headers),
      body: attempt.body.toString('utf8'),
      body_sha256: hash('sha256', attempt.body),
    },
    response: response && { ...response, headers: copyOf(response.headers) },
    error: error && { ...error },
  };
}

/** The log fields of a settled attempt. */
export type AttemptFields = ReturnType<typeof logFields>;

export function logFields({ id, event, status, attempts }: SimulatedDelivery, attempt: SimulatedAttempt) {
  const { number, durationMs, url, response, error, fault, diagnosis } = attempt;
  return {
    delivery: id,
    event: event.id,
    eventName: event.name,
    url,
    attempt: number,
    status,
    answer: response?.status ?? error?.code,
    durationMs,
    fault,
    diagnosis,
    reason: error?.message ?? null,
    outcome: response && outcomeIn(response.body),
    nextAttemptAt: isoTime(attempt.nextAttemptAt),
    ...(attempt.finding && { signature: attempt.finding, again: comesAgain(attempts) }),
  };
}

/** How the last attempt compares to the one before, if the service made both. */
function comesAgain(attempts: readonly SimulatedAttempt[]): string | null {
  const [before, last] = attempts.filter(({ trigger }) => trigger === 'automatic').slice(-2);
  if (!before || !last || last !== attempts.at(-1)) return null;
  const pause = Math.round((last.startedAt - before.startedAt) / 1_000);
  return `The service sent this event again after ${pause} s: ${compareBodies(String(before.body), String(last.body))}.`;
}

// The receiver's answers are short. Parsing longer ones for every row of a list would be slow.
const MAX_OUTCOME_BODY = 1_000;

/** The `outcome` in the body of an answer; null if it is missing or not a single word. */
export function outcomeIn(body: string): string | null {
  if (body.length > MAX_OUTCOME_BODY) return null;
  try {
    const { outcome } = Object(JSON.parse(body));
    return typeof outcome === 'string' && /^[\w-]{1,40}$/.test(outcome) ? outcome : null;
  } catch {
    return null;
  }
}

/** Of this realm: in Jest, Node's arrays are of another one, and so is what `structuredClone` or `map` makes of them. */
function copyOf(headers: readonly HeaderPair[]): HeaderPair[] {
  return Array.from(headers, ([name, value]) => [name, value]);
}

/** ISO 8601 in UTC. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
