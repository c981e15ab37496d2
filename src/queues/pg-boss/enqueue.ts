// Adds deliveries to a queue of pg-boss: a handler that resolves when Postgres has the job.
import { ConfigurationError } from '../../errors.js';
import { type Logger, writeLog } from '../../logger.js';
import { show } from '../../misuse.js';
import { retentionMs } from '../../time.js';
import { checkEnqueueOptions, type Enqueue, enqueue as enqueueWith, logOtherBody } from '../enqueue.js';
import type { QueuedDelivery } from '../queued-delivery.js';
import { type Boss, jobAt, revive } from './boss.js';
import { uuidOf } from './job-id.js';

/** Job options that would merge different events into one job, or that `enqueue()` sets itself. */
const LOSSY = [
  'id',
  'db',
  'singletonKey',
  'singletonSeconds',
  'singletonMinutes',
  'singletonHours',
  'singletonNextSlot',
] as const;

/** The options of `send()` in this version of pg-boss, without those that would lose events. */
export type JobOptionsOf<AnyBoss extends Boss> = AnyBoss extends {
  send(queue: never, data: never, options: infer Options): unknown;
}
  ? Omit<NonNullable<Options>, (typeof LOSSY)[number]>
  : never;

export interface EnqueueOptions<JobOptions extends object = object> {
  /** Name of the queue. Create it with `boss.createQueue()` first. @default 'webhooks' */
  readonly queue?: string | undefined;
  /**
   * Options of the jobs. They override these defaults, which override those of the queue: 9 retries with an exponential
   * backoff from 1 s, a heartbeat of 30 s, waiting jobs kept for 10 years, finished jobs kept for 30 days.
   */
  readonly jobOptions?: JobOptions | undefined;
}

const JOB_OPTIONS = {
  retryLimit: 9,
  retryDelay: 1,
  retryBackoff: true,
  // Version 10 ignores it.
  heartbeatSeconds: 30,
  // pg-boss deletes a job that has waited for this long. Its default is 14 days.
  retentionSeconds: 10 * 365 * 86_400,
  deleteAfterSeconds: retentionMs() / 1_000,
};
const RETRIES = 3;

interface Job {
  readonly queue: string;
  readonly id: string;
  readonly data: QueuedDelivery;
  readonly options: object;
}

/**
 * Creates a handler that adds deliveries to a queue, one job per event. It resolves when Postgres has the job.
 *
 * @throws {ConfigurationError} if boss is not a PgBoss, or if job options would lose events
 * @example
 * const boss = await new PgBoss(connectionString).start();
 * await boss.createQueue('webhooks');
 * hooks.on('*', enqueue(boss));
 */
export function enqueue<AnyBoss extends Boss>(
  boss: AnyBoss,
  options: EnqueueOptions<JobOptionsOf<AnyBoss>> = {},
): Enqueue {
  const { queue = 'webhooks', jobOptions } = checkEnqueue(boss, options);
  const common = { ...JOB_OPTIONS, ...jobOptions };
  return enqueueWith(async ({ id: key, data }, context) => {
    const id = uuidOf(key);
    try {
      await add(boss, { queue, id, data, options: { ...common, id } }, context.log);
    } catch (error) {
      // The log line of a failed handler has only a code. This message says what to do.
      if (ConfigurationError.is(error)) writeLog(context.log, 'error', {}, error.message);
      throw error;
    }
  });
}

async function add(boss: Boss, job: Job, log: Logger): Promise<void> {
  const { queue } = job;
  for (let retries = 0; retries <= RETRIES; retries += 1) {
    if ((await send(boss, job)) !== null) return;
    // Null: pg-boss made no job, because one with this id exists, or because the policy of the queue refused it.
    const found = await jobAt(boss, job);
    if (!found) continue;
    logOtherBody(found.data, job.data, log);
    if (found.state === 'failed') {
      await revive(boss, job);
      writeLog(log, 'warn', {}, 'the job of this event had failed; this delivery retries it');
      // If its row was removed in between, the next round adds the job.
      if (!(await jobAt(boss, job))) continue;
    }
    if (found.state === 'cancelled')
      writeLog(log, 'warn', {}, 'the job of this event was cancelled, and waits for boss.resume()');
    return;
  }
  throw await notTaken(boss, queue);
}

async function send(boss: Boss, { queue, data, options }: Job): Promise<string | null> {
  try {
    return await boss.send(queue, data, options);
  } catch (error) {
    if (!/does not exist/.test(String((error as Error | undefined)?.message))) throw error;
    throw (await boss.getQueue(queue)) ? error : missing(queue);
  }
}

async function notTaken(boss: Boss, queue: string): Promise<ConfigurationError> {
  const found = (await boss.getQueue(queue)) as { readonly policy?: unknown } | null;
  if (!found) return missing(queue);
  return new ConfigurationError(
    `Queue ${show(queue)} did not take a job: its policy is ${show(found.policy)}. Create it with the policy "standard".`,
  );
}

function missing(queue: string): ConfigurationError {
  const name = show(queue);
  return new ConfigurationError(
    `Queue ${name} does not exist in pg-boss. Call "await boss.createQueue(${name})" before deliveries arrive.`,
  );
}

function checkEnqueue<JobOptions extends object>(
  boss: Boss,
  options: EnqueueOptions<JobOptions>,
): EnqueueOptions<JobOptions> {
  if ([boss?.send, boss?.deleteJob, boss?.getQueue].some((method) => typeof method !== 'function')) {
    throw new ConfigurationError(
      `enqueue() was given ${show(boss)}. Pass a PgBoss: "new PgBoss(connectionString)".`,
    );
  }
  const known = checkEnqueueOptions(options, {
    known: ['queue', 'jobOptions'],
    jobOptions: 'job options of pg-boss',
    lossy: LOSSY,
  });
  const { queue } = known;
  if (queue !== undefined && (typeof queue !== 'string' || queue === ''))
    throw new ConfigurationError(`queue is ${show(queue)}. Pass the name of a queue of pg-boss.`);
  return known;
}
