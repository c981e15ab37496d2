import { describe, expect, test } from '@jest/globals';
import { type HandlerContext, HandlerError, WebhookError } from 'payment-webhooks';
import { enqueue, processor } from 'payment-webhooks/queues/bullmq';
import { fixtures } from 'payment-webhooks/testing';
import { withRedis } from '../../setup/own-redis.js';
import { contextOf, type QueueTrial, startTrial } from '../../setup/queue-trial.js';
import { gate } from '../../setup/waiting.js';

const paid = () => fixtures.transactionPaid({ id: 'evt-1' });
const silent = { logger: false } as const;

/** Queues an event with three attempts, which follow one another at once. */
async function queueUp({ queue }: QueueTrial, event: ReturnType<typeof paid> | object): Promise<void> {
  const jobOptions = { attempts: 3, backoff: { type: 'fixed', delay: 1 } };
  await enqueue(queue, { jobOptions })(paid(), contextOf(event));
}

withRedis('a job', () => {
  test('that failed tells a listener of the worker what its handler threw', async () => {
    const trial = startTrial();
    await queueUp(trial, paid());
    const thrown = new RangeError('no card');
    trial.work(processor({ '*': () => Promise.reject(thrown) }, silent));
    const { error } = await trial.settled(3);
    expect(error).toBeInstanceOf(HandlerError);
    expect(error?.cause).toBe(thrown);
    const { failedReason, stacktrace } = await trial.job('live-evt-1');
    expect([failedReason, stacktrace?.length]).toEqual([error?.message, 3]);
  });

  test('that can never succeed fails for good at once, and tells a listener of the worker why', async () => {
    const trial = startTrial();
    await queueUp(trial, { ...paid(), payload: { transaction: null } });
    trial.work(processor({ '*': () => {} }, silent));
    const { error } = await trial.settled();
    expect(error?.name).toBe('UnrecoverableError');
    expect(WebhookError.is(error?.cause)).toBe(true);
    const job = await trial.job('live-evt-1');
    expect(await job.getState()).toBe('failed');
    const failedReason = expect.stringContaining('EVENT_INVALID: payload.transaction: ');
    expect(job).toMatchObject({ attemptsMade: 1, failedReason });
  });

  test('that the worker cancels aborts the signal of its handlers', async () => {
    const trial = startTrial();
    await queueUp(trial, paid());
    const running = gate();
    const handle = async (_event: unknown, { signal, attempt }: HandlerContext) => {
      running.open();
      if (attempt > 1) return;
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const worker = trial.work(processor({ '*': handle }, silent));
    await running.opened;
    worker.cancelJob('live-evt-1');
    const { error } = await trial.settled();
    expect(error).toMatchObject({ code: 'HANDLER_FAILED', cause: { code: 'CLAIM_LOST' } });
  });
});

describe('processor()', () => {
  test('refuses what is wrong before the first job', () => {
    expect(() => processor({})).toThrow('processor() has no handlers. Pass at least one, by pattern.');
  });

  test('takes three parameters, without which BullMQ makes no signal', () => {
    expect(processor({ '*': () => {} }, { timeout: 0, store: false, logger: false })).toHaveLength(3);
  });
});
