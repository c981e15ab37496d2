// What the simulator keeps: webhooks and deliveries, bounded, with listeners for every change.
import { LinkedList } from './delivery/linked-list.js';
import type { CancelReason, SimulatedDelivery } from './delivery/simulated-delivery.js';
import { matchesEvent } from './event-pattern.js';
import { DEVELOPER } from './seeds.js';

/** A webhook as the simulator keeps it. */
export interface StoredWebhook {
  readonly id: string;
  readonly account: string;
  readonly createdAt: number;
  url: string;
  events: readonly string[];
  paused: boolean;
  updatedAt: number;
  /** The private key of the last delivery that its endpoint accepted. */
  acceptedKey?: string | undefined;
}

export type Change =
  | { readonly kind: 'delivery'; readonly delivery: SimulatedDelivery }
  | { readonly kind: 'removed'; readonly id: string }
  | { readonly kind: 'webhooks' | 'faults' | 'keys' | 'clock' | 'reset' };

const MAX_DELIVERIES_KEPT = 500;

export class SimulatorStore {
  readonly webhooks = new Map<string, StoredWebhook>();
  readonly deliveries = new Map<string, SimulatedDelivery>();
  /** The deliveries that may be dropped. */
  readonly #finished = new LinkedList<SimulatedDelivery>();
  readonly #listeners = new Set<(change: Change) => void>();

  /** Calls the listener after every change, until the returned function is called. */
  watch(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  notify(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  webhooksOf(account: string): StoredWebhook[] {
    return [...this.webhooks.values()].filter((webhook) => webhook.account === account);
  }

  /** The webhooks that get an event of the developer account. */
  subscribers(eventName: string): StoredWebhook[] {
    return this.webhooksOf(DEVELOPER).filter((webhook) =>
      webhook.events.some((pattern) => matchesEvent(pattern, eventName)),
    );
  }

  saveWebhook(webhook: StoredWebhook): void {
    this.webhooks.set(webhook.id, webhook);
    this.notify({ kind: 'webhooks' });
    if (webhook.paused) this.#cancelAll(webhook.id, 'webhook_paused');
  }

  deleteWebhook(id: string): void {
    this.webhooks.delete(id);
    this.notify({ kind: 'webhooks' });
    this.#cancelAll(id, 'webhook_deleted');
  }

  /** Saves a new delivery, or a change of one. */
  saveDelivery(delivery: SimulatedDelivery): void {
    this.deliveries.set(delivery.id, delivery);
    if (delivery.finished) this.#finished.append(delivery);
    else this.#finished.remove(delivery);
    this.notify({ kind: 'delivery', delivery });
    this.#dropOldest();
  }

  /** Cancels a pending delivery at once, and one in flight when its attempt is settled. */
  cancel(delivery: SimulatedDelivery, reason: CancelReason): void {
    delivery.cancelledBecause = reason;
    delivery.dropRetry();
    if (delivery.status === 'in_flight') return;
    delivery.status = 'cancelled';
    this.saveDelivery(delivery);
  }

  /** Oldest first. */
  allDeliveries(): SimulatedDelivery[] {
    return [...this.deliveries.values()];
  }

  /** Deletes what is finished. What is pending, or being sent again, stays. @returns how many were deleted */
  clearHistory(): number {
    const over = this.allDeliveries().filter(({ finished, inFlight }) => finished && inFlight === undefined);
    for (const delivery of over) this.#remove(delivery);
    return over.length;
  }

  clear(): void {
    this.webhooks.clear();
    for (const delivery of this.deliveries.values()) delivery.list?.remove(delivery);
    this.deliveries.clear();
    this.notify({ kind: 'reset' });
  }

  #cancelAll(webhookId: string, reason: CancelReason): void {
    for (const delivery of this.deliveries.values()) {
      if (delivery.webhookId === webhookId && !delivery.finished) this.cancel(delivery, reason);
    }
  }

  #dropOldest(): void {
    while (this.deliveries.size > MAX_DELIVERIES_KEPT && this.#finished.first) {
      this.#remove(this.#finished.first);
    }
  }

  #remove(delivery: SimulatedDelivery): void {
    this.#finished.remove(delivery);
    this.deliveries.delete(delivery.id);
    this.notify({ kind: 'removed', id: delivery.id });
  }
}
