// Holds the webhooks and a limited number of deliveries, and notifies listeners of every change.
import { z } from 'zod';
import { isFinished, type SimulatedDelivery } from './delivery/simulated-delivery.js';

/** A webhook as memory and the state file hold it. */
export const storedWebhook = z.object({
  id: z.string(),
  account: z.string(),
  url: z.url(),
  events: z.array(z.string()),
  paused: z.boolean(),
  createdAt: z.number(),
  updatedAt: z.number(),
  /** The private key of the last delivery that its endpoint accepted. */
  acceptedKey: z.string().optional(),
});

export type StoredWebhook = z.infer<typeof storedWebhook>;

export type Change =
  | { readonly kind: 'delivery'; readonly delivery: SimulatedDelivery }
  | { readonly kind: 'removed'; readonly id: string }
  | { readonly kind: 'webhooks' | 'faults' | 'keys' | 'clock' | 'reset' };

const MAX_DELIVERIES_KEPT = 500;

export class SimulatorStore {
  readonly webhooks = new Map<string, StoredWebhook>();
  readonly deliveries = new Map<string, SimulatedDelivery>();
  /** The deliveries that may be evicted, oldest first. */
  readonly #finished = new Set<SimulatedDelivery>();
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

  saveWebhook(webhook: StoredWebhook): void {
    this.webhooks.set(webhook.id, webhook);
    this.notify({ kind: 'webhooks' });
  }

  deleteWebhook(id: string): void {
    this.webhooks.delete(id);
    this.notify({ kind: 'webhooks' });
  }

  saveDelivery(delivery: SimulatedDelivery): void {
    this.deliveries.set(delivery.id, delivery);
    this.#finished.delete(delivery);
    if (isFinished(delivery)) this.#finished.add(delivery);
    this.notify({ kind: 'delivery', delivery });
    for (const oldest of this.#finished) {
      if (this.deliveries.size <= MAX_DELIVERIES_KEPT) break;
      this.remove(oldest);
    }
  }

  allDeliveries(): SimulatedDelivery[] {
    return [...this.deliveries.values()];
  }

  /** Deletes finished deliveries, unless one is being resent. @returns how many were deleted */
  clearHistory(): number {
    const deletable = [...this.#finished].filter(({ inFlight }) => inFlight === undefined);
    for (const delivery of deletable) this.remove(delivery);
    return deletable.length;
  }

  clear(): void {
    this.webhooks.clear();
    this.deliveries.clear();
    this.#finished.clear();
    this.notify({ kind: 'reset' });
  }

  remove(delivery: SimulatedDelivery): void {
    this.#finished.delete(delivery);
    this.deliveries.delete(delivery.id);
    this.notify({ kind: 'removed', id: delivery.id });
  }
}
