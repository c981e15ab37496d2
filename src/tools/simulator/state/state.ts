// Serializes the state of a running simulator, and restores it after a restart.
import { z } from 'zod';
import type { ServiceParts } from '../delivery/deliverer.js';
import { deliveryStatuses } from '../delivery/delivery-status.js';
import { faultKinds, faultRule } from '../delivery/faults.js';
import { cancelReasons, SimulatedDelivery, type SimulatedEvent } from '../delivery/simulated-delivery.js';

const VERSION = 1;

const headers = z.array(z.tuple([z.string(), z.string()]));
const fault = z.enum(faultKinds);
const keys = z.object({ privateKey: z.string(), sandboxKey: z.string() });

const attempt = z.object({
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
  response: z
    .object({ status: z.number(), headers, body: z.string(), body_truncated: z.boolean() })
    .nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  nextAttemptAt: z.number().nullable(),
});

const delivery = z.object({
  id: z.string(),
  /** The index in `events`. */
  event: z.number(),
  webhookId: z.string(),
  url: z.url(),
  createdAt: z.number(),
  status: z.enum(deliveryStatuses),
  attempts: z.array(attempt),
  nextAttemptAt: z.number().nullable(),
  deliveredAt: z.number().nullable(),
  cancelledBecause: z.enum(cancelReasons).optional(),
  retries: z.number(),
  plannedFault: z.object({ kind: fault, delayMs: z.number().nullable(), postponed: z.boolean() }).optional(),
});

const stateShape = z.object({
  version: z.literal(VERSION),
  now: z.number(),
  drawn: z.number(),
  keys: z.object({ first: keys, current: keys }),
  webhooks: z.array(
    z.object({
      id: z.string(),
      account: z.string(),
      url: z.url(),
      events: z.array(z.string()),
      paused: z.boolean(),
      createdAt: z.number(),
      updatedAt: z.number(),
      acceptedKey: z.string().optional(),
    }),
  ),
  events: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      sandbox: z.boolean(),
      body: z.string(),
      signatureHeader: z.string().optional(),
    }),
  ),
  deliveries: z.array(delivery),
  faults: z.array(
    faultRule.extend({ id: z.string(), remaining: z.union([z.number(), z.literal('always')]) }),
  ),
});

const state = stateShape.superRefine(({ events, deliveries }, context) => {
  for (const [index, { event }] of deliveries.entries()) {
    if (!events[event]) context.addIssue({ code: 'custom', path: ['deliveries', index, 'event'] });
  }
});

export type State = Omit<z.infer<typeof state>, 'version'>;

type DeliveryState = State['deliveries'][number];

/** @returns the state, or what is wrong with the text */
export function parseState(text: string): State | string {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return 'is not complete JSON: it may be truncated';
  }
  const version: unknown = (content as { version?: unknown } | null)?.version;
  if (typeof version === 'number' && version !== VERSION) {
    return `has version ${version}, and this simulator reads version ${VERSION}`;
  }
  const result = state.safeParse(content);
  if (result.success) return result.data;
  const where = result.error.issues[0]?.path.join('.') ?? '';
  return `is not a state file of the simulator: ${where || 'its content'} is invalid`;
}

export function stateText(content: State): string {
  return JSON.stringify({ version: VERSION, ...content });
}

export function takeState({ store, faults, accounts, randomness, scheduler }: ServiceParts): State {
  const deliveries = store.allDeliveries();
  const events = [...new Set(deliveries.map((one) => one.event))];
  const position = new Map(events.map((event, index) => [event, index]));
  return {
    now: scheduler.now(),
    drawn: randomness.drawn,
    keys: { first: accounts.initial, current: accounts.current },
    webhooks: [...store.webhooks.values()].map((webhook) => ({ ...webhook, events: [...webhook.events] })),
    events: events.map((event) => ({ ...event, body: event.body.toString('utf8') })),
    deliveries: deliveries.map((one) => deliveryState(one, position.get(one.event) ?? -1)),
    faults: faults.list(),
  };
}

/** Restores everything but the time. Nothing is scheduled or sent yet. */
export function restoreState(saved: State, { store, faults, accounts, randomness }: ServiceParts): void {
  const { first, current } = saved.keys;
  const { privateKey, sandboxKey } = accounts.initial;
  // Other keys given at startup are newer than a rotation of the old ones.
  if (first.privateKey === privateKey && first.sandboxKey === sandboxKey) accounts.rotate(current);
  randomness.drawn = saved.drawn;
  for (const webhook of saved.webhooks) store.saveWebhook({ ...webhook });
  for (const one of saved.faults) faults.restore(one);
  const events = saved.events.map((event) => ({ ...event, body: Buffer.from(event.body, 'utf8') }));
  for (const kept of saved.deliveries) {
    const event = events[kept.event];
    if (event) store.saveDelivery(restoredDelivery(kept, event));
  }
}

/** Everything about a delivery but the attempt in flight. */
function deliveryState(delivery: SimulatedDelivery, position: number): DeliveryState {
  const { event, attempts, inFlight, ...kept } = delivery;
  return {
    ...kept,
    event: position,
    attempts: attempts.map((one) => ({
      ...one,
      headers: [...one.headers],
      body: one.body === event.body ? null : one.body.toString('utf8'),
    })),
  };
}

function restoredDelivery({ attempts, ...saved }: DeliveryState, event: SimulatedEvent): SimulatedDelivery {
  const delivery = Object.assign(new SimulatedDelivery({ ...saved, event }), { ...saved, event });
  delivery.attempts = attempts.map((one) => ({
    ...one,
    body: one.body === null ? event.body : Buffer.from(one.body, 'utf8'),
  }));
  if (delivery.status === 'in_flight') delivery.status = statusAfterCrash(delivery);
  return delivery;
}

/** An attempt that was in flight may or may not have arrived: it is made again, if it is still needed. */
function statusAfterCrash(delivery: SimulatedDelivery): SimulatedDelivery['status'] {
  if (delivery.deliveredAt !== null) return 'delivered';
  if (delivery.cancelledBecause) return 'cancelled';
  return delivery.nextAttemptAt === null ? 'pending' : 'retrying';
}
