// Delivers events that the app cannot process yet, as the service does: it retries a few times, and gives up.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isKept } from './check-history.js';
import type { AttemptRecord } from './history.js';
import { EVENTS, type Reason } from './letter-merchant.js';
import { post } from './post.js';

const FEW_ATTEMPTS = 3;
const MOST_ATTEMPTS = 200;

export class LetterSender {
  readonly attempts: AttemptRecord[] = [];
  /** How many events were given up or accepted. */
  done = 0;
  #copies = 0;
  readonly #port: number;
  readonly #givesUp: boolean;

  /** @param givesUp after a few attempts, also when a worker was killed in the last of them; else it wants an answer */
  constructor(port: number, givesUp: boolean) {
    this.#port = port;
    this.#givesUp = givesUp;
  }

  /** As many events, in turn for each of the reasons; without one they can be processed. */
  async deliver(count: number, reasons: readonly (Reason | undefined)[], concurrency: number): Promise<void> {
    let next = 0;
    const worker = async () => {
      while (next < count) {
        const reason = reasons[next % reasons.length];
        next += 1;
        await this.#event(randomUUID(), reason);
        this.done += 1;
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  }

  async #event(id: string, reason: Reason | undefined): Promise<void> {
    const givesUp = reason !== undefined && reason !== 'conflict' && this.#givesUp;
    const accepted = await this.#retry(id, { reason, version: 1, givesUp });
    // Without the first body there is no conflict.
    if (reason === 'conflict' && accepted) await this.#retry(id, { reason, version: 2, givesUp });
  }

  /** @returns whether the event was processed or kept */
  async #retry(
    event: string,
    { reason, version, givesUp }: { reason: Reason | undefined; version: number; givesUp: boolean },
  ): Promise<boolean> {
    const body = JSON.stringify({
      id: event,
      event_name: EVENTS[reason ?? 'conflict'],
      sandbox: false,
      payload: { version, metadata: [] },
    });
    this.#copies += 1;
    const about = { type: 'attempt', event, copy: this.#copies, version, ...(reason && { reason }) } as const;
    let kept = false;
    for (let count = 1; count <= MOST_ATTEMPTS; count += 1) {
      const attempt = { ...about, ...(await post(this.#port, body)) };
      this.attempts.push(attempt);
      kept ||= isKept(attempt);
      if ((attempt.status ?? 500) < 300) return true;
      if (count >= FEW_ATTEMPTS && (givesUp || kept)) return kept;
      await pause(50 + Math.random() * 150);
    }
    return kept;
  }
}
