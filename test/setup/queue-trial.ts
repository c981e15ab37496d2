// A queue of its own on the Redis of the run, with the workers of one test; all of it is gone when the test is over.
import { randomBytes } from 'node:crypto';
import { type Job, type Processor, Queue, type QueueOptions, Worker, type WorkerOptions } from 'bullmq';
import type { HandlerContext } from 'payment-webhooks';
import { afterwards } from './afterwards.js';
import { captureLog } from './captured-log.js';
import { until } from './waiting.js';

export const redisUrl = process.env.TEST_REDIS_URL ?? '';

export interface Finished {
  readonly id: string;
  readonly error?: Error;
  readonly outcome?: unknown;
}

export interface QueueTrial {
  readonly name: string;
  readonly queue: Queue;
  /** Jobs that completed, or failed once or for good, in that order. */
  readonly finished: Finished[];
  work(processor: Processor, options?: Partial<WorkerOptions>): Worker;
  /** The job as Redis has it. */
  job(id: string): Promise<Job>;
  /** Waits until so many jobs have finished, and returns the last. */
  settled(count?: number): Promise<Finished>;
}

export function startTrial(options: Partial<QueueOptions> = {}): QueueTrial {
  const name = `test-${randomBytes(6).toString('hex')}`;
  const connection = { url: redisUrl };
  const queue = new Queue(name, { connection, ...options });
  afterwards(async () => {
    await queue.obliterate({ force: true });
    await queue.close();
  });
  const finished: Finished[] = [];
  return {
    name,
    queue,
    finished,
    work(processor, workerOptions) {
      const worker = new Worker(name, processor, { connection, drainDelay: 1, ...workerOptions });
      worker.on('completed', ({ id = '' }, outcome: unknown) => void finished.push({ id, outcome }));
      worker.on('failed', (job, error) => void finished.push({ id: job?.id ?? '', error }));
      worker.on('error', () => {});
      afterwards(() => worker.close());
      return worker;
    },
    async job(id) {
      const job = await queue.getJob(id);
      if (!job) throw new Error(`There is no job ${id}.`);
      return job;
    },
    async settled(count = 1) {
      await until(() => finished.length >= count);
      return finished[count - 1] as Finished;
    },
  };
}

/** The parts of a context that `enqueue` passes on. */
export function contextOf(event: unknown, more: Partial<HandlerContext> = {}) {
  const rawBody = Buffer.from(JSON.stringify(event));
  return { rawBody, headers: {}, keyIndex: 0, log: captureLog().logger, ...more };
}
