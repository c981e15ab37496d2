// Takes the state out of a running simulator, and puts it back into a new one.
import type { Courier } from './courier.js';
import { type AttemptEntry, DeliveryEntry, type HappenedEvent } from './delivery.js';
import type { Faults } from './faults.js';
import type { Keyring } from './keyring.js';
import type { Ledger } from './ledger.js';
import type { Randomness } from './randomness.js';
import type { State } from './state-file.js';

/** Everything that has a state. */
export interface Stateful {
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly keyring: Keyring;
  readonly randomness: Randomness;
  readonly courier: Courier;
}

type DeliveryState = State['deliveries'][number];

export function takeState({ ledger, faults, keyring, randomness, courier }: Stateful): State {
  const events = [...new Set([...ledger.deliveries.values()].map((delivery) => delivery.event))];
  const position = new Map(events.map((event, index) => [event, index]));
  return {
    now: courier.timetable.now(),
    drawn: randomness.drawn,
    keys: { first: { ...keyring.first }, current: { ...keyring.current } },
    webhooks: [...ledger.webhooks.values()].map((webhook) => ({ ...webhook, events: [...webhook.events] })),
    events: events.map((event) => ({ ...event, body: event.body.toString('utf8') })),
    deliveries: [...ledger.deliveries.values()].map((delivery) =>
      deliveryState(delivery, position.get(delivery.event) ?? -1),
    ),
    faults: faults.list(),
  };
}

/** Puts everything back but the time, and has the deliveries that waited wait on. */
export function restoreState(
  state: State,
  { ledger, faults, keyring, randomness, courier }: Stateful,
): DeliveryEntry[] {
  const { first, current } = state.keys;
  // Keys that were given anew at the start are newer than a rotation of the old ones.
  if (first.privateKey === keyring.first.privateKey && first.sandboxKey === keyring.first.sandboxKey) {
    keyring.rotate(current);
  }
  randomness.drawn = state.drawn;
  for (const webhook of state.webhooks) ledger.saveWebhook({ ...webhook });
  for (const fault of state.faults) faults.restore(fault);
  const events = state.events.map((event) => ({ ...event, body: Buffer.from(event.body, 'utf8') }));
  const due: DeliveryEntry[] = [];
  const waiting: DeliveryEntry[] = [];
  for (const kept of state.deliveries) {
    const event = events[kept.event];
    if (!event) continue;
    const delivery = restoredDelivery(kept, event);
    ledger.saveDelivery(delivery);
    if (delivery.finished) continue;
    if (delivery.nextAttemptAt === null) due.push(delivery);
    else waiting.push(delivery);
  }
  courier.timetable.resume(waiting);
  return due;
}

function deliveryState(delivery: DeliveryEntry, event: number): DeliveryState {
  const { id, webhookId, url, createdAt, status, nextAttemptAt, deliveredAt, retries } = delivery;
  const { cancelledBecause, plannedFault } = delivery;
  return {
    ...{ id, event, webhookId, url, createdAt, status, nextAttemptAt, deliveredAt, retries },
    attempts: delivery.attempts.map((attempt) => ({
      ...attempt,
      headers: attempt.headers.map(([name, value]) => [name, value]),
      body: attempt.body === delivery.event.body ? null : attempt.body.toString('utf8'),
    })),
    ...(cancelledBecause ? { cancelledBecause } : {}),
    ...(plannedFault ? { plannedFault } : {}),
  };
}

function restoredDelivery(kept: DeliveryState, event: HappenedEvent): DeliveryEntry {
  const { id, webhookId, url, createdAt, nextAttemptAt, deliveredAt } = kept;
  const delivery = new DeliveryEntry({ id, event, webhookId, url, createdAt });
  delivery.attempts = kept.attempts.map(
    (attempt): AttemptEntry => ({
      ...attempt,
      body: attempt.body === null ? event.body : Buffer.from(attempt.body, 'utf8'),
    }),
  );
  delivery.nextAttemptAt = nextAttemptAt;
  delivery.deliveredAt = deliveredAt;
  delivery.retries = kept.retries;
  delivery.cancelledBecause = kept.cancelledBecause;
  delivery.plannedFault = kept.plannedFault;
  delivery.status = kept.status === 'in_flight' ? interrupted(delivery) : kept.status;
  return delivery;
}

/** An attempt that nobody recorded may or may not have arrived: it is made again, unless there was no need for it. */
function interrupted({
  deliveredAt,
  nextAttemptAt,
  cancelledBecause,
}: DeliveryEntry): DeliveryEntry['status'] {
  if (deliveredAt !== null) return 'delivered';
  if (cancelledBecause) return 'cancelled';
  return nextAttemptAt === null ? 'pending' : 'retrying';
}
