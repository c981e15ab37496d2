// The door for any broker: what a job is, what a worker is told, and the same verdict from pg-boss.
import { describe, expect, test } from '@jest/globals';
import {
  ConfigurationError,
  type HandlerContext,
  memoryStore,
  NonRetriableError,
  RetryAfterError,
  receiver,
} from 'payment-webhooks';
import { enqueue, type Job, processor } from 'payment-webhooks/queues';
import * as pgBoss from 'payment-webhooks/queues/pg-boss';
import { fixtures } from 'payment-webhooks/testing';
import { ownBossSchema, withPostgres } from '../setup/boss-trial.js';
import { captureLog } from '../setup/captured-log.js';
import { CREDENTIALS, delivery, KEY } from '../setup/delivery.js';
import { faultyStore, rejects } from '../setup/faulty-store.js';
import { contextOf } from '../setup/queue-trial.js';
import { until } from '../setup/waiting.js';

const paid = fixtures.transactionPaid;
const silent = { logger: false } as const;
const here = { queue: 'webhooks' } as const;

/** The job that a receiver makes of an event. */
async function jobOf(event: object = paid(), headers: Record<string, string> = {}): Promise<Job> {
  const jobs: Job[] = [];
  const hooks = receiver({ privateKey: KEY, store: false, ...silent });
  hooks.on(
    '*',
    enqueue(async (job) => void jobs.push(job)),
  );
  hooks.onUnknown(enqueue(async (job) => void jobs.push(job)));
  const { body: rawBody, headers: own } = delivery(event);
  expect(await hooks.receive({ rawBody, headers: { ...headers, ...own } })).toMatchObject({ status: 200 });
  expect(jobs).toHaveLength(1);
  return jobs[0] as Job;
}

describe('enqueue()', () => {
  test('makes one job of an event: its id, its name, and the bytes that were signed, without credentials', async () => {
    const event = paid();
    const job = await jobOf(event, { ...CREDENTIALS, 'x-account': 'acme' });
    expect(job).toEqual({
      id: `live-${event.id}`,
      name: 'transaction.paid',
      data: {
        rawBody: JSON.stringify(event),
        headers: { 'content-type': 'application/json', 'x-account': 'acme' },
        keyIndex: 0,
      },
    });
    expect((await jobOf({ ...event, sandbox: true })).id).toBe(`sandbox-${event.id}`);
    expect(JSON.parse(JSON.stringify(job))).toEqual(job);
  });

  test('is answered 2xx once the broker has the job, and 500 if it does not take it', async () => {
    const hooks = receiver({ privateKey: KEY, store: false, ...silent });
    let took: (() => void) | undefined;
    let asked = 0;
    hooks.on(
      '*',
      enqueue(async () => {
        asked += 1;
        if (asked > 1) throw new Error('the channel is closed');
        await new Promise<void>((resolve) => {
          took = resolve;
        });
      }),
    );
    const { body: rawBody, headers } = delivery();
    let answered = false;
    const first = hooks.receive({ rawBody, headers }).finally(() => {
      answered = true;
    });
    await until(() => took !== undefined);
    expect(answered).toBe(false);
    took?.();
    expect(await first).toMatchObject({ status: 200 });
    expect(await hooks.receive({ rawBody, headers })).toMatchObject({ status: 500 });
  });

  test.each([undefined, {}, 'webhooks'])('refuses %p', (send) => {
    expect(() => enqueue(send as never)).toThrow(ConfigurationError);
    expect(() => enqueue(send as never)).toThrow(
      'Give a function that adds a job to your queue: enqueue(async (job) => …).',
    );
  });
});

describe('processor()', () => {
  const verdictOf = async (handler: () => unknown, options: Parameters<typeof processor>[1] = {}) =>
    processor({ '*': handler }, { ...silent, ...options })((await jobOf()).data, here);

  test('runs the handlers of the event, and knows it again with a store', async () => {
    const seen: [unknown, HandlerContext][] = [];
    const handle = async (...given: [unknown, HandlerContext]) => void seen.push(given);
    const work = processor({ 'transaction.paid': handle }, { store: memoryStore(), ...silent });
    const event = paid();
    const { data } = await jobOf(event, { 'x-account': 'acme' });
    expect(await work(data, { ...here, attempt: 3 })).toEqual({ verdict: 'done', outcome: 'processed' });
    expect(await work(data, here)).toEqual({ verdict: 'done', outcome: 'duplicate' });
    expect(await work(data, { queue: 'another' })).toEqual({ verdict: 'done', outcome: 'processed' });
    expect(seen[0]).toMatchObject([event, { headers: { 'x-account': 'acme' } }]);
  });

  test('counts attempts by what the worker says, where no store counts them', async () => {
    const attempts: number[] = [];
    const work = processor({ '*': (_, { attempt }) => void attempts.push(attempt) }, silent);
    const { data } = await jobOf();
    await work(data, { ...here, attempt: 3 });
    await work(data, here);
    expect(attempts).toEqual([3, 1]);
  });

  test('runs jobs and knows events of version 0.1', async () => {
    const { rawBody } = (await jobOf()).data;
    const { id } = JSON.parse(rawBody);
    const claimed: string[] = [];
    const store: ReturnType<typeof memoryStore> = {
      claim: async (key) => {
        claimed.push(key);
        return { status: 'completed', fingerprint: 'x' };
      },
    };
    const old = { rawBody, headers: { host: 'shop.example' }, keyIndex: 1 };
    expect(await processor({ '*': () => {} }, silent)(old, here)).toMatchObject({ outcome: 'processed' });
    const work = processor({ '*': () => {} }, { store, namespace: 'eu', ...silent });
    expect(await work(old, { queue: 'web hooks' })).toMatchObject({ outcome: 'duplicate' });
    expect(claimed).toEqual([`web%20hooks/eu:live:${id}`]);
  });

  test('takes the JSON of the whole job too, as text or bytes', async () => {
    const work = processor({ '*': () => {} }, silent);
    const text = JSON.stringify(await jobOf());
    for (const whole of [text, Buffer.from(text), new TextEncoder().encode(text)])
      expect(await work(whole, here)).toEqual({ verdict: 'done', outcome: 'processed' });
  });

  test.each([
    undefined,
    null,
    5,
    {},
    '',
    '{',
    'null',
    Buffer.from([0xff]),
    { rawBody: '{' },
    { rawBody: '{}' },
  ])('gives up %p for good: no retry can succeed', async (data) => {
    const end = await processor({ '*': () => {} }, silent)(data, here);
    expect(end).toMatchObject({
      verdict: 'never',
      error: { name: expect.stringMatching(/^(Body|Event)Error$/) },
    });
  });

  test('a wait that a handler asks for is later, by its time', async () => {
    expect(
      await verdictOf(() => {
        throw new RetryAfterError('2h');
      }),
    ).toEqual({ verdict: 'later', delayMs: 7_200_000 });
  });

  test('a refusal is never, with a store too, and runs again if asked', async () => {
    const refuse = () => {
      throw new NonRetriableError('Grace Hopper has no account');
    };
    const store = memoryStore();
    for (let run = 0; run < 2; run += 1) {
      const end = await verdictOf(refuse, { store });
      expect(end).toMatchObject({ verdict: 'never', error: { code: 'HANDLER_FAILED' } });
      expect(String((end as { error: Error }).error.stack)).not.toContain('Grace');
    }
  });

  test('anything else is failed, with codes and names and never a message', async () => {
    const end = await verdictOf(() => {
      throw Object.assign(new TypeError('Grace Hopper'), { code: 'ECONNRESET' });
    });
    expect(end).toMatchObject({
      verdict: 'failed',
      error: { code: 'HANDLER_FAILED', message: expect.stringMatching(/failed with TypeError ECONNRESET$/) },
    });
  });

  test.each([30_000, 200, Number.NaN, -1, undefined])(
    'an event in progress elsewhere (%p) is later, within a second',
    async (retryAfterMs) => {
      const store = { claim: async () => ({ status: 'in_progress', retryAfterMs }) as never };
      const end = await verdictOf(() => {}, { store });
      expect(end).toEqual({ verdict: 'later', delayMs: expect.any(Number) });
      const { delayMs } = end as { delayMs: number };
      expect(delayMs).toBeGreaterThanOrEqual(1);
      expect(delayMs).toBeLessThanOrEqual(1_000);
    },
  );

  test('a store that is down before any handler ran is later, after that failed', async () => {
    expect(await verdictOf(() => {}, { store: faultyStore({ claim: rejects }) })).toMatchObject({
      verdict: 'later',
    });
    const store = faultyStore({ complete: rejects }, { more: { transactional: true } });
    expect(await verdictOf(() => {}, { store })).toMatchObject({
      verdict: 'failed',
      error: { code: 'STORE_UNAVAILABLE' },
    });
  });

  test('an event that this worker does not declare is failed: a newer one may', async () => {
    const { data } = await jobOf(fixtures.event('refund.made', {}));
    expect(await processor({ '*': () => {} }, silent)(data, here)).toMatchObject({ verdict: 'failed' });
  });

  test('the signal of the worker reaches the handlers', async () => {
    const losing = new AbortController();
    const { data } = await jobOf();
    const handle = (_: unknown, { signal }: HandlerContext) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        losing.abort();
      });
    const work = processor({ '*': handle }, silent);
    expect(await work(data, { ...here, signal: losing.signal })).toMatchObject({ verdict: 'failed' });
  });

  test.each<[unknown, string]>([
    [undefined, 'queue is undefined.'],
    [{ queue: '' }, 'queue is "".'],
    [{ queue: 'webhooks', attempt: 0 }, 'attempt is 0.'],
    [{ queue: 'webhooks', attempt: '1' }, 'attempt is "1".'],
  ])('details %j are refused', async (details, message) => {
    const work = processor({ '*': () => {} }, silent);
    await expect(work({}, details as never)).rejects.toThrow(message);
  });
});

const REFUSING = {
  '*': () => {
    throw new NonRetriableError();
  },
};

withPostgres('in pg-boss', () => {
  const schema = ownBossSchema();
  const queued = async (retryLimit: number) => {
    const trial = await schema.start();
    const event = paid();
    const jobOptions = { retryLimit, retryDelay: 0, retryBackoff: false };
    await pgBoss.enqueue(trial.boss, { queue: trial.queue, jobOptions })(event, contextOf(event));
    return { trial, event };
  };

  test('a wait that a handler asks for spends no attempt', async () => {
    const { trial } = await queued(0);
    let runs = 0;
    const handlers = {
      '*': () => {
        runs += 1;
        if (runs < 3) throw new RetryAfterError(1);
      },
    };
    await trial.work(pgBoss.processor(handlers, silent));
    expect(await trial.job('completed')).toMatchObject({ retry_count: 0 });
    expect(runs).toBe(3);
  });

  test('a refusal cancels the job with the option boss, and a new delivery says so', async () => {
    const { trial, event } = await queued(5);
    await trial.work(pgBoss.processor(REFUSING, { boss: trial.boss, ...silent }));
    expect(await trial.job('cancelled')).toMatchObject({ retry_count: 0 });
    const log = captureLog();
    await pgBoss.enqueue(trial.boss, { queue: trial.queue })(event, contextOf(event, { log: log.logger }));
    expect(log.lines).toMatchObject([{ msg: expect.stringContaining('boss.resume()') }]);
  });

  test('without it a refusal is retried like any other failure', async () => {
    const { trial } = await queued(2);
    await trial.work(pgBoss.processor(REFUSING, silent));
    expect(await trial.job('failed')).toMatchObject({ retry_count: 2 });
  });

  test.each([null, {}, 'postgres://localhost'])('the boss %p is refused', (boss) => {
    expect(() => pgBoss.processor(REFUSING, { boss: boss as never })).toThrow(
      'Give the PgBoss of this worker.',
    );
  });
});
