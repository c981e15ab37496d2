// An event on its way to one webhook, with every attempt to get it there.
import { hash } from 'node:crypto';
import { Linked } from '../linked-list.js';
import type { FaultKind } from './fault-kinds.js';

/** `cancelled`: its webhook was deleted or paused, or somebody cancelled it. */
export type DeliveryStatus = 'pending' | 'in_flight' | 'retrying' | 'delivered' | 'failed' | 'cancelled';

/** Why a delivery is `cancelled`. */
export type CancelReason = 'webhook_deleted' | 'webhook_paused' | 'request';

/** A header as it went over the wire. */
export type HeaderPair = [name: string, value: string];

/** One attempt to deliver an event: what was sent, how it was answered, and whether a retry was due. */
export interface Attempt {
  number: number;
  trigger: 'automatic' | 'manual';
  started_at: string;
  duration_ms: number;
  succeeded: boolean;
  fault: FaultKind | null;
  diagnosis: string | null;
  will_retry: boolean;
  next_attempt_at: string | null;
  request: { method: 'POST'; url: string; headers: HeaderPair[]; body: string; body_sha256: string };
  response: Answered | null;
  error: { code: string; message: string } | null;
}

/** How an endpoint answered; the body is text of at most 64 KiB. */
export interface Answered {
  status: number;
  headers: HeaderPair[];
  body: string;
  body_truncated: boolean;
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

/** An event that happened. Its bytes are made once: stored, signed, sent and sent again as they are. */
export interface HappenedEvent {
  readonly id: string;
  readonly name: string;
  readonly sandbox: boolean;
  readonly body: Buffer;
}

/** An attempt as the simulator keeps it: times are milliseconds, the body bytes. */
export interface AttemptEntry {
  readonly number: number;
  readonly trigger: 'automatic' | 'manual';
  readonly startedAt: number;
  readonly durationMs: number;
  readonly succeeded: boolean;
  readonly fault: FaultKind | null;
  readonly diagnosis: string | null;
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
  readonly response: Answered | null;
  readonly error: { code: string; message: string } | null;
  /** When a retry was due after this attempt, or null. */
  nextAttemptAt: number | null;
}

/** A fault that is kept for the delivery's next attempt, and whether it has postponed that attempt already. */
export interface PlannedFault {
  readonly kind: FaultKind;
  readonly delayMs: number | null;
  readonly postponed: boolean;
}

const ATTEMPTS_KEPT = 100;

/** A delivery as the simulator keeps it. It is in one list at a time: waiting for its time, or finished. */
export class DeliveryEntry extends Linked<DeliveryEntry> {
  readonly id: string;
  readonly event: HappenedEvent;
  readonly webhookId: string;
  readonly createdAt: number;
  url: string;
  status: DeliveryStatus = 'pending';
  attempts: AttemptEntry[] = [];
  nextAttemptAt: number | null = null;
  deliveredAt: number | null = null;
  cancelledBecause: CancelReason | undefined = undefined;
  /** Scheduled retries that were used up. */
  retries = 0;
  plannedFault: PlannedFault | undefined = undefined;
  /** The attempt under way: attempts of one delivery never overlap. */
  flight: Promise<void> | undefined = undefined;

  constructor(fields: Pick<DeliveryEntry, 'id' | 'event' | 'webhookId' | 'url' | 'createdAt'>) {
    super();
    this.id = fields.id;
    this.event = fields.event;
    this.webhookId = fields.webhookId;
    this.url = fields.url;
    this.createdAt = fields.createdAt;
  }

  get finished(): boolean {
    return this.status === 'delivered' || this.status === 'failed' || this.status === 'cancelled';
  }

  get nextNumber(): number {
    return (this.attempts.at(-1)?.number ?? 0) + 1;
  }

  /** Nothing waits any more, and the attempt that promised a retry says so. */
  dropRetry(): void {
    this.list?.remove(this);
    for (const attempt of this.attempts) {
      if (attempt.nextAttemptAt === this.nextAttemptAt) attempt.nextAttemptAt = null;
    }
    this.nextAttemptAt = null;
    this.plannedFault = undefined;
  }

  /** Remembers the attempt; a delivery that is sent again for ever forgets its oldest ones. */
  add(attempt: AttemptEntry): void {
    this.attempts.push(attempt);
    if (this.attempts.length > ATTEMPTS_KEPT) this.attempts.shift();
  }

  record(): Delivery {
    return {
      id: this.id,
      event_id: this.event.id,
      event_name: this.event.name,
      webhook_id: this.webhookId,
      url: this.url,
      status: this.status,
      attempts: this.attempts.map(attemptRecord),
      next_attempt_at: time(this.nextAttemptAt),
      created_at: time(this.createdAt),
      delivered_at: time(this.deliveredAt),
      ...(this.status === 'cancelled' && this.cancelledBecause
        ? { cancelled_because: this.cancelledBecause }
        : {}),
    };
  }
}

function attemptRecord(attempt: AttemptEntry): Attempt {
  return {
    number: attempt.number,
    trigger: attempt.trigger,
    started_at: time(attempt.startedAt),
    duration_ms: attempt.durationMs,
    succeeded: attempt.succeeded,
    fault: attempt.fault,
    diagnosis: attempt.diagnosis,
    will_retry: attempt.nextAttemptAt !== null,
    next_attempt_at: time(attempt.nextAttemptAt),
    request: {
      method: 'POST',
      url: attempt.url,
      headers: attempt.headers.map(([name, value]) => [name, value]),
      body: attempt.body.toString('utf8'),
      body_sha256: hash('sha256', attempt.body),
    },
    response: attempt.response && {
      ...attempt.response,
      headers: attempt.response.headers.map(([name, value]) => [name, value]),
    },
    error: attempt.error && { ...attempt.error },
  };
}

/** ISO 8601 in UTC. */
export function time(ms: number): string;
export function time(ms: number | null): string | null;
export function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
