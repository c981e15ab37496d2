// The function that a worker of pg-boss calls with its jobs.
import { setTimeout as pause } from 'node:timers/promises';
import { ConfigurationError, Rejection, type WebhookError } from '../../errors.js';
import type { EventSchemas } from '../../events/event.js';
import type { Outcome } from '../../observer.js';
import { MAX_TIMER_MS } from '../../options/duration.js';
import type { HandlersByPattern } from '../../options/options.js';
import { errorOf } from '../failed-job.js';
import { delayOf } from '../job-delay.js';
import { JobProcessor } from '../process-job.js';
import { configureJobs, type ProcessorOptions } from '../processor-options.js';

/** The part of a `Job` of pg-boss that is used. */
export interface ProcessedJob {
  readonly name: string;
  readonly data: unknown;
  /** Version 10 gives it as text. */
  readonly expireInSeconds: number | string;
  /** Version 10 gives it to workers with `includeMetadata`. */
  readonly retryCount?: number | undefined;
  /** Version 12 has it. */
  readonly signal?: AbortSignal | undefined;
}

/** What `boss.work()` calls. The outcome becomes the output of the job. */
export type EventProcessor = (jobs: readonly ProcessedJob[]) => Promise<Outcome | undefined>;

/**
 * Creates the function that `boss.work()` calls: it validates the event of a job again, and runs the handlers of it as the
 * receiver does. Jobs of one batch run at the same time, and pg-boss retries all of them when one fails.
 *
 * @throws {ConfigurationError} for a wrong option, pattern or handler, before the first job
 * @example
 * await boss.work('webhooks', { includeMetadata: true }, processor({
 *   'transaction.paid': async (event) => orders.markPaid(event.payload.transaction.order_id),
 * }, { store }));
 */
export function processor<const Events extends EventSchemas = {}, Extra extends object = {}>(
  handlers: HandlersByPattern<NoInfer<Events>, NoInfer<Extra>>,
  options: ProcessorOptions<Events, Extra> = {},
): EventProcessor {
  const jobs = new JobProcessor(configureJobs(handlers, options));
  return async function processEvents(batch) {
    // All of them, so that none still runs when pg-boss retries the batch.
    const ends = await Promise.allSettled(batch.map((job) => processEvent(jobs, job)));
    const outcomes = ends.map((end) => {
      if (end.status === 'rejected') throw end.reason;
      return end.value;
    });
    return outcomes.length === 1 ? outcomes[0] : undefined;
  };
}

async function processEvent(jobs: JobProcessor, job: ProcessedJob): Promise<Outcome> {
  const { data, name: queueName, signal = expiryOf(job) } = job;
  const attempt = attemptOf(job);
  for (;;) {
    const { result, delivery } = await jobs.process({ data, queueName, attempt }, signal);
    if (!(result instanceof Rejection)) return result;
    const delayMs = delayOf(result, delivery);
    if (delayMs === undefined || signal.aborted) throw storable(errorOf(result, delivery));
    // pg-boss cannot delay a job without counting a retry, so it waits here, until it expires at the latest.
    await pause(delayMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

function attemptOf({ retryCount }: ProcessedJob): number {
  if (Number.isSafeInteger(retryCount)) return Number(retryCount) + 1;
  throw new ConfigurationError(
    'A job came without retryCount. Call "boss.work(queue, { includeMetadata: true }, processor(…))".',
  );
}

/** Another worker may get the job then. */
function expiryOf({ expireInSeconds }: ProcessedJob): AbortSignal {
  return AbortSignal.timeout(Math.min(Number(expireInSeconds) * 1_000 || MAX_TIMER_MS, MAX_TIMER_MS));
}

/** pg-boss writes all of an error into its table. The cause is what a handler threw, which may quote a customer. */
function storable({ name, code, message, stack }: WebhookError): Error {
  return Object.assign(new Error(message), { name, code, stack });
}
