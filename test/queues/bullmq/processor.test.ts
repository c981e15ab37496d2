import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import {
  HandlerError,
  memoryStore,
  NonRetriableError,
  type TransactionPaid,
  WebhookError,
} from 'payment-webhooks';
import { enqueue, processor, type QueuedDelivery } from 'payment-webhooks/queues/bullmq';
import { fixtures } from 'payment-webhooks/testing';
import { asDeployed } from '../../setup/as-deployed.js';
import { captureLog } from '../../setup/captured-log.js';
import { withRedis } from '../../setup/own-redis.js';
import { type QueueTrial, startTrial } from '../../setup/queue-trial.js';
import { gate, until } from '../../setup/waiting.js';

const paid = fixtures.transactionPaid;
const silent = { logger: false } as const;
const SOON = { attempts: 3, backoff: { type: 'fixed', delay: 1 } } as const;

/** Queues an event as the receiver does, and returns the id of its job. */
async function queueUp(
  { queue }: QueueTrial,
  event: object,
  more: Partial<QueuedDelivery> = {},
): Promise<string> {
  const { id, sandbox } = event as { id: string; sandbox: boolean };
  const named = { event_name: 'transaction.paid', ...(event as object), id, sandbox };
  const rawBody = Buffer.from(more.rawBody ?? JSON.stringify(event));
  const context = { headers: {}, keyIndex: 0, log: captureLog().logger, ...more, rawBody };
  await enqueue(queue, { jobOptions: SOON })(named, context);
  return `${sandbox ? 'sandbox' : 'live'}-${encodeURIComponent(id)}`;
}

withRedis('a job', () => {
  test('reaches the handlers of its event, and completes with the outcome when all have resolved', async () => {
    const trial = startTrial();
    const event = paid();
    const ran: unknown[] = [];
    const opened = gate();
    let started = 0;
    await queueUp(trial, event);
    const handle = async (given: unknown) => {
      started += 1;
      await opened.opened;
      ran.push(given);
    };
    trial.work(processor({ 'transaction.paid': handle, 'transaction.*': handle, '*': handle }, silent));
    await until(() => started === 3);
    await pause(50);
    expect(trial.finished).toEqual([]);
    opened.open();
    expect(await trial.settled()).toEqual({ id: `live-${event.id}`, outcome: 'processed' });
    expect(ran).toEqual([event, event, event]);
  });

  test('gives handlers the context that the receiver gives them', async () => {
    const trial = startTrial();
    const log = captureLog();
    const event = paid();
    const rawBody = `\uFEFF${JSON.stringify(event)}`;
    const headers = { 'x-account': 'acme' };
    await queueUp(trial, event, { rawBody, headers, keyIndex: 2 });
    const seen = gate<{ signal: AbortSignal; rawBody: Buffer }>();
    const handle = async (
      _event: unknown,
      context: Parameters<typeof seen.open>[0] & { log: typeof log.logger },
    ) => {
      context.log.info({ order: 1 }, 'paid');
      seen.open(context);
    };
    trial.work(processor({ '*': handle }, { logger: log.logger }));
    const context = await seen.opened;
    expect(context).toMatchObject({ attempt: 1, headers, keyIndex: 2 });
    expect(context.rawBody).toEqual(Buffer.from(rawBody));
    expect(context.signal.aborted).toBe(false);
    await trial.settled();
    const [line, summary] = log.lines;
    expect(line).toMatchObject({ msg: 'paid', order: 1, eventId: event.id, eventName: 'transaction.paid' });
    expect(summary).toMatchObject({
      level: 30,
      msg: 'delivery',
      outcome: 'processed',
      attempt: 1,
      sandbox: false,
    });
    expect(summary).not.toHaveProperty('status');
  });
});

withRedis('a job that fails', () => {
  asDeployed();

  test('is retried by BullMQ with the next attempt number until a handler resolves', async () => {
    const trial = startTrial();
    await queueUp(trial, paid());
    const attempts: number[] = [];
    const handle = async (_event: unknown, { attempt }: { attempt: number }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new TypeError('the database is down');
    };
    trial.work(processor({ '*': handle }, silent));
    expect(await trial.settled(3)).toMatchObject({ outcome: 'processed' });
    expect(attempts).toEqual([1, 2, 3]);
  });

  test('names the handler, the kind of error and its place, and never its message', async () => {
    const trial = startTrial();
    const id = await queueUp(trial, paid({ payload: { customer: { name: 'Secret Customer' } } }));
    const handle = async (event: TransactionPaid) => {
      throw Object.assign(new RangeError(`card of ${event.payload.customer?.name}`), {
        code: 'ECONNREFUSED',
      });
    };
    const log = captureLog();
    trial.work(processor({ 'transaction.paid': handle, '*': async () => {} }, { logger: log.logger }));
    const { error } = await trial.settled(3);
    expect(error).toBeInstanceOf(HandlerError);
    expect(error?.message).toBe('HANDLER_FAILED: handle failed with RangeError ECONNREFUSED');
    const stored = await trial.job(id);
    expect(stored.failedReason).toBe(error?.message);
    expect(stored.stacktrace).toHaveLength(3);
    expect(stored.stacktrace?.[0]).toMatch(
      /^HandlerError: HANDLER_FAILED: .*\n {4}at .*processor\.test\.ts:\d+:\d+/,
    );
    const { data: _, ...withoutBody } = stored.asJSON();
    expect(JSON.stringify(withoutBody) + log.text.join()).not.toContain('Secret');
    // What was thrown stays in the process of the worker, for its own `failed` listener.
    expect(error?.cause).toMatchObject({ message: 'card of Secret Customer' });
  });
});

withRedis('a job that can never succeed', () => {
  test.each([
    ['its handler refused the event', {}, 'HANDLER_FAILED: refuse failed with NonRetriableError'],
    ['its payload does not fit', { transaction: null }, 'EVENT_INVALID: payload.transaction: '],
  ])(
    'because %s fails for good at once, and tells a listener of the worker why',
    async (_, payload, reason) => {
      const trial = startTrial();
      const id = await queueUp(trial, { ...paid(), payload: { ...paid().payload, ...payload } });
      const refuse = () => {
        throw new NonRetriableError('no');
      };
      trial.work(processor({ 'transaction.paid': refuse }, silent));
      const { error } = await trial.settled();
      expect(error?.name).toBe('UnrecoverableError');
      expect(WebhookError.is(error?.cause)).toBe(true);
      const job = await trial.job(id);
      expect(await job.getState()).toBe('failed');
      expect(job).toMatchObject({ attemptsMade: 1, failedReason: expect.stringContaining(reason) });
    },
  );
});

withRedis('a signal', () => {
  test('aborts when the worker cancels the job', async () => {
    const trial = startTrial();
    const id = await queueUp(trial, paid());
    const running = gate();
    const handle = async (_event: unknown, { signal, attempt }: { signal: AbortSignal; attempt: number }) => {
      running.open();
      if (attempt > 1) return;
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const worker = trial.work(processor({ '*': handle }, silent));
    await running.opened;
    worker.cancelJob(id);
    expect((await trial.settled()).error).toMatchObject({
      code: 'HANDLER_FAILED',
      cause: { code: 'CLAIM_LOST' },
    });
  });
});

withRedis('with a store', () => {
  test('an event in progress elsewhere waits for a second at most, and spends no attempt', async () => {
    const trial = startTrial();
    const event = paid();
    const inner = memoryStore();
    let first = true;
    const store: typeof inner = {
      claim: async (...asked) => {
        if (!first) return inner.claim(...asked);
        first = false;
        return { status: 'in_progress', retryAfterMs: 30_000 };
      },
    };
    const id = await queueUp(trial, event);
    const queuedAt = performance.now();
    trial.work(processor({ '*': () => {} }, { store, ...silent }));
    await until(async () => (await trial.job(id)).isDelayed());
    const waiting = await trial.job(id);
    expect(waiting.attemptsMade).toBe(0);
    // BullMQ counts from its own clock, so some milliseconds are gone.
    expect(waiting.delay).toBeGreaterThan(500);
    expect(waiting.delay).toBeLessThanOrEqual(1_000);
    expect(await trial.settled()).toMatchObject({ outcome: 'processed' });
    expect(performance.now() - queuedAt).toBeGreaterThan(900);
    expect((await trial.job(id)).attemptsMade).toBe(1);
  });
});

describe('processor()', () => {
  test('refuses what is wrong before the first job', () => {
    expect(() => processor({})).toThrow('processor() has no handlers. Give at least one, by pattern.');
  });

  test('takes three parameters, without which BullMQ makes no signal', () => {
    expect(processor({ '*': () => {} }, { timeout: 0, store: false, logger: false })).toHaveLength(3);
  });
});
