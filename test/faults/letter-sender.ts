// Delivers events that the app cannot process yet, as the service does: it retries a few times, and gives up.
import { createHmac, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { EVENTS, PRIVATE_KEY, type Reason } from './letter-merchant.js';

export interface SentEvent {
  readonly id: string;
  readonly reason: Reason | 'none';
  /** Whether an answer said that the event was processed or kept; of a conflict, that both bodies were. */
  accepted: boolean;
}

interface Answer {
  /** Undefined when the connection broke. */
  readonly status: number | undefined;
  readonly code: string | undefined;
}

const ANSWER_MS = 6_000;
const FEW_ATTEMPTS = 3;
const MOST_ATTEMPTS = 200;
/** The answers after which there is a letter. */
const KEPT: ReadonlySet<string | undefined> = new Set(['HANDLER_FAILED', 'HANDLER_TIMEOUT', 'CLAIM_LOST']);

export class LetterSender {
  readonly events: SentEvent[] = [];
  attempts = 0;
  /** How many events were given up or accepted. */
  done = 0;
  readonly #port: number;
  readonly #givesUp: boolean;

  /** @param givesUp after a few attempts, also when a worker was killed in the last of them; else it wants an answer */
  constructor(port: number, givesUp: boolean) {
    this.#port = port;
    this.#givesUp = givesUp;
  }

  /** As many events, in turn for each of the reasons. */
  async deliver(count: number, reasons: readonly SentEvent['reason'][], concurrency: number): Promise<void> {
    let next = 0;
    const worker = async () => {
      while (next < count) {
        const reason = reasons[next % reasons.length] ?? 'none';
        next += 1;
        await this.#event({ id: randomUUID(), reason, accepted: false });
        this.done += 1;
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  }

  async #event(event: SentEvent): Promise<void> {
    this.events.push(event);
    const { id, reason } = event;
    const body = (version: number) =>
      JSON.stringify({
        id,
        event_name: EVENTS[reason === 'none' ? 'conflict' : reason],
        sandbox: false,
        payload: { version, metadata: [] },
      });
    if (reason !== 'conflict') {
      event.accepted = await this.#retry(body(1), reason !== 'none' && this.#givesUp);
      return;
    }
    // Without the first body there is no conflict.
    event.accepted = (await this.#retry(body(1), false)) && (await this.#retry(body(2), false));
  }

  async #retry(body: string, givesUp: boolean): Promise<boolean> {
    const signature = createHmac('sha256', PRIVATE_KEY).update(body).digest('hex');
    let kept = false;
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
      const { status, code } = await this.#post(body, signature);
      kept ||= KEPT.has(code);
      if (status !== undefined && status < 300) return true;
      if (attempt >= FEW_ATTEMPTS && (givesUp || kept)) return kept;
      await pause(50 + Math.random() * 150);
    }
    return kept;
  }

  #post(body: string, signature: string): Promise<Answer> {
    this.attempts += 1;
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
    const options = { port: this.#port, host: '127.0.0.1', method: 'POST', headers, agent: false };
    return new Promise((resolve) => {
      const broken = () => resolve({ status: undefined, code: undefined });
      const req = request(options, (res) => {
        let text = '';
        res.on('data', (chunk) => {
          text += chunk;
        });
        res.on('end', () => resolve({ status: res.statusCode, code: /"code":"([A-Z_]+)"/.exec(text)?.[1] }));
        res.on('error', broken).on('aborted', broken);
      });
      req.setTimeout(ANSWER_MS, () => req.destroy());
      req.on('error', broken).on('close', broken);
      req.end(body);
    });
  }
}
