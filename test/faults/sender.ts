// Delivers like the service: signed, with retries until a 2xx, and with duplicates and forgeries among the deliveries.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fixtures } from 'payment-webhooks/testing';
import type { AttemptRecord } from './history.js';
import { LEASE_MS } from './merchant.js';
import { type Attempt, post } from './post.js';
import { shuffled } from './shuffled.js';

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
  /** False while the nemesis runs: short delays then, so that many attempts meet many faults. */
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
    const worker = async () => {
      while (!enough(events)) {
        events += 1;
        const copies = events % 2 === 0 ? this.#copies : this.#fewest;
        await this.#event(copies, events % 10 === 0);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  }

  async #event(number: number, withForgery: boolean): Promise<void> {
    const event = fixtures.transactionPaid();
    const body = JSON.stringify(event);
    const copies = Array.from({ length: number }, () => this.#untilAccepted(event.id, body));
    await Promise.all(withForgery ? [...copies, this.#forge()] : copies);
  }

  /** Delivers copies of so many events in random order: duplicates arrive far apart as well as at the same moment. */
  async deliverShuffled(concurrency: number, events: number): Promise<void> {
    const queue = shuffled(
      Array.from({ length: events }, () => fixtures.transactionPaid()).flatMap((event) =>
        Array.from({ length: this.#copies }, () => event),
      ),
    );
    const worker = async () => {
      for (let event = queue.pop(); event !== undefined; event = queue.pop()) {
        await this.#untilAccepted(event.id, JSON.stringify(event));
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  }

  /** Delivers every event once more: none of them may run again. */
  async replay(concurrency: number): Promise<Sent[]> {
    const known = [...new Set(this.history.filter(({ genuine }) => genuine).map(({ id }) => id))];
    const from = this.history.length;
    const worker = async () => {
      for (let id = known.pop(); id !== undefined; id = known.pop()) {
        await this.#untilAccepted(id, JSON.stringify(fixtures.transactionPaid({ id })));
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    return this.history.splice(from);
  }

  async #untilAccepted(id: string, body: string): Promise<void> {
    const sent: Sent = { id, genuine: true, attempts: [] };
    this.history.push(sent);
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const answer = await post(this.#port, body);
      sent.attempts.push(answer);
      if (answer.status !== undefined && answer.status < 300) return;
      await pause(this.calm ? RETRY_MS : 50 + Math.random() * 150);
    }
  }

  async #forge(): Promise<void> {
    const event = fixtures.transactionPaid({ id: `forged-${randomUUID()}` });
    const attempt = await post(this.#port, JSON.stringify(event), 'pri_guessed');
    this.history.push({ id: event.id, genuine: false, attempts: [attempt] });
  }
}

/** @param replay whether every event was delivered once before */
export function attemptsOf(sent: readonly Sent[], replay = false): AttemptRecord[] {
  return sent.flatMap(({ id, genuine, attempts }, copy) =>
    attempts.map((attempt) => ({
      ...{ type: 'attempt', event: id, copy, ...attempt },
      ...(!genuine && { forged: true }),
      ...(replay && { replay }),
    })),
  ) as AttemptRecord[];
}
