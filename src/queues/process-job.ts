// Processes a job: decodes its event, and runs the handlers as for a delivery.

import { AsyncResource } from 'node:async_hooks';
import { DigestFingerprint } from '../claims/fingerprint.js';
import { internalError, Rejection } from '../errors.js';
import { Delivery, type Result } from '../handlers/delivery.js';
import { defaultLogger } from '../options/default-logger.js';
import type { Configuration } from '../options/options.js';
import { decodeEvent } from '../receiver/decode-event.js';
import { type AnswerEarly, processEvent } from '../receiver/process-event.js';
import { DeliveryLog } from '../telemetry/delivery-log.js';
import { type JobVerdict, jobVerdict } from './job-verdict.js';
import { unpack } from './queued-delivery.js';

/** A job as every queue has it. */
interface QueuedJob {
  readonly data: unknown;
  readonly queue: string;
  /** How often a worker has started it, including now. */
  readonly attempt: number;
  /** Aborts when the worker cancels the job. */
  readonly signal: AbortSignal | undefined;
}

/** The configuration of a receiver, without what applies before a delivery is queued. */
export type JobConfiguration = Omit<
  Configuration,
  | 'keys'
  | 'signatureHeader'
  | 'limit'
  | 'bodyTimeout'
  | 'maxInFlight'
  | 'deadLetters'
  | 'journal'
  | 'redrive'
  | 'keepHeaders'
>;

/** The receiver checked that key and event have the same mode before it queued the delivery. */
const ALREADY_CHECKED = { sandbox: false } as const;

export class JobProcessor {
  readonly #c: JobConfiguration;
  readonly #log = new DeliveryLog();

  constructor(c: JobConfiguration) {
    this.#c = c;
  }

  /** Never rejects. */
  process(job: QueuedJob): Promise<JobVerdict> {
    const { signal } = job;
    const packed = unpack(job.data);
    const delivery = new Delivery(packed?.headers ?? {}, this.#c.logger ?? defaultLogger());
    delivery.keyIndex = packed?.keyIndex ?? 0;
    delivery.attempt = job.attempt;
    // Bound: a job is cancelled in the async context of its caller.
    const cancel = AsyncResource.bind(() => delivery.abort('CLAIM_LOST'));
    if (signal?.aborted) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    return new Promise((resolve) => {
      const end = (result: Result) => {
        this.#log.settled(delivery, result);
        resolve(jobVerdict(result, delivery));
      };
      void this.#follow(delivery, packed?.rawBody, job, end).finally(() =>
        // The same signal may stand for another try.
        signal?.removeEventListener('abort', cancel),
      );
    });
  }

  /** Ends the job once, perhaps before its handlers have settled, and resolves when they have. */
  async #follow(
    delivery: Delivery,
    bytes: Buffer | undefined,
    job: QueuedJob,
    end: (result: Result) => void,
  ): Promise<void> {
    let endedEarly = false;
    const endEarly = (result: Result) => {
      endedEarly = true;
      end(result);
    };
    const result = await this.#run(delivery, bytes, job, endEarly).catch((cause) =>
      internalError('The processor itself failed.', cause),
    );
    if (endedEarly) this.#log.late(delivery, result);
    else end(result);
  }

  async #run(
    delivery: Delivery,
    bytes: Buffer | undefined,
    job: QueuedJob,
    answerEarly: AnswerEarly,
  ): Promise<Result> {
    if (!bytes) return new Rejection('BODY_MALFORMED', { hint: NOT_QUEUED });
    delivery.rawBody = bytes;
    const decoded = await decodeEvent(bytes, ALREADY_CHECKED, this.#c);
    if (decoded instanceof Rejection) return decoded;
    delivery.decoded = decoded;
    if (decoded.rejection) return decoded.rejection;
    // The receiver was told to queue this event, and another worker may declare it.
    if (decoded.status === 'unknown') return new Rejection('CONFIGURATION_INVALID', { hint: UNDECLARED });
    delivery.fingerprint = new DigestFingerprint(bytes);
    const given = { delivery, decoded, letter: undefined, queued: true };
    return processEvent(given, this.#rulesOf(job), answerEarly);
  }

  /**
   * Receivers and workers may share one store. If they shared its keys too, an event completed by one would be a
   * duplicate to all others. No namespace contains a slash.
   */
  #rulesOf({ queue }: QueuedJob): JobConfiguration {
    return { ...this.#c, namespace: `${encodeURIComponent(queue)}/${this.#c.namespace}` };
  }
}

const NOT_QUEUED = 'The job has no delivery. Add jobs to this queue with enqueue() only.';
const UNDECLARED = 'This event is not declared here. Declare it with the option events of processor().';
