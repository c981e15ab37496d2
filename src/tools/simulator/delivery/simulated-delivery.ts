// The simulator's model of a delivery: an event, its webhook, and every attempt.
import type { DeliveryStatus } from './delivery-status.js';
import type { FaultKind } from './faults.js';

export const cancelReasons = ['webhook_deleted', 'webhook_paused', 'request'] as const;

/** Why a delivery is `cancelled`. */
export type CancelReason = (typeof cancelReasons)[number];

/** A header as it was sent. */
export type HeaderPair = [name: string, value: string];

/** How an endpoint answered. */
export interface EndpointResponse {
  status: number;
  headers: HeaderPair[];
  /** Text of at most 64 KiB. */
  body: string;
  body_truncated: boolean;
}

/** A triggered event. It is serialized once: every attempt signs and sends the same bytes. */
export interface SimulatedEvent {
  readonly id: string;
  readonly name: string;
  readonly sandbox: boolean;
  readonly body: Buffer;
  /** Undefined for the `signatureHeader` of the simulator. */
  readonly signatureHeader?: string | undefined;
}

/** How an attempt ended: with a response, or with an error. */
export interface AttemptResult {
  readonly durationMs: number;
  readonly response: EndpointResponse | null;
  readonly error: { code: string; message: string } | null;
}

/** An attempt; times are milliseconds. */
export interface SimulatedAttempt extends AttemptResult {
  readonly number: number;
  readonly trigger: 'automatic' | 'manual';
  readonly startedAt: number;
  readonly succeeded: boolean;
  readonly fault: FaultKind | null;
  readonly diagnosis: string | null;
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
  /** When the retry after this attempt is due, or null. */
  nextAttemptAt: number | null;
}

/** The fault of a delivery's next attempt. `postponed`: it has already delayed that attempt. */
export interface PlannedFault {
  readonly kind: FaultKind;
  readonly delayMs: number | null;
  readonly postponed: boolean;
}

export class SimulatedDelivery {
  readonly id: string;
  readonly event: SimulatedEvent;
  readonly webhookId: string;
  readonly createdAt: number;
  url: string;
  status: DeliveryStatus = 'pending';
  attempts: SimulatedAttempt[] = [];
  nextAttemptAt: number | null = null;
  deliveredAt: number | null = null;
  cancelledBecause: CancelReason | undefined = undefined;
  /** Scheduled retries used so far. */
  retries = 0;
  plannedFault: PlannedFault | undefined = undefined;
  /** The attempt in flight: attempts of one delivery never overlap. */
  inFlight: Promise<void> | undefined = undefined;

  constructor(fields: Pick<SimulatedDelivery, 'id' | 'event' | 'webhookId' | 'url' | 'createdAt'>) {
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
}
