// A delivery without its bodies: what a list of many shows.
import { type DeliveryEntry, type DeliveryStatus, time } from './delivery.js';
import type { FaultKind } from './fault-kinds.js';

/** A line of a list of deliveries. */
export interface Row {
  id: string;
  event_id: string;
  event_name: string;
  sandbox: boolean;
  webhook_id: string;
  url: string;
  status: DeliveryStatus;
  attempts: number;
  max_attempts: number;
  next_attempt_at: string | null;
  created_at: string;
  delivered_at: string | null;
  last: {
    started_at: string;
    duration_ms: number;
    status: number | null;
    error: string | null;
    fault: FaultKind | null;
    diagnosis: string | null;
  } | null;
}

export function rowOf(delivery: DeliveryEntry, maxAttempts: number): Row {
  const last = delivery.attempts.at(-1);
  return {
    id: delivery.id,
    event_id: delivery.event.id,
    event_name: delivery.event.name,
    sandbox: delivery.event.sandbox,
    webhook_id: delivery.webhookId,
    url: delivery.url,
    status: delivery.status,
    attempts: delivery.nextNumber - 1,
    max_attempts: maxAttempts,
    next_attempt_at: time(delivery.nextAttemptAt),
    created_at: time(delivery.createdAt),
    delivered_at: time(delivery.deliveredAt),
    last: last
      ? {
          started_at: time(last.startedAt),
          duration_ms: last.durationMs,
          status: last.response?.status ?? null,
          error: last.error?.code ?? null,
          fault: last.fault,
          diagnosis: last.diagnosis,
        }
      : null,
  };
}
