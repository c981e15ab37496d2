// Which deliveries somebody asks for; and waiting until there is one.
import type { DeliveryEntry, DeliveryStatus } from './delivery.js';
import { isEventPattern, matchesEvent } from './event-pattern.js';
import type { Ledger } from './ledger.js';
import { after, cancel } from './real-time.js';
import { Refusal } from './refusal.js';

/** Every condition that is given must hold. */
export interface DeliveryFilter {
  readonly status?: DeliveryStatus | readonly DeliveryStatus[];
  /** An event name or a pattern. */
  readonly event?: string;
  /** The id of a webhook. */
  readonly webhook?: string;
  /** The id of the delivery. */
  readonly id?: string;
  /** Text in the delivery's id, event id, event name or URL, in either case. */
  readonly q?: string;
}

/** What waiting asks for besides. */
export interface WaitFilter extends DeliveryFilter {
  /** The number of an attempt that must be settled. Without it and `status`, the delivery must be finished. */
  readonly attempt?: number;
}

export type Matches = (delivery: DeliveryEntry) => boolean;

const STATUSES: readonly DeliveryStatus[] = [
  'pending',
  'in_flight',
  'retrying',
  'delivered',
  'failed',
  'cancelled',
];

/** @throws {Refusal} for a status or an event pattern that cannot be */
export function deliveryFilter({ status, event, webhook, id, q }: DeliveryFilter): Matches {
  const statuses = status === undefined ? undefined : [status].flat();
  const wrong = statuses?.find((name) => !STATUSES.includes(name));
  if (wrong !== undefined)
    throw Refusal.invalid({ status: [`The status must be one of ${STATUSES.join(', ')}.`] });
  if (event !== undefined && !isEventPattern(event)) {
    throw Refusal.invalid({ event: ['The event must be an event name or a pattern like "transaction.*".'] });
  }
  const text = q?.toLowerCase();
  return (delivery) =>
    (!statuses || statuses.includes(delivery.status)) &&
    (event === undefined || matchesEvent(event, delivery.event.name)) &&
    (webhook === undefined || delivery.webhookId === webhook) &&
    (id === undefined || delivery.id === id) &&
    (!text || haystack(delivery).includes(text));
}

/** @throws {Refusal} as {@link deliveryFilter} */
export function waitFilter({ attempt, ...filter }: WaitFilter): Matches {
  const matches = deliveryFilter(filter);
  if (attempt !== undefined) return (delivery) => matches(delivery) && delivery.nextNumber > attempt;
  return filter.status === undefined ? (delivery) => matches(delivery) && delivery.finished : matches;
}

/** Waits for a delivery that matches: the oldest there is, or the next to come. */
export class Wait {
  /** Undefined when none came in time. */
  readonly found: Promise<DeliveryEntry | undefined>;
  /** Stops waiting. */
  end: () => void = () => {};

  constructor(ledger: Ledger, matches: Matches, timeoutMs: number) {
    this.found = new Promise((resolve) => {
      const known = [...ledger.deliveries.values()].find(matches);
      if (known) return resolve(known);
      const finish = (delivery: DeliveryEntry | undefined) => {
        cancel(timer);
        unwatch();
        resolve(delivery);
      };
      const timer = after(timeoutMs, () => finish(undefined));
      const unwatch = ledger.watch((change) => {
        if (change.kind === 'delivery' && matches(change.delivery)) finish(change.delivery);
      });
      this.end = () => finish(undefined);
    });
  }
}

function haystack({ id, event, url }: DeliveryEntry): string {
  return `${id}\n${event.id}\n${event.name}\n${url}`.toLowerCase();
}
