// Deliveries and attempts as JSON: the records that the API, the page, programs and the log see.
import { hash } from 'node:crypto';
import type { DeliveryStatus } from './delivery-status.js';
import type { FaultKind } from './faults.js';
import type {
  CancelReason,
  EndpointResponse,
  HeaderPair,
  SimulatedAttempt,
  SimulatedDelivery,
} from './simulated-delivery.js';

/** One attempt to deliver an event: what was sent, how the endpoint answered, and whether a retry was scheduled. */
export interface Attempt {
  number: number;
  trigger: 'automatic' | 'manual';
  started_at: string;
  duration_ms: number;
  succeeded: boolean;
  /** What the endpoint says it did with the event, such as `ignored`. */
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
  /** Only on deliveries that are `cancelled`. */
  cancelled_because?: CancelReason;
}

/** A delivery in a list, without bodies. */
export interface DeliveryRow extends Omit<Delivery, 'attempts' | 'cancelled_because'> {
  sandbox: boolean;
  /** How many were made. */
  attempts: number;
  max_attempts: number;
  last:
    | (Pick<Attempt, 'started_at' | 'duration_ms' | 'outcome' | 'fault' | 'diagnosis'> & {
        status: number | null;
        error: string | null;
      })
    | null;
}

export function deliveryRecord(delivery: SimulatedDelivery): Delivery {
  return {
    ...sharedFields(delivery, delivery.attempts.map(attemptRecord)),
    ...(delivery.status === 'cancelled' && delivery.cancelledBecause
      ? { cancelled_because: delivery.cancelledBecause }
      : {}),
  };
}

export function deliveryRow(delivery: SimulatedDelivery, maxAttempts: number): DeliveryRow {
  const last = delivery.attempts.at(-1);
  return {
    ...sharedFields(delivery, delivery.nextNumber - 1),
    sandbox: delivery.event.sandbox,
    max_attempts: maxAttempts,
    last: last
      ? {
          started_at: isoTime(last.startedAt),
          duration_ms: last.durationMs,
          status: last.response?.status ?? null,
          error: last.error?.code ?? null,
          outcome: last.response && outcomeIn(last.response.body),
          fault: last.fault,
          diagnosis: last.diagnosis,
        }
      : null,
  };
}

/** @param attempts every attempt, or how many */
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
      headers: attempt.headers.map(([name, value]) => [name, value]),
      body: attempt.body.toString('utf8'),
      body_sha256: hash('sha256', attempt.body),
    },
    response: response && { ...response, headers: response.headers.map(([name, value]) => [name, value]) },
    error: error && { ...error },
  };
}

/** A settled attempt, as it is logged. */
export type AttemptFields = ReturnType<typeof logFields>;

export function logFields({ id, event, status }: SimulatedDelivery, attempt: SimulatedAttempt) {
  const { number, durationMs, url, response, error, fault, diagnosis } = attempt;
  return {
    delivery: id,
    event: event.id,
    eventName: event.name,
    url,
    attempt: number,
    status,
    /** The status of the answer, or the code of the error. */
    answer: response?.status ?? error?.code,
    durationMs,
    fault,
    diagnosis,
    /** The message of the error. */
    reason: error?.message ?? null,
    /** What the endpoint says that it did with the event. */
    outcome: response && outcomeIn(response.body),
    nextAttemptAt: isoTime(attempt.nextAttemptAt),
  };
}

// The receiver's answer is short. A longer one is not parsed for every row of a list.
const MAX_OUTCOME_BODY = 1_000;

/** The `outcome` in the body of an answer; null when it is missing or not one word. */
export function outcomeIn(body: string): string | null {
  if (body.length > MAX_OUTCOME_BODY) return null;
  try {
    const { outcome } = Object(JSON.parse(body));
    return typeof outcome === 'string' && /^[\w-]{1,40}$/.test(outcome) ? outcome : null;
  } catch {
    return null;
  }
}

/** ISO 8601 in UTC. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
