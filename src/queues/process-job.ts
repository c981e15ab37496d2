// Processes a job: decodes its event, and runs the handlers as for a delivery.
import { AsyncResource } from 'node:async_hooks';
import { DigestFingerprint } from '../claims/fingerprint.js';
import { defaultLogger } from '../default-logger.js';
import { Delivery, type Result } from '../deliveries/delivery.js';
import type { DeliveryLog } from '../deliveries/delivery-log.js';
import { internalError, Rejection } from '../errors.js';
import type { Configuration } from '../options/options.js';
import { decodeEvent } from '../receiver/decode-event.js';
import { type AnswerEarly, processEvent } from '../receiver/process-event.js';
import { type JobVerdict, jobVerdict } from './job-verdict.js';
import { unpack } from './queued-delivery.js';

/** What a worker knows about a job, apart from its data. */
export interface JobDetails {
  /** Name of the queue. Workers of one queue remember the same events. */
  readonly queue: string;
  /** How often a worker has started the job, including now. @default 1 */
  readonly attempt?: number | undefined;
  /** Aborts when the worker loses the job. */
  readonly signal?: AbortSignal | undefined;
}

/** The configuration of a receiver, without what applies only before a delivery is queued. */
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

/** The receiver has checked that the key and the event are both live or both sandbox. */
const ALREADY_CHECKED = { sandbox: false } as const;

/** Never rejects. */
export function processJob(
  config: JobConfiguration,
  log: DeliveryLog,
  data: unknown,
  { queue, attempt = 1, signal }: JobDetails,
): Promise<JobVerdict> {
  const packed = unpack(data);
  const { rawBody, headers, keyIndex } = packed ?? NO_DELIVERY;
  const delivery = new Delivery(headers, config.logger ?? defaultLogger());
  delivery.proven({ rawBody, keyIndex, fingerprint: new DigestFingerprint(rawBody) });
  delivery.attempt = attempt;
  delivery.queued = true;
  // Bound, because a job is cancelled in another async context.
  const cancel = AsyncResource.bind(() => delivery.abort('CLAIM_LOST'));
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  return new Promise((resolve) => {
    let ended = false;
    const end = (result: Result) => {
      ended = true;
      log.settled(delivery, result);
      resolve(jobVerdict(result, delivery));
    };
    void decodeAndProcess(delivery, packed !== undefined, queue, config, end)
      .catch((cause) => internalError('The processor itself failed.', cause))
      // The job may have ended before its handlers settled.
      .then((result) => (ended ? log.late(delivery, result) : end(result)))
      // The signal may be reused for another attempt.
      .finally(() => signal?.removeEventListener('abort', cancel));
  });
}

async function decodeAndProcess(
  delivery: Delivery,
  isQueued: boolean,
  queue: string,
  config: JobConfiguration,
  answerEarly: AnswerEarly,
): Promise<Result> {
  if (!isQueued) return new Rejection('BODY_MALFORMED', { hint: NOT_QUEUED });
  const decoded = await decodeEvent(delivery.rawBody, ALREADY_CHECKED, config);
  if (decoded instanceof Rejection) return decoded;
  delivery.decoded = decoded;
  if (decoded.rejection) return decoded.rejection;
  // The receiver queues this event on purpose, and another worker may declare it.
  if (decoded.status === 'unknown') return new Rejection('CONFIGURATION_INVALID', { hint: UNDECLARED });
  // Another worker may have started the job by now.
  if (delivery.claimLost) return new Rejection('CLAIM_LOST', { hint: LOST });
  // Receivers and workers may share a store, but not its keys: an event that the receiver has completed would be a duplicate
  // for the worker. No other namespace contains a slash.
  const namespace = `${encodeURIComponent(queue)}/${config.namespace}`;
  return processEvent(delivery, { ...config, namespace }, answerEarly);
}

/** Instead of data that enqueue() did not make. */
const NO_DELIVERY = { rawBody: Buffer.alloc(0), headers: {}, keyIndex: 0 };

const NOT_QUEUED = 'The job has no delivery. Add jobs to this queue with enqueue() only.';
const LOST = 'The worker lost the job before its handlers were called, so none ran.';
const UNDECLARED = 'This event is not declared here. Declare it with the option events of processor().';
