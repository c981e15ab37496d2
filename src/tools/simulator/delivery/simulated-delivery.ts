// The simulator's model of a delivery, an event on its way to one webhook, as memory and the state file hold it.
import { z } from 'zod';
import { deliveryStatuses } from './delivery-status.js';
import { faultKinds } from './faults.js';

const cancelReasons = ['webhook_deleted', 'webhook_paused', 'request'] as const;

/** Why a delivery is `cancelled`. */
export type CancelReason = (typeof cancelReasons)[number];

/** A header as it was sent. */
export type HeaderPair = [name: string, value: string];

export const eventState = z.object({
  id: z.string(),
  name: z.string(),
  sandbox: z.boolean(),
  body: z.string(),
  /** Undefined for the `signatureHeader` of the simulator. */
  signatureHeader: z.string().optional(),
});

/** A triggered event, serialized once: every attempt signs and sends the same bytes. Or a captured one, with its headers. */
export type SimulatedEvent = Readonly<
  Omit<z.infer<typeof eventState>, 'body'> & { body: Buffer; headers?: readonly HeaderPair[] }
>;

/** Which header of a captured delivery has the signature. */
export interface SignatureFinding {
  /** Null if none has it. */
  readonly header: string | null;
  /** How it differs from 64 lower-case digits, such as `with the prefix "sha256="`; null if it does not. */
  readonly form: string | null;
  /** The index of the key that made it. */
  readonly key: number | null;
  readonly message: string;
}

const fault = z.enum(faultKinds);
const headers: z.ZodType<HeaderPair[]> = z.array(z.tuple([z.string(), z.string()]));

const response = z.object({
  status: z.number(),
  headers,
  /** Text of at most 64 KiB. */
  body: z.string(),
  body_truncated: z.boolean(),
});

/** How an endpoint answered. */
export type EndpointResponse = z.infer<typeof response>;

const attemptState = z.object({
  number: z.number(),
  trigger: z.enum(['automatic', 'manual']),
  startedAt: z.number(),
  durationMs: z.number(),
  succeeded: z.boolean(),
  fault: fault.nullable(),
  diagnosis: z.string().nullable(),
  url: z.string(),
  headers,
  /** Null for the event's own bytes. */
  body: z.string().nullable(),
  response: response.nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  nextAttemptAt: z.number().nullable(),
});

/** An attempt; times are milliseconds. */
export type SimulatedAttempt = Omit<z.infer<typeof attemptState>, 'body'> & {
  readonly body: Buffer;
  readonly finding?: SignatureFinding | undefined;
};

export type AttemptResult = Readonly<Pick<SimulatedAttempt, 'durationMs' | 'response' | 'error'>>;

/** The fault of a delivery's next attempt. `postponed`: it has already delayed that attempt. */
const plannedFault = z.object({ kind: fault, delayMs: z.number().nullable(), postponed: z.boolean() });
export type PlannedFault = Readonly<z.infer<typeof plannedFault>>;

export const deliveryState = z.object({
  id: z.string(),
  event: z.number(),
  webhookId: z.string(),
  url: z.url(),
  createdAt: z.number(),
  status: z.enum(deliveryStatuses),
  attempts: z.array(attemptState),
  nextAttemptAt: z.number().nullable(),
  deliveredAt: z.number().nullable(),
  cancelledBecause: z.enum(cancelReasons).optional(),
  /** Scheduled retries used so far. */
  retries: z.number(),
  plannedFault: plannedFault.optional(),
});

export interface SimulatedDelivery extends Omit<z.infer<typeof deliveryState>, 'event' | 'attempts'> {
  /** The latest that arrived, if the service sent it several times. */
  event: SimulatedEvent;
  attempts: SimulatedAttempt[];
  /** The attempt in flight: attempts of one delivery never overlap. */
  inFlight?: Promise<void> | undefined;
}

export function newDelivery(
  fields: Pick<SimulatedDelivery, 'id' | 'event' | 'webhookId' | 'url' | 'createdAt' | 'plannedFault'>,
): SimulatedDelivery {
  return { ...fields, status: 'pending', attempts: [], nextAttemptAt: null, deliveredAt: null, retries: 0 };
}

export function isFinished({ status }: SimulatedDelivery): boolean {
  return status === 'delivered' || status === 'failed' || status === 'cancelled';
}

export function nextNumber({ attempts }: SimulatedDelivery): number {
  return (attempts.at(-1)?.number ?? 0) + 1;
}
