// The queues of BullMQ and pg-boss, used alike: a queue of its own, workers on it, and what the broker has of its jobs.
import type { HandlerContext } from 'payment-webhooks';
import * as bullmq from 'payment-webhooks/queues/bullmq';
import * as pgBoss from 'payment-webhooks/queues/pg-boss';
import { ownBossSchema } from '../setup/boss-trial.js';
import { needing } from '../setup/platform.js';
import { contextOf, startTrial } from '../setup/queue-trial.js';
import { until } from '../setup/waiting.js';

/** What the broker has of a job. */
export interface Job {
  readonly id?: string | undefined;
  readonly name?: string;
  readonly state: string;
  readonly data: bullmq.QueuedDelivery;
  /** How many it has used. */
  readonly attempts: number;
  readonly outcome: unknown;
  readonly error: { readonly message?: unknown; readonly stack?: unknown };
  /** All that the broker stores of it, without the delivery. */
  readonly rest: object;
  /** Runs it once more, as a person does who has fixed what it failed of. */
  again(): Promise<unknown>;
}

type Work = typeof bullmq.processor<{}, {}>;

export interface Trial {
  readonly pass: ReturnType<typeof bullmq.enqueue>;
  /** Adds a job with three attempts, which follow one another at once. */
  add(event: Parameters<Trial['pass']>[0], context?: Partial<HandlerContext>): Promise<void>;
  /** Starts a worker, which takes so many jobs at once. */
  work(handlers: Parameters<Work>[0], options: Parameters<Work>[1], atOnce?: number): Promise<unknown>;
  jobs(): Promise<readonly Job[]>;
  /** Removes the jobs that are completed. */
  forget(): Promise<unknown>;
}

interface Queue {
  readonly program: string;
  start(): Promise<Trial>;
  /** What is known of the job of a `transaction.paid`. */
  job(id: string, sandbox?: boolean): Pick<Job, 'id' | 'name'>;
}

export const ATTEMPTS = 3;
export const schema = needing('postgres').missing.length === 0 ? ownBossSchema() : undefined;

export async function startBullmq(): Promise<Trial> {
  const { queue, work } = startTrial();
  const jobOptions = { attempts: ATTEMPTS, backoff: { type: 'fixed', delay: 1 } };
  const add = bullmq.enqueue(queue, { jobOptions });
  return {
    pass: bullmq.enqueue(queue),
    add: (event, context) => add(event, contextOf(event, context)),
    work: async (handlers, options, concurrency = 1) =>
      work(bullmq.processor(handlers, options) as never, { concurrency }),
    forget: () => queue.clean(0, 0, 'completed'),
    jobs: async () =>
      Promise.all(
        (await queue.getJobs()).map(async (job) => {
          const { data: _, ...rest } = job.asJSON();
          return {
            ...{ id: job.id, name: job.name, data: job.data, rest },
            ...{ state: await job.getState(), attempts: job.attemptsMade, outcome: job.returnvalue },
            again: () => job.retry(),
            error: { message: job.failedReason, stack: job.stacktrace?.at(-1) },
          };
        }),
      ),
  };
}

/** @param cancels whether processors get the option `boss` */
export async function startPgBoss(cancels = false): Promise<Trial> {
  if (!schema) throw new Error('There is no Postgres.');
  const { boss, queue, jobs, work } = await schema.start();
  const jobOptions = { retryLimit: ATTEMPTS - 1, retryDelay: 0, retryBackoff: false };
  const add = pgBoss.enqueue(boss, { queue, jobOptions });
  return {
    pass: pgBoss.enqueue(boss, { queue }),
    add: (event, context) => add(event, contextOf(event, context)),
    work: (handlers, options, batchSize = 1) =>
      work(pgBoss.processor(handlers, { ...options, boss: cancels ? boss : undefined }) as never, {
        batchSize,
      }),
    forget: async () => {
      const completed = `DELETE FROM ${schema?.name}.job WHERE name = $1 AND state = 'completed'`;
      await schema?.pool.query(completed, [queue]);
    },
    jobs: async () =>
      (await jobs()).map(({ id, state, data, retry_count, output }) => ({
        ...{ id, state, data, attempts: retry_count + 1, rest: { output } },
        ...{ outcome: output?.value, error: output ?? {} },
        again: () => (state === 'cancelled' ? boss.resume(queue, id) : boss.retry(queue, id)),
      })),
  };
}

export const QUEUES: Readonly<Record<string, Queue>> = {
  BullMQ: {
    program: 'redis-server',
    start: startBullmq,
    job: (id, sandbox = false) => ({ id: `${sandbox ? 'sandbox' : 'live'}-${id}`, name: 'transaction.paid' }),
  },
  'pg-boss': {
    program: 'postgres',
    start: () => startPgBoss(),
    job: (id, sandbox = false) => ({ id: pgBoss.jobIdOf({ id, sandbox }) }),
  },
};

/** The only job of a queue, once it is over. */
export async function jobOver({ jobs }: Trial): Promise<Job> {
  await until(async () => {
    const [job] = await jobs();
    return ['completed', 'failed', 'cancelled'].includes(job?.state ?? '');
  });
  // Read again: a broker that is asked for each part by itself may have ended the job in between.
  const [over] = await jobs();
  return over as Job;
}
