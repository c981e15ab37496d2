// Leads a job through the stations that still lie ahead of its delivery: decode, dedupe, dispatch.
import { Delivery, type Result } from '../delivery.js';
import { DeliveryLog } from '../delivery-log.js';
import { Fault } from '../errors.js';
import { defaultLogger } from '../logger.js';
import type { Configuration } from '../options.js';
import { decodeEvent } from '../receiver/decode-event.js';
import { dedupeDelivery } from '../receiver/dedupe-delivery.js';
import { dispatchEvent } from '../receiver/dispatch-event.js';
import { unpack } from './queued-delivery.js';

/** The part of a job that is used. */
export interface QueuedJob {
  readonly data: unknown;
  readonly queueName: string;
  /** How often a worker has taken it up, this time included. */
  readonly attemptsStarted: number;
}

/** That of a receiver, without what is done before a delivery is queued. */
export type JobConfiguration = Omit<Configuration, 'keys' | 'signatureHeader' | 'limit' | 'maxInFlight'>;

export interface Conducted {
  readonly result: Result;
  readonly delivery: Delivery;
}

/** The receiver has compared the mode of the key with that of the event before it passed the delivery on. */
const ALREADY_CHECKED = { sandbox: false } as const;

export class JobConductor {
  readonly #c: JobConfiguration;
  readonly #log = new DeliveryLog();

  constructor(c: JobConfiguration) {
    this.#c = c;
  }

  /** Never rejects. @param signal aborts when the worker gives the job up */
  async conduct(job: QueuedJob, signal: AbortSignal | undefined): Promise<Conducted> {
    const packed = unpack(job.data);
    const delivery = new Delivery(packed?.headers ?? {}, this.#c.logger ?? defaultLogger());
    delivery.keyIndex = packed?.keyIndex ?? 0;
    delivery.attempt = job.attemptsStarted;
    const giveUp = () => delivery.abort('CLAIM_LOST');
    if (signal?.aborted) giveUp();
    signal?.addEventListener('abort', giveUp, { once: true });
    const result = await this.#travel(delivery, packed?.rawBody, job).catch(broken);
    this.#log.settled(delivery, result);
    void delivery.unsettledWork?.then((late) => this.#log.late(delivery, late));
    return { result, delivery };
  }

  async #travel(delivery: Delivery, bytes: Buffer | undefined, job: QueuedJob): Promise<Result> {
    if (!bytes)
      return new Fault('BODY_MALFORMED', { hint: 'The job holds no delivery: enqueue() has not made it.' });
    delivery.rawBody = bytes;
    const decoded = await decodeEvent(bytes, ALREADY_CHECKED, this.#c);
    if (decoded instanceof Fault) return decoded;
    delivery.decoded = decoded;
    if (decoded.fault) return decoded.fault;
    // Somebody wanted this event to be worked on, and another worker of the queue may know how.
    if (decoded.status === 'unknown') return new Fault('CONFIGURATION_INVALID', { hint: UNDECLARED });
    const { handlers, subject, outcome } = this.#c.handlers.recipients(decoded);
    if (handlers.length === 0) return 'ignored';
    const work = () =>
      dedupeDelivery(delivery, this.#bracketOf(job), {
        run: (claim) => {
          const attempt = this.#c.store ? claim : { attempt: job.attemptsStarted, finished: [] };
          return dispatchEvent(handlers, { delivery, attempt, subject }, this.#c);
        },
        outcome,
      });
    return await delivery.resultOf(work, broken);
  }

  /**
   * Receivers and the workers of every queue may share one store. If they shared its keys too, an event that one of
   * them has completed would be a duplicate to all others. No namespace holds a slash.
   */
  #bracketOf({ queueName }: QueuedJob): JobConfiguration {
    return { ...this.#c, namespace: `${encodeURIComponent(queueName)}/${this.#c.namespace}` };
  }
}

const UNDECLARED =
  'No event of this name is declared here: declare it under the option events of processor().';

function broken(cause: unknown): Fault {
  return new Fault('HANDLER_FAILED', { hint: 'The processor itself failed.', cause });
}
