// The function that a worker of pg-boss calls for each batch of jobs.
import { setTimeout as pause } from 'node:timers/promises';
import { ConfigurationError, type WebhookError } from '../../errors.js';
import type { EventSchemas } from '../../events/event.js';
import { show } from '../../misuse.js';
import type { Outcome } from '../../observer.js';
import { plainObject } from '../../options/define-options.js';
import type { HandlersByPattern } from '../../options/options.js';
import { MAX_TIMER_MS } from '../../time.js';
import { type ProcessJob, processor as processorOf } from '../processor.js';
import type { ProcessorOptions as CommonOptions } from '../processor-options.js';

export interface ProcessorOptions<Events extends EventSchemas = {}, Extra extends object = {}>
  extends CommonOptions<Events, Extra> {
  /**
   * Cancels jobs whose retry cannot succeed, such as one whose handler threw `NonRetriableError`: this is the only way to
   * stop the retries of pg-boss. `boss.resume()` runs one again. @default none: such a job is retried like any other
   */
  readonly boss?: CancellingBoss | undefined;
}

/** The part of a `PgBoss` that a worker uses. */
export interface CancellingBoss {
  cancel(queue: string, id: string): Promise<unknown>;
}

/** The part of a `Job` of pg-boss that is used. */
export interface ProcessedJob {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  /** Version 10 has text, and early types of it have nothing. */
  readonly expireInSeconds?: number | string | undefined;
  /** Version 10 gives it to workers with `includeMetadata`. */
  readonly retryCount?: number | undefined;
  /** Version 12 has it. */
  readonly signal?: AbortSignal | undefined;
}

/** What `boss.work()` calls. The outcome becomes the output of the job. */
export type EventProcessor = (jobs: readonly ProcessedJob[]) => Promise<Outcome | undefined>;

/**
 * Creates the function that `boss.work()` calls. It validates the event of a job again, and runs its handlers as the
 * receiver does. Jobs of one batch run at the same time, and pg-boss retries all of them if one fails.
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
  const { boss, ...common } = plainObject(options, 'The second argument of processor()', 'options');
  if (boss !== undefined && typeof boss?.cancel !== 'function')
    throw new ConfigurationError(`boss is ${show(boss)}. Pass the PgBoss of this worker.`);
  const work = processorOf(handlers, common);
  return async function processEvents(batch) {
    // Waits for all, so that none is still running when pg-boss retries the batch.
    const ends = await Promise.allSettled(batch.map((job) => processEvent(work, job, boss)));
    const outcomes = ends.map((end) => {
      if (end.status === 'rejected') throw end.reason;
      return end.value;
    });
    return outcomes.length === 1 ? outcomes[0] : undefined;
  };
}

async function processEvent(
  work: ProcessJob,
  job: ProcessedJob,
  boss: CancellingBoss | undefined,
): Promise<Outcome | undefined> {
  const { id, data, name: queue, signal = expiryOf(job) } = job;
  const attempt = attemptOf(job);
  for (;;) {
    const end = await work(data, { queue, attempt, signal });
    if (end.verdict === 'done') return end.outcome;
    if (end.verdict === 'never' && boss) {
      await boss.cancel(queue, id);
      return undefined;
    }
    if (end.verdict !== 'later') throw storable(end.error);
    // pg-boss cannot delay a job without counting a retry, so the job waits here, at most until it expires. Then it fails:
    // `work` runs nothing once the signal has aborted.
    await pause(end.delayMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

function attemptOf({ retryCount }: ProcessedJob): number {
  if (Number.isSafeInteger(retryCount)) return Number(retryCount) + 1;
  throw new ConfigurationError(
    'The job has no retryCount. Call "boss.work(queue, { includeMetadata: true }, processor(…))".',
  );
}

/** After that, another worker may get the job. */
function expiryOf({ expireInSeconds }: ProcessedJob): AbortSignal {
  return AbortSignal.timeout(Math.min(Number(expireInSeconds) * 1_000 || MAX_TIMER_MS, MAX_TIMER_MS));
}

/** Without the cause, which may hold personal data: pg-boss stores the whole error in its table. */
function storable({ name, code, message, stack }: WebhookError): Error {
  return Object.assign(new Error(message), { name, code, stack });
}
