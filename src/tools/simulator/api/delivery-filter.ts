// Filters deliveries, and waits for one that matches.

import { isEventPattern, matchesEvent } from '../../../events/event-pattern.js';
import { HttpError } from '../../web/http-error.js';
import { type DeliveryStatus, deliveryStatuses } from '../delivery/delivery-status.js';
import { isFinished, nextNumber, type SimulatedDelivery } from '../delivery/simulated-delivery.js';
import { after, cancel } from '../real-time.js';
import type { SimulatorStore } from '../simulator-store.js';

/** Every given condition must hold. */
export interface DeliveryFilter {
  readonly status?: DeliveryStatus | readonly DeliveryStatus[];
  /** An event name or a pattern. */
  readonly event?: string;
  /** The id of a webhook. */
  readonly webhook?: string;
  readonly id?: string;
  /** Text in the delivery's id, event id, event name or URL, case-insensitive. */
  readonly q?: string;
  /** Text in the body, case-insensitive. */
  readonly payload?: string;
}

/** The conditions of a delivery to wait for. */
export interface WaitFilter extends DeliveryFilter {
  /** The number of an attempt that must be settled. Without it and `status`, the delivery must be finished. */
  readonly attempt?: number;
}

type Given<Filter> = { readonly [Name in keyof Filter]?: Filter[Name] | undefined };

type Matches = (delivery: SimulatedDelivery) => boolean;

export function filterIn(query: URLSearchParams): Given<DeliveryFilter> {
  const [event, webhook, id, q, payload] = ['event', 'webhook', 'id', 'q', 'payload'].map(
    (name) => query.get(name) || undefined,
  );
  const status = query.get('status')?.split(',') as DeliveryStatus[] | undefined;
  return { status, event, webhook, id, q, payload };
}

/** @throws {HttpError} for an unknown status or an invalid event pattern */
export function deliveryFilter({ status, event, webhook, id, q, payload }: Given<DeliveryFilter>): Matches {
  const statuses = status === undefined ? undefined : [status].flat();
  if (statuses?.some((name) => !deliveryStatuses.includes(name)))
    throw HttpError.invalid({ status: [`The status must be one of ${deliveryStatuses.join(', ')}.`] });
  if (event !== undefined && !isEventPattern(event)) {
    throw HttpError.invalid({
      event: ['The event must be an event name or a pattern such as "transaction.*".'],
    });
  }
  return (delivery) =>
    (!statuses || statuses.includes(delivery.status)) &&
    (event === undefined || matchesEvent(event, delivery.event.name)) &&
    (webhook === undefined || delivery.webhookId === webhook) &&
    (id === undefined || delivery.id === id) &&
    (!q || contains([delivery.id, delivery.event.id, delivery.event.name, delivery.url].join('\n'), q)) &&
    (!payload || contains(delivery.event.body.toString(), payload));
}

/** The oldest delivery that matches, or the next one that does; undefined after the timeout or an abort. */
export async function waitForDelivery(
  store: SimulatorStore,
  { attempt, ...filter }: Given<WaitFilter>,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<SimulatedDelivery | undefined> {
  const isWanted = deliveryFilter(filter);
  const matches = (delivery: SimulatedDelivery) => {
    if (!isWanted(delivery)) return false;
    if (attempt !== undefined) return nextNumber(delivery) > attempt;
    return filter.status !== undefined || isFinished(delivery);
  };
  const known = store.allDeliveries().find(matches);
  if (known) return known;
  return new Promise((resolve) => {
    const finish = (delivery?: SimulatedDelivery) => {
      cancel(timer);
      unwatch();
      resolve(delivery);
    };
    const timer = after(timeoutMs, finish);
    const unwatch = store.watch((change) => {
      if (change.kind === 'delivery' && matches(change.delivery)) finish(change.delivery);
    });
    signal?.addEventListener('abort', () => finish());
  });
}

function contains(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}
