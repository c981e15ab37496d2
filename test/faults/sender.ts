// Delivers like the service: signed, with retries until a 2xx, and with duplicates and forgeries among the deliveries.
import { createHmac, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fixtures } from 'payment-webhooks/testing';
import { LEASE_MS, PRIVATE_KEY } from './merchant.js';
import { shuffled } from './shuffled.js';

export interface Attempt {
  readonly at: number;
  /** When it was answered, or broke. */
  readonly answeredAt: number;
  /** Undefined when the connection broke. */
  readonly status: number | undefined;
  readonly body: string;
}

export interface Sent {
  readonly id: string;
  readonly genuine: boolean;
  readonly attempts: Attempt[];
}

/** Longer than a lease, as the delays of a real schedule are. */
const RETRY_MS = LEASE_MS * 1.2;
const ANSWER_MS = 6_000;
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
    const signature = createHmac('sha256', PRIVATE_KEY).update(body).digest('hex');
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const answer = await this.#post(body, signature);
      sent.attempts.push(answer);
      if (answer.status !== undefined && answer.status < 300) return;
      await pause(this.calm ? RETRY_MS : 50 + Math.random() * 150);
    }
  }

  async #forge(): Promise<void> {
    const event = fixtures.transactionPaid({ id: `forged-${randomUUID()}` });
    const body = JSON.stringify(event);
    const signature = createHmac('sha256', 'pri_guessed').update(body).digest('hex');
    this.history.push({ id: event.id, genuine: false, attempts: [await this.#post(body, signature)] });
  }

  #post(body: string, signature: string): Promise<Attempt> {
    const at = Date.now();
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
    return new Promise((resolve) => {
      const broken = () => resolve({ at, answeredAt: Date.now(), status: undefined, body: '' });
      const req = request(
        { port: this.#port, host: '127.0.0.1', method: 'POST', headers, agent: false },
        (res) => {
          let text = '';
          res.on('data', (chunk) => {
            text += chunk;
          });
          res.on('end', () => resolve({ at, answeredAt: Date.now(), status: res.statusCode, body: text }));
          res.on('error', broken).on('aborted', broken);
        },
      );
      req.setTimeout(ANSWER_MS, () => req.destroy());
      req.on('error', broken).on('close', broken);
      req.end(body);
    });
  }
}
