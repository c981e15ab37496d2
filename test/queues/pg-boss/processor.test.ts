import { describe, expect, test } from '@jest/globals';
import { type HandlerContext, memoryStore, type TransactionPaid } from 'payment-webhooks';
import { enqueue, processor } from 'payment-webhooks/queues/pg-boss';
import { fixtures } from 'payment-webhooks/testing';
import { asDeployed } from '../../setup/as-deployed.js';
import { type BossTrial, ownBossSchema, withPostgres } from '../../setup/boss-trial.js';
import { captureLog } from '../../setup/captured-log.js';
import { faultyStore, rejects } from '../../setup/faulty-store.js';
import { contextOf } from '../../setup/queue-trial.js';
import { gate, until } from '../../setup/waiting.js';

const paid = fixtures.transactionPaid;
const silent = { logger: false } as const;
const SOON = { retryLimit: 2, retryDelay: 0, retryBackoff: false } as const;

/** Queues an event as the receiver does. */
async function queueUp(
  { boss, queue }: BossTrial,
  event: object,
  context: Partial<HandlerContext> = {},
  options = {},
) {
  const { id = 'evt-1', sandbox = false } = event as { id?: string; sandbox?: boolean };
  const named = { event_name: 'transaction.paid', id, sandbox };
  await enqueue(boss, { queue, jobOptions: { ...SOON, ...options } })(named, contextOf(event, context));
}

withPostgres('a job', () => {
  const schema = ownBossSchema();

  test('reaches the handlers of its event with the context of the receiver, and completes with the outcome', async () => {
    const trial = await schema.start();
    const log = captureLog();
    const event = paid();
    const rawBody = Buffer.from(`\uFEFF${JSON.stringify(event)}`);
    await queueUp(trial, event, { rawBody, headers: { 'x-account': 'acme' }, keyIndex: 2 });
    const seen: [unknown, HandlerContext][] = [];
    const handle = async (...given: [unknown, HandlerContext]) => void seen.push(given);
    await trial.work(processor({ 'transaction.paid': handle, '*': handle }, { logger: log.logger }));
    expect(await trial.job('completed')).toMatchObject({ output: { value: 'processed' } });
    expect(seen.map(([given]) => given)).toEqual([event, event]);
    const context = { attempt: 1, headers: { 'x-account': 'acme' }, keyIndex: 2, rawBody };
    expect(seen[0]?.[1]).toMatchObject(context);
    expect(log.lines).toMatchObject([
      { msg: 'delivery', outcome: 'processed', eventId: event.id, attempt: 1 },
    ]);
  });

  test('is validated with the schemas of the worker: what does not fit is retried, and fails', async () => {
    const trial = await schema.start();
    await queueUp(trial, paid({ payload: { transaction: { status: 'Secret' as never } } }));
    await trial.work(processor({ '*': () => {} }, silent));
    const { output, retry_count } = await trial.job('failed');
    expect(output?.message).toContain('EVENT_INVALID: payload.transaction.status: ');
    expect(retry_count).toBe(2);
    expect(JSON.stringify(output)).not.toContain('Secret');
  });

  test('that enqueue() did not add fails, and says so', async () => {
    const trial = await schema.start();
    await trial.boss.send(trial.queue, { other: 1 }, { retryLimit: 0 });
    await trial.work(processor({ '*': () => {} }, silent));
    expect((await trial.job('failed')).output?.message).toContain('with enqueue() only');
  });

  test('without retryCount is refused: the number of the attempt would be wrong', async () => {
    const work = processor({ '*': () => {} }, silent);
    const job = { id: 'x', name: 'webhooks', data: {}, expireInSeconds: 900 };
    await expect(work([job])).rejects.toThrow('includeMetadata: true');
  });

  test('in a batch runs beside the others, and all are retried when one fails', async () => {
    const trial = await schema.start();
    const events = [paid(), paid(), paid()];
    for (const event of events) await queueUp(trial, event);
    const runs: string[] = [];
    const handle = async (event: TransactionPaid, { attempt }: HandlerContext) => {
      if (event.id === events[0]?.id && runs.length < 3) {
        runs.push(`${event.id} fails`);
        throw new Error('no');
      }
      runs.push(`${event.id} ${attempt}`);
    };
    await trial.work(processor({ 'transaction.paid': handle }, { store: memoryStore(), ...silent }), {
      batchSize: 3,
    });
    await until(async () => (await trial.jobs()).every(({ state }) => state === 'completed'));
    expect(runs).toHaveLength(4);
    expect(new Set(runs.slice(1)).size).toBe(3);
  });
});

withPostgres('a job that fails', () => {
  asDeployed();
  const schema = ownBossSchema();

  test('is retried with the next attempt number until a handler resolves', async () => {
    const trial = await schema.start();
    await queueUp(trial, paid());
    const attempts: number[] = [];
    const handle = async (_event: unknown, { attempt }: HandlerContext) => {
      attempts.push(attempt);
      if (attempt < 3) throw new TypeError('the database is down');
    };
    await trial.work(processor({ '*': handle }, silent));
    await trial.job('completed');
    expect(attempts).toEqual([1, 2, 3]);
  });

  test('ends as failed with the handler, the kind of error and its place, never its message, and in the dead letter queue', async () => {
    const letters = await schema.start();
    const trial = await schema.start({ deadLetter: letters.queue });
    const event = paid({ payload: { customer: { name: 'Secret Customer' } } });
    await queueUp(trial, event);
    const handle = async ({ payload }: TransactionPaid) => {
      throw Object.assign(new RangeError(`card of ${payload.customer?.name}`), { code: 'ECONNREFUSED' });
    };
    const log = captureLog();
    await trial.work(processor({ 'transaction.paid': handle, '*': async () => {} }, { logger: log.logger }));
    const { output, retry_count } = await trial.job('failed');
    expect(retry_count).toBe(2);
    expect(output).toMatchObject({
      name: 'HandlerError',
      code: 'HANDLER_FAILED',
      message: 'HANDLER_FAILED: handle failed with RangeError ECONNREFUSED',
      stack: expect.stringMatching(/^HandlerError: HANDLER_FAILED: .*\n {4}at .*processor\.test\.ts:\d+:\d+/),
    });
    expect(JSON.stringify(output) + log.text.join()).not.toContain('Secret');
    const [letter] = await letters.jobs();
    expect(JSON.parse(letter?.data.rawBody ?? '')).toEqual(event);
    // A worker on the dead letter queue processes it with the same function.
    await letters.work(processor({ '*': () => {} }, silent));
    await letters.job('completed');
  });

  test('is given to another worker when its own is stuck, whose signal aborts', async () => {
    const trial = await schema.start();
    await queueUp(trial, paid(), {}, { expireInSeconds: 1 });
    const aborted = gate<unknown>();
    const attempts: number[] = [];
    const handle = async (_event: unknown, { signal, attempt }: HandlerContext) => {
      attempts.push(attempt);
      if (attempt > 1) return;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      aborted.open(signal.reason);
      throw signal.reason;
    };
    await trial.work(processor({ '*': handle }, { store: memoryStore(), ...silent }));
    expect(await aborted.opened).toMatchObject({ code: 'CLAIM_LOST' });
    await trial.job('completed');
    expect(attempts).toEqual([1, 2]);
  });
});

withPostgres('with a store', () => {
  const schema = ownBossSchema();

  test('an event in progress elsewhere waits for as long as the store says, and spends no attempt', async () => {
    const trial = await schema.start();
    const inner = memoryStore();
    const claims: number[] = [];
    const store: typeof inner = {
      claim: async (...asked) => {
        claims.push(performance.now());
        return claims.length > 2 ? inner.claim(...asked) : { status: 'in_progress', retryAfterMs: 300 };
      },
    };
    await queueUp(trial, paid());
    await trial.work(processor({ '*': () => {} }, { store, ...silent }));
    expect(await trial.job('completed')).toMatchObject({ retry_count: 0, output: { value: 'processed' } });
    expect(Number(claims[1]) - Number(claims[0])).toBeGreaterThan(290);
    expect(claims).toHaveLength(3);
  });

  test('a store that is down spends no attempt and runs no handler, until the job expires', async () => {
    const trial = await schema.start();
    const log = captureLog();
    const store = faultyStore({ claim: rejects });
    let runs = 0;
    const count = () => {
      runs += 1;
    };
    await queueUp(trial, paid(), {}, { retryLimit: 0, expireInSeconds: 3 });
    await trial.work(processor({ '*': count }, { store, logger: log.logger }));
    await until(() => log.lines.some(({ code }) => code === 'STORE_UNAVAILABLE'));
    expect(await trial.jobs()).toMatchObject([{ state: 'active', retry_count: 0 }]);
    await trial.job('failed');
    expect(runs).toBe(0);
  });
});

describe('processor() refuses', () => {
  test.each([
    ['null', null],
    ['an object', {}],
    ['an address', 'postgres://'],
  ])('%s for a boss', (_what, boss) => {
    expect(() => processor({ '*': () => {} }, { boss: boss as never })).toThrow(
      'Give the PgBoss of this worker.',
    );
  });
});
