// Adds deliveries to a queue of BullMQ: a handler that resolves when Redis has the job.
import type { JobsOptions } from 'bullmq';
import { ConfigurationError } from '../../errors.js';
import { writeLog } from '../../logger.js';
import { show } from '../../misuse.js';
import { retentionMs } from '../../time.js';
import { checkEnqueueOptions, type Enqueue, enqueue as enqueueWith, logOtherBody } from '../enqueue.js';
import type { QueuedDelivery } from '../queued-delivery.js';

/** The part of a `Queue` of BullMQ that is used. */
export interface JobQueue {
  readonly defaultJobOptions?: object;
  getJob(id: string): Promise<AddedJob | undefined>;
  add(name: string, data: QueuedDelivery, options: JobsOptions): Promise<unknown>;
}

/** A job that was added before. */
export interface AddedJob {
  readonly data: unknown;
  isFailed(): Promise<boolean>;
  updateData(data: QueuedDelivery): Promise<void>;
  retry(state: 'failed', options: { resetAttemptsMade: boolean }): Promise<void>;
}

/** `debounce` is the name in BullMQ 5 of `deduplication`; `repeat` makes ids of its own, and runs an event again and again. */
const MERGING = ['deduplication', 'debounce', 'repeat'] as const;
/** Job options that would merge different events into one job, or that `enqueue()` sets itself. */
const LOSSY = ['jobId', ...MERGING] as const;

export interface EnqueueOptions {
  /** Name of every job. @default the name of the event */
  readonly name?: string | undefined;
  /**
   * Options of the jobs. They override the queue's `defaultJobOptions`, which override these defaults: 10 attempts,
   * an exponential backoff from 1 s, completed jobs kept for 30 days, at most 100,000 of them.
   */
  readonly jobOptions?: Omit<JobsOptions, (typeof LOSSY)[number]> | undefined;
}

const JOB_OPTIONS: JobsOptions = {
  attempts: 10,
  backoff: { type: 'exponential', delay: 1_000 },
  removeOnComplete: { age: retentionMs() / 1_000, count: 100_000 },
};
const RETRIES = 3;

/**
 * Creates a handler that adds deliveries to a queue, one job per event. It resolves when Redis has the job.
 *
 * @throws {ConfigurationError} if queue is not a queue, or if job options would lose events
 * @example
 * hooks.on('*', enqueue(new Queue('webhooks', { connection })));
 */
export function enqueue(queue: JobQueue, options: EnqueueOptions = {}): Enqueue {
  const { name, jobOptions } = checkEnqueue(queue, options);
  const common: JobsOptions = { ...JOB_OPTIONS, ...queue.defaultJobOptions, ...jobOptions };
  return enqueueWith(async ({ id: jobId, name: eventName, data }, { log }) => {
    for (let retries = 0; ; retries += 1) {
      // Asked first: a worker may refuse the job of this very delivery as soon as it is added.
      const job = await queue.getJob(jobId);
      if (!job) {
        await queue.add(name ?? eventName, data, { ...common, jobId });
        return;
      }
      // BullMQ would ignore a second job of this id, even if the first has finally failed: no worker would run the event.
      if (!(await job.isFailed())) {
        logOtherBody(job.data, data, log);
        return;
      }
      try {
        // As in a store, the bytes of the latest delivery count until the event is completed.
        await job.updateData(data);
        await job.retry('failed', { resetAttemptsMade: true });
        writeLog(log, 'warn', {}, 'the job of this event had failed; this delivery retries it');
        return;
      } catch (error) {
        // Another delivery has already retried the job, or it was just removed.
        if (retries === RETRIES) throw error;
      }
    }
  });
}

function checkEnqueue(queue: JobQueue, options: EnqueueOptions): EnqueueOptions {
  if ([queue?.add, queue?.getJob].some((method) => typeof method !== 'function')) {
    throw new ConfigurationError(
      `enqueue() was given ${show(queue)}. Pass a queue: "new Queue('webhooks', { connection })".`,
    );
  }
  const known = checkEnqueueOptions(options, {
    known: ['name', 'jobOptions'],
    jobOptions: 'job options of BullMQ',
    lossy: LOSSY,
  });
  const defaults = (queue.defaultJobOptions ?? {}) as Readonly<Record<string, unknown>>;
  const merging = MERGING.find((option) => defaults[option] !== undefined);
  if (merging !== undefined) {
    throw new ConfigurationError(
      `defaultJobOptions.${merging} of the queue would merge different events into one job, and lose all but the first. Remove it, or give enqueue() another queue.`,
    );
  }
  const { name } = known;
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw new ConfigurationError(`name is ${show(name)}. Pass the name of the jobs.`);
  return known;
}
