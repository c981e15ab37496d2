// Serializes the state of a running simulator, and restores it after a restart.
import { z } from 'zod';
import { faultRule } from '../delivery/faults.js';
import {
  deliveryState,
  eventState,
  type SimulatedDelivery,
  type SimulatedEvent,
} from '../delivery/simulated-delivery.js';
import type { Parts } from '../parts.js';
import { storedWebhook } from '../simulator-store.js';

const VERSION = 1;

const keys = z.object({ privateKey: z.string(), sandboxKey: z.string() });

const stateShape = z
  .object({
    version: z.literal(VERSION),
    now: z.number(),
    drawn: z.number(),
    keys: z.object({ first: keys, current: keys }),
    webhooks: z.array(storedWebhook),
    events: z.array(eventState),
    deliveries: z.array(deliveryState),
    faults: z.array(
      faultRule.extend({ id: z.string(), remaining: z.union([z.number(), z.literal('always')]) }),
    ),
  })
  .superRefine(({ events, deliveries }, context) => {
    for (const [index, { event }] of deliveries.entries()) {
      if (!events[event]) context.addIssue({ code: 'custom', path: ['deliveries', index, 'event'] });
    }
  });

export type State = z.infer<typeof stateShape>;

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
  const result = stateShape.safeParse(content);
  if (result.success) return result.data;
  const where = result.error.issues[0]?.path.join('.') ?? '';
  return `is not a state file of the simulator: ${where || 'its content'} is invalid`;
}

export function takeState({ store, faults, accounts, randomness, scheduler }: Parts): State {
  const deliveries = store.allDeliveries();
  const events = [...new Set(deliveries.map((one) => one.event))];
  const position = new Map(events.map((event, index) => [event, index]));
  return {
    version: VERSION,
    now: scheduler.now(),
    drawn: randomness.drawn,
    keys: { first: accounts.initial, current: accounts.current },
    webhooks: [...store.webhooks.values()],
    events: events.map((event) => ({ ...event, body: event.body.toString('utf8') })),
    deliveries: deliveries.map((one) => takeDelivery(one, position.get(one.event) ?? -1)),
    faults: faults.list(),
  };
}

function takeDelivery(delivery: SimulatedDelivery, position: number): DeliveryState {
  const { event, attempts, inFlight, ...kept } = delivery;
  return {
    ...kept,
    event: position,
    attempts: attempts.map((one) => ({
      ...one,
      body: one.body === event.body ? null : one.body.toString('utf8'),
    })),
  };
}

/** Restores everything but the time. Nothing is scheduled or sent yet. */
export function restoreState(saved: State, { store, faults, accounts, randomness }: Parts): void {
  const { first, current } = saved.keys;
  const { privateKey, sandboxKey } = accounts.initial;
  // Other keys given at startup are newer than a rotation of the old ones.
  if (first.privateKey === privateKey && first.sandboxKey === sandboxKey) accounts.rotate(current);
  randomness.drawn = saved.drawn;
  for (const webhook of saved.webhooks) store.saveWebhook(webhook);
  for (const fault of saved.faults) faults.restore(fault);
  const events = saved.events.map((event) => ({ ...event, body: Buffer.from(event.body, 'utf8') }));
  for (const delivery of saved.deliveries) {
    const event = events[delivery.event];
    if (event) store.saveDelivery(restoredDelivery(delivery, event));
  }
}

function restoredDelivery(saved: DeliveryState, event: SimulatedEvent): SimulatedDelivery {
  const attempts = saved.attempts.map((one) => ({
    ...one,
    body: one.body === null ? event.body : Buffer.from(one.body, 'utf8'),
  }));
  const status = saved.status === 'in_flight' ? statusAfterCrash(saved) : saved.status;
  return { ...saved, event, attempts, status };
}

/** An attempt that was in flight may or may not have arrived: it is made again, if it is still needed. */
function statusAfterCrash(saved: DeliveryState): SimulatedDelivery['status'] {
  if (saved.deliveredAt !== null) return 'delivered';
  if (saved.cancelledBecause) return 'cancelled';
  return saved.nextAttemptAt === null ? 'pending' : 'retrying';
}
