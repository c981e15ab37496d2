// The service's memory: accounts, webhooks and deliveries, bounded, and whoever wants to know of a change.
import { LinkedList } from '../linked-list.js';
import type { CancelReason, DeliveryEntry } from './delivery.js';
import { matchesEvent } from './event-pattern.js';
import { DEVELOPER } from './seeds.js';

/** A webhook as the simulator keeps it. */
export interface WebhookEntry {
  readonly id: string;
  readonly account: string;
  readonly createdAt: number;
  url: string;
  events: readonly string[];
  paused: boolean;
  updatedAt: number;
}

export type Change =
  | { readonly kind: 'delivery'; readonly delivery: DeliveryEntry }
  | { readonly kind: 'removed'; readonly id: string }
  | { readonly kind: 'webhooks' | 'faults' | 'keys' | 'clock' | 'reset' };

/** Deliveries kept; one that waits for a retry is kept beyond it. */
export const DELIVERIES_KEPT = 500;

export class Ledger {
  readonly webhooks = new Map<string, WebhookEntry>();
  readonly deliveries = new Map<string, DeliveryEntry>();
  readonly #finished = new LinkedList<DeliveryEntry>();
  readonly #watchers = new Set<(change: Change) => void>();

  /** Calls the listener after every change, until the returned function is called. */
  watch(listener: (change: Change) => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  tell(change: Change): void {
    for (const watcher of this.#watchers) watcher(change);
  }

  webhooksOf(account: string): WebhookEntry[] {
    return [...this.webhooks.values()].filter((webhook) => webhook.account === account);
  }

  /** The webhooks that an event of the developer's account goes to. */
  subscribers(eventName: string): WebhookEntry[] {
    return this.webhooksOf(DEVELOPER).filter((webhook) =>
      webhook.events.some((pattern) => matchesEvent(pattern, eventName)),
    );
  }

  saveWebhook(webhook: WebhookEntry): void {
    this.webhooks.set(webhook.id, webhook);
    this.tell({ kind: 'webhooks' });
    if (webhook.paused) this.#cancelAll(webhook.id, 'webhook_paused');
  }

  deleteWebhook(id: string): void {
    this.webhooks.delete(id);
    this.tell({ kind: 'webhooks' });
    this.#cancelAll(id, 'webhook_deleted');
  }

  /** Keeps a new delivery, or what changed about a known one. */
  saveDelivery(delivery: DeliveryEntry): void {
    this.deliveries.set(delivery.id, delivery);
    if (delivery.finished) this.#finished.append(delivery);
    else this.#finished.remove(delivery);
    this.tell({ kind: 'delivery', delivery });
    this.#makeRoom();
  }

  /** Ends a delivery that waits; one in flight ends when its attempt does. */
  cancel(delivery: DeliveryEntry, reason: CancelReason): void {
    delivery.cancelledBecause = reason;
    delivery.dropRetry();
    if (delivery.status === 'in_flight') return;
    delivery.status = 'cancelled';
    this.saveDelivery(delivery);
  }

  /** Newest first. */
  newestDeliveries(): DeliveryEntry[] {
    return [...this.deliveries.values()].reverse();
  }

  clear(): void {
    this.webhooks.clear();
    for (const delivery of this.deliveries.values()) delivery.list?.remove(delivery);
    this.deliveries.clear();
    this.tell({ kind: 'reset' });
  }

  #cancelAll(webhookId: string, reason: CancelReason): void {
    for (const delivery of this.deliveries.values()) {
      if (delivery.webhookId === webhookId && !delivery.finished) this.cancel(delivery, reason);
    }
  }

  #makeRoom(): void {
    while (this.deliveries.size > DELIVERIES_KEPT && this.#finished.first) {
      const oldest = this.#finished.first;
      this.#finished.remove(oldest);
      this.deliveries.delete(oldest.id);
      this.tell({ kind: 'removed', id: oldest.id });
    }
  }
}
