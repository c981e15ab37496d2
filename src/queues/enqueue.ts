// Passes deliveries on to a queue of BullMQ: a handler that resolves when Redis has the job.
import type { JobsOptions } from 'bullmq';
import { ConfigurationError } from '../errors.js';
import type { HandlerContext } from '../handler.js';
import { writeLog } from '../logger.js';
import * as check from '../option-checks.js';
import { retentionMs } from '../stores/store.js';
import { refuseUnknownOptions } from '../unknown-option.js';
import { pack, type QueuedDelivery } from './queued-delivery.js';

/** The part of a `Queue` of BullMQ that is used. */
export interface JobQueue {
  readonly defaultJobOptions?: object;
  add(name: string, data: QueuedDelivery, options: JobsOptions): Promise<AddedJob>;
}

interface AddedJob {
  isFailed(): Promise<boolean>;
  updateData(data: QueuedDelivery): Promise<void>;
  retry(state: 'failed', options: { resetAttemptsMade: boolean }): Promise<void>;
}

export interface EnqueueOptions {
  /** Name of every job. @default the name of the event */
  readonly name?: string | undefined;
  /**
   * Options of the jobs. They go before the queue's own `defaultJobOptions`, and those before these defaults: 10
   * attempts, an exponential backoff from 1 s, completed jobs kept for 30 days or up to 100,000 of them.
   */
  readonly jobOptions?: Omit<JobsOptions, 'jobId' | 'deduplication'> | undefined;
}

/** A handler for `on()` and `onUnknown()`. */
export type Enqueue = (
  event: { readonly id: string; readonly event_name: string; readonly sandbox: boolean },
  context: Pick<HandlerContext, 'rawBody' | 'headers' | 'keyIndex' | 'log'>,
) => Promise<void>;

const JOB_OPTIONS: JobsOptions = {
  attempts: 10,
  backoff: { type: 'exponential', delay: 1_000 },
  removeOnComplete: { age: retentionMs() / 1_000, count: 100_000 },
};
const REVIVALS = 3;

/**
 * Makes a handler that passes deliveries on to a queue, once for each event. It resolves when Redis has the job.
 *
 * @throws {ConfigurationError} for what is no queue, and for job options that would lose events
 * @example
 * hooks.on('*', enqueue(new Queue('webhooks', { connection })));
 */
export function enqueue(queue: JobQueue, options: EnqueueOptions = {}): Enqueue {
  const { name, jobOptions } = checkEnqueue(queue, options);
  const common: JobsOptions = { ...JOB_OPTIONS, ...queue.defaultJobOptions, ...jobOptions };
  return async function enqueue(event, context) {
    const jobOptions = { ...common, jobId: jobIdOf(event) };
    const data = pack(context);
    for (let revivals = 0; ; revivals += 1) {
      const job = await queue.add(name ?? event.event_name, data, jobOptions);
      // BullMQ ignores a job whose id it has, also when that job has failed for good: nobody would work on the event.
      if (!(await job.isFailed())) return;
      try {
        // As in a store: until an event is completed, the bytes of its latest delivery count.
        await job.updateData(data);
        await job.retry('failed', { resetAttemptsMade: true });
        writeLog(context.log, 'warn', {}, 'the job of this event had failed; this delivery has revived it');
        return;
      } catch (error) {
        // Another delivery was faster, or somebody has just removed the job.
        if (revivals === REVIVALS) throw error;
      }
    }
  };
}

/** BullMQ refuses colons and ids of digits alone. The mode in front also keeps clear of BullMQ's own keys. */
function jobIdOf({ id, sandbox }: Parameters<Enqueue>[0]): string {
  if (typeof id !== 'string') {
    throw new ConfigurationError(
      'enqueue() makes a handler for on() and onUnknown(); it was given no event.',
    );
  }
  return `${sandbox ? 'sandbox' : 'live'}-${encodeURIComponent(id)}`;
}

function checkEnqueue(queue: JobQueue, options: EnqueueOptions): EnqueueOptions {
  if (typeof queue?.add !== 'function') {
    throw new ConfigurationError(
      `enqueue() was given ${check.show(queue)}; give a queue: "new Queue('webhooks', { connection })".`,
    );
  }
  const known: EnqueueOptions = check.byName('The second argument of enqueue()', options, 'options');
  refuseUnknownOptions(known, ['name', 'jobOptions']);
  const { name, jobOptions } = known;
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw new ConfigurationError(`name is ${check.show(name)}; give the name of the jobs.`);
  const given = check.byName('jobOptions', jobOptions, 'job options of BullMQ');
  const lossy = ['jobId', 'deduplication'].find((option) => option in given);
  if (lossy !== undefined) {
    throw new ConfigurationError(
      `jobOptions.${lossy} would make different events one job, and lose all but the first; leave it out.`,
    );
  }
  return known;
}
