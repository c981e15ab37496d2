import { expect, test } from '@jest/globals';
import { type Job, type JobsOptions, UnrecoverableError } from 'bullmq';
import { enqueue } from 'payment-webhooks/queues/bullmq';
import { fixtures } from 'payment-webhooks/testing';
import { captureLog } from '../../setup/captured-log.js';
import { withRedis } from '../../setup/own-redis.js';
import { contextOf, type QueueTrial, startTrial } from '../../setup/queue-trial.js';
import { until } from '../../setup/waiting.js';

const paid = fixtures.transactionPaid;

withRedis('the id of a job', () => {
  test.each([
    ['of digits alone', '4711'],
    ['zero', '0'],
    ['with the colons of a key of BullMQ', 'a:b:c:lock'],
    ['named like a key of BullMQ', 'wait'],
    ['that begins like a delay marker', '0:1'],
    ['of every odd character', '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'],
    ['of 83 characters that all are encoded', ':'.repeat(83)],
  ])('is taken by BullMQ for an event id %s, and worked on', async (_what, id) => {
    const { queue, work, settled } = startTrial();
    const event = paid({ id });
    await enqueue(queue)(event, contextOf(event));
    work(async () => {});
    const { id: jobId } = await settled();
    expect(jobId).toBe(`live-${encodeURIComponent(id)}`);
    expect(decodeURIComponent(jobId.slice('live-'.length))).toBe(id);
  });

  test('differs where event ids differ only in case, or in what stands for a colon', async () => {
    const { queue } = startTrial();
    const pass = enqueue(queue);
    for (const id of ['a:b', 'A:b', 'a%3Ab', 'a%3ab']) await pass(paid({ id }), contextOf(paid({ id })));
    expect(await queue.count()).toBe(4);
  });
});

withRedis('a job that exists already', () => {
  const event = paid({ id: 'evt-1' });
  const failing = async () => Promise.reject(new Error('no'));

  /** The job of the event, after a worker has failed it for good. */
  async function failForGood(): Promise<QueueTrial> {
    const trial = startTrial();
    await enqueue(trial.queue, { jobOptions: { attempts: 1 } })(event, contextOf(event));
    const worker = trial.work(failing);
    await trial.settled();
    await worker.close();
    expect(await (await trial.job('live-evt-1')).getState()).toBe('failed');
    return trial;
  }

  test('is retried by the next delivery once it has failed for good, with all its attempts and the latest bytes', async () => {
    const { queue, job, work, finished } = await failForGood();
    const log = captureLog();
    const rendered = paid({ id: 'evt-1', payload: { metadata: { rendered: 'again' } } });
    await enqueue(queue)(rendered, contextOf(rendered, { log: log.logger }));
    const retried = await job('live-evt-1');
    expect([await retried.getState(), retried.attemptsMade]).toEqual(['waiting', 0]);
    expect(JSON.parse(retried.data.rawBody)).toEqual(rendered);
    expect(log.lines).toMatchObject([{ level: 40, msg: expect.stringContaining('retries') }]);
    work(async () => 'done');
    await until(() => finished.some(({ outcome }) => outcome === 'done'));
  });

  test('is retried once by deliveries that arrive at the same time', async () => {
    const { queue, job } = await failForGood();
    const pass = enqueue(queue);
    await Promise.all(Array.from({ length: 10 }, () => pass(event, contextOf(event))));
    expect(await queue.getJobCounts('waiting', 'failed')).toEqual({ waiting: 1, failed: 0 });
    expect((await job('live-evt-1')).attemptsStarted).toBe(1);
  });

  test('is added again when it is removed while it is being retried', async () => {
    const { queue, job } = await failForGood();
    let removed = false;
    const getJob = async (id: string) => {
      const found = await queue.getJob(id);
      if (!found) return undefined;
      const isFailed = found.isFailed.bind(found);
      found.isFailed = async () => {
        const failed = await isFailed();
        if (!removed) await found.remove();
        removed = true;
        return failed;
      };
      return found;
    };
    await enqueue({ add: queue.add.bind(queue), getJob })(event, contextOf(event));
    expect(removed).toBe(true);
    expect(await (await job('live-evt-1')).getState()).toBe('waiting');
  });

  test('fails the delivery when it cannot be retried', async () => {
    const { queue, job } = await failForGood();
    const getJob = async (id: string) =>
      Object.assign((await queue.getJob(id)) as Job, { retry: () => Promise.reject(new Error('no script')) });
    const failing = { add: queue.add.bind(queue), getJob };
    await expect(enqueue(failing)(event, contextOf(event))).rejects.toThrow('no script');
    expect(await (await job('live-evt-1')).getState()).toBe('failed');
  });

  test('is not retried by the delivery that has added it, however soon a worker refuses it', async () => {
    const trial = startTrial();
    trial.work(async () => {
      throw new UnrecoverableError('refused');
    });
    const add = async (...job: Parameters<typeof trial.queue.add>) => {
      const added = await trial.queue.add(...job);
      await trial.settled();
      return added;
    };
    const getJob = trial.queue.getJob.bind(trial.queue);
    await enqueue({ add, getJob })(event, contextOf(event));
    const job = await trial.job('live-evt-1');
    expect([await job.getState(), job.attemptsMade]).toEqual(['failed', 1]);
  });

  test('keeps its body, and an error line says that a delivery had another', async () => {
    const { queue, job } = startTrial();
    const log = captureLog();
    const rendered = paid({ id: 'evt-1', payload: { metadata: { rendered: 'again' } } });
    await enqueue(queue)(event, contextOf(event, { log: log.logger }));
    await enqueue(queue)(event, contextOf(event, { log: log.logger }));
    expect(log.lines).toEqual([]);
    await enqueue(queue)(rendered, contextOf(rendered, { log: log.logger }));
    expect(log.lines).toMatchObject([{ level: 50, msg: expect.stringContaining('with another body') }]);
    expect(JSON.parse((await job('live-evt-1')).data.rawBody)).toEqual(event);
  });

  test.each([
    ['waits', async () => {}],
    [
      'is delayed until its next attempt',
      async ({ work, settled }: QueueTrial) => {
        work(failing);
        await settled();
      },
    ],
    [
      'has completed',
      async ({ work, settled }: QueueTrial) => {
        work(async () => {});
        await settled();
      },
    ],
  ])('is left alone while it %s', async (_state, prepare) => {
    const trial = startTrial();
    const pass = enqueue(trial.queue);
    await pass(event, contextOf(event));
    await prepare(trial);
    const before = await (await trial.job('live-evt-1')).getState();
    await pass(event, contextOf(event));
    expect(await (await trial.job('live-evt-1')).getState()).toBe(before);
    expect(trial.finished.length).toBeLessThanOrEqual(1);
  });
});

withRedis('the options of a job', () => {
  const optionsOf = async (
    queueDefaults: JobsOptions,
    ...options: Parameters<typeof enqueue> extends [unknown, ...infer Rest] ? Rest : never
  ) => {
    const { queue, job } = startTrial({ defaultJobOptions: queueDefaults });
    await enqueue(queue, ...options)(paid({ id: 'evt-1' }), contextOf(paid({ id: 'evt-1' })));
    return job('live-evt-1');
  };

  test('are ten attempts with growing pauses, and thirty days or 100,000 jobs of memory', async () => {
    expect((await optionsOf({})).opts).toMatchObject({
      attempts: 10,
      backoff: { type: 'exponential', delay: 1_000 },
      removeOnComplete: { age: 2_592_000, count: 100_000 },
    });
  });

  test('give way to those of the queue, and both to those of the call', async () => {
    const jobOptions = { attempts: 5, delay: 60_000 };
    const job = await optionsOf({ attempts: 3, removeOnComplete: true }, { jobOptions });
    expect(job.opts).toMatchObject({ ...jobOptions, removeOnComplete: true, jobId: 'live-evt-1' });
    expect(job.opts.backoff).toEqual({ type: 'exponential', delay: 1_000 });
  });

  test('may name every job', async () => {
    expect((await optionsOf({}, { name: 'webhook' })).name).toBe('webhook');
  });
});

const neverCalled = () => Promise.reject(new Error('never called'));
const queue = { add: neverCalled, getJob: neverCalled };
const MERGING = { deduplication: { id: 'a' } };

test.each([
  ['no queue', undefined, {}, 'enqueue() was given undefined. Pass a queue'],
  ['the name of a queue', 'webhooks', {}, 'enqueue() was given "webhooks". Pass a queue'],
  ['options of the wrong kind', queue, 'fast', 'The second argument of enqueue() is "fast"'],
  ['an unknown option', queue, { jobOption: {} }, 'Unknown option "jobOption". Did you mean "jobOptions"?'],
  ['an empty name', queue, { name: '' }, 'name is "". Pass the name of the jobs.'],
  ['job options of the wrong kind', queue, { jobOptions: 3 }, 'jobOptions is 3'],
  ['one job id for all events', queue, { jobOptions: { jobId: 'a' } }, 'jobOptions.jobId would merge'],
  ['one deduplication for all', queue, { jobOptions: MERGING }, 'jobOptions.deduplication would merge'],
  [
    'the deduplication of BullMQ 5',
    queue,
    { jobOptions: { debounce: MERGING } },
    'jobOptions.debounce would merge',
  ],
  ['jobs that repeat', queue, { jobOptions: { repeat: { every: 1 } } }, 'jobOptions.repeat would merge'],
  [
    'a queue of BullMQ 5 that deduplicates by default',
    { ...queue, defaultJobOptions: { debounce: { id: 'a', ttl: 60_000 } } },
    {},
    'defaultJobOptions.debounce of the queue would merge',
  ],
  [
    'a queue that deduplicates by default',
    { ...queue, defaultJobOptions: { deduplication: { id: 'a', ttl: 60_000 } } },
    {},
    'defaultJobOptions.deduplication of the queue would merge different events into one job, and lose all',
  ],
])('enqueue() refuses %s', (_what, given, options, message) => {
  expect(() => enqueue(given as never, options as never)).toThrow(message);
});
