// The door for any broker: what a job is, and what a worker is told.
import { describe, expect, test } from '@jest/globals';
import {
  ConfigurationError,
  type HandlerContext,
  memoryStore,
  NonRetriableError,
  RetryAfterError,
  receiver,
  StoreError,
} from 'payment-webhooks';
import { enqueue, type Job, processor } from 'payment-webhooks/queues';
import { fixtures } from 'payment-webhooks/testing';
import { z } from 'zod';
import { CREDENTIALS, delivery, KEY } from '../setup/delivery.js';
import { faultyStore, rejects } from '../setup/faulty-store.js';
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
    const end = await verdictOf(() => {
      throw new RetryAfterError('2h');
    });
    expect(end).toEqual({ verdict: 'later', delayMs: 7_200_000 });
  });

  const unreadable = Object.defineProperty(new Error(), 'message', {
    get: () => {
      throw new Error('no');
    },
  });
  test.each<[string, unknown, 'never' | 'failed', RegExp]>([
    ['a refusal', new NonRetriableError('Grace Hopper has no account'), 'never', /NonRetriableError$/],
    [
      'an error',
      Object.assign(new TypeError('Grace Hopper'), { code: 'ECONNRESET' }),
      'failed',
      /TypeError ECONNRESET$/,
    ],
    ['null', null, 'failed', /null$/],
    ['text', 'the card of Grace Hopper', 'failed', /string$/],
    ['an error whose getters throw', unreadable, 'failed', /(unreadable|Error)$/],
  ])(
    '%s is told by codes and names and never by a message, also when it runs again',
    async (_, thrown, verdict, named) => {
      const store = memoryStore();
      for (let run = 0; run < 2; run += 1) {
        const end = await verdictOf(
          () => {
            throw thrown;
          },
          { store },
        );
        expect(end).toMatchObject({
          verdict,
          error: {
            code: 'HANDLER_FAILED',
            message: expect.stringMatching(/^HANDLER_FAILED: .* failed with /),
          },
        });
        const { message, stack } = (end as { error: Error }).error;
        expect(message).toMatch(named);
        expect(stack).not.toContain('Grace');
      }
    },
  );

  test.each([30_000, 200, Number.NaN, -1, Number.POSITIVE_INFINITY, 'soon', undefined])(
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
    let runs = 0;
    const count = () => {
      runs += 1;
    };
    const down = faultyStore({ claim: rejects });
    expect(await verdictOf(count, { store: down })).toMatchObject({ verdict: 'later' });
    expect(runs).toBe(0);
    const store = faultyStore({ complete: rejects }, { more: { transactional: true } });
    const end = await verdictOf(count, { store });
    expect(end).toMatchObject({ verdict: 'failed', error: { code: 'STORE_UNAVAILABLE' } });
    expect(StoreError.is((end as { error: unknown }).error)).toBe(true);
    expect(runs).toBe(1);
  });

  test('an event that this worker does not declare is failed, a newer one may; and so is one whose schema throws', async () => {
    const { name, data } = await jobOf(fixtures.event('refund.made', {}));
    expect(name).toBe('refund.made');
    expect(await processor({ '*': () => {} }, silent)(data, here)).toMatchObject({
      verdict: 'failed',
      error: { code: 'CONFIGURATION_INVALID', message: expect.stringContaining('option events') },
    });
    const schema = z.any().transform(() => {
      throw new Error('the rates are down');
    });
    const work = processor({ '*': () => {} }, { events: { 'refund.made': schema }, ...silent });
    expect(await work(data, here)).toMatchObject({
      verdict: 'failed',
      error: { message: 'HANDLER_FAILED: The schema declared for this event threw.' },
    });
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
