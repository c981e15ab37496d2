// Delivers events that the app cannot process yet, as the service does: it retries a few times, and gives up.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { concurrently } from '../../setup/concurrently.js';
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
  readonly #givesUp: boolean;

  /** @param givesUp after a few attempts, also when a worker was killed in the last of them; else it wants an answer */
  constructor(givesUp: boolean) {
    this.#givesUp = givesUp;
  }

  /** An event for each of the reasons; without one it can be processed. */
  deliver(port: number, reasons: readonly (Reason | undefined)[], concurrency: number): Promise<void> {
    return concurrently(reasons, concurrency, async (reason) => {
      const id = randomUUID();
      const accepted = await this.#retry(port, id, { reason, version: 1 });
      // Without the first body there is no conflict.
      if (reason === 'conflict' && accepted) await this.#retry(port, id, { reason, version: 2 });
      this.done += 1;
    });
  }

  /** @returns whether the event was processed or kept */
  async #retry(
    port: number,
    id: string,
    { reason, version }: { readonly reason: Reason | undefined; readonly version: number },
  ): Promise<boolean> {
    const event_name = EVENTS[reason ?? 'conflict'];
    const event = { id, event_name, sandbox: false, payload: { version, metadata: [] } };
    this.#copies += 1;
    const about = { type: 'attempt', event: id, copy: this.#copies, version } as const;
    const givesUp = reason !== undefined && reason !== 'conflict' && this.#givesUp;
    let kept = false;
    for (let count = 1; count <= MOST_ATTEMPTS; count += 1) {
      const attempt = { ...about, ...(reason && { reason }), ...(await post(port, event)) };
      this.attempts.push(attempt);
      kept ||= isKept(attempt);
      if ((attempt.status ?? 500) < 300) return true;
      if (count >= FEW_ATTEMPTS && (givesUp || kept)) return kept;
      await pause(50 + Math.random() * 150);
    }
    return kept;
  }
}
