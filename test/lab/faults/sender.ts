// Delivers like the service: signed, with retries until a 2xx, and with duplicates and forgeries among the deliveries.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { TransactionPaid } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';
import { concurrently } from '../../setup/concurrently.js';
import type { AttemptRecord } from './history.js';
import { LEASE_MS } from './merchant.js';
import { type Attempt, post } from './post.js';

export interface Sent {
  readonly id: string;
  readonly genuine: boolean;
  readonly attempts: Attempt[];
}

/** Longer than a lease, as the delays of a real schedule are. */
const RETRY_MS = LEASE_MS * 1.2;
/** A delivery that needs more than this is lost. */
const MOST_ATTEMPTS = 400;

export class Sender {
  readonly history: Sent[] = [];
  readonly #port: number;
  readonly #copies: number;
  readonly #fewest: number;
  /** False while faults are injected: short delays then, so that many attempts meet many faults. */
  calm = false;

  /** @param fewest every other event comes in so many copies only */
  constructor(port: number, copies: number, fewest = copies) {
    this.#port = port;
    this.#copies = copies;
    this.#fewest = fewest;
  }

  /** Delivers events until `enough`, so many at once; every tenth comes with a forgery. */
  async deliver(concurrency: number, enough: (events: number) => boolean): Promise<void> {
    let events = 0;
    function* wanted() {
      while (!enough(events)) yield ++events;
    }
    await concurrently(wanted(), concurrency, async (number) => {
      const event = fixtures.transactionPaid();
      const length = number % 2 === 0 ? this.#copies : this.#fewest;
      const copies = Array.from({ length }, () => this.#untilAccepted(event));
      await Promise.all(number % 10 === 0 ? [...copies, this.#forge()] : copies);
    });
  }

  /** Delivers copies of so many events in random order: duplicates arrive far apart as well as at the same moment. */
  async deliverShuffled(concurrency: number, events: number): Promise<void> {
    const all = Array.from({ length: events }, () => fixtures.transactionPaid());
    const copies = Array.from({ length: this.#copies }, () => all).flat();
    await concurrently(shuffled(copies), concurrency, (event) => this.#untilAccepted(event));
  }

  /** Delivers every event once more: none of them may run again. */
  async replay(concurrency: number): Promise<Sent[]> {
    const known = new Set(this.history.filter(({ genuine }) => genuine).map(({ id }) => id));
    const from = this.history.length;
    await concurrently(known, concurrency, (id) => this.#untilAccepted(fixtures.transactionPaid({ id })));
    return this.history.splice(from);
  }

  async #untilAccepted(event: TransactionPaid): Promise<void> {
    const sent: Sent = { id: event.id, genuine: true, attempts: [] };
    this.history.push(sent);
    while (sent.attempts.length < MOST_ATTEMPTS) {
      const answer = await post(this.#port, event);
      sent.attempts.push(answer);
      if (answer.status !== undefined && answer.status < 300) return;
      await pause(this.calm ? RETRY_MS : 50 + Math.random() * 150);
    }
  }

  async #forge(): Promise<void> {
    const event = fixtures.transactionPaid({ id: `forged-${randomUUID()}` });
    const attempt = await post(this.#port, event, 'pri_guessed');
    this.history.push({ id: event.id, genuine: false, attempts: [attempt] });
  }
}

/** In a random order. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** @param replay whether every event was delivered once before */
export function attemptsOf(sent: readonly Sent[], replay = false): AttemptRecord[] {
  return sent.flatMap(({ id, genuine, attempts }, copy) =>
    attempts.map((attempt) => ({
      ...{ type: 'attempt' as const, event: id, copy, ...attempt },
      ...(!genuine && { forged: true }),
      ...(replay && { replay }),
    })),
  );
}
