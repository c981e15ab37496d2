// What processor() makes of a job, and what the broker keeps of one that failed. The same for every broker.
import { describe, expect } from '@jest/globals';
import { type HandlerContext, memoryStore, type TransactionPaid } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';
import { asDeployed } from '../setup/as-deployed.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { concurrently } from '../setup/persistent-sender.js';
import { needing } from '../setup/platform.js';
import { until } from '../setup/waiting.js';
import { ATTEMPTS, jobOver, QUEUES } from './queues.js';

const paid = fixtures.transactionPaid;

describe.each(Object.entries(QUEUES))('a job of %s', (_, { program, start, job }) => {
  asDeployed();
  const when = needing(program).test;

  when('reaches its handlers with the context of the receiver, and completes with the outcome', async () => {
    const trial = await start();
    const log = captureLog();
    const event = paid();
    const rawBody = Buffer.from(`\uFEFF${JSON.stringify(event)}`);
    const context = { rawBody, headers: { 'x-account': 'acme' }, keyIndex: 2 };
    await trial.add(event, context);
    const seen: [unknown, HandlerContext][] = [];
    const handle = async (...given: [unknown, HandlerContext]) => void seen.push(given);
    await trial.work(
      { 'transaction.paid': handle, '*': (...given) => handle(...given) },
      { logger: log.logger },
    );
    const done = { ...job(event.id), state: 'completed', outcome: 'processed' };
    expect(await jobOver(trial)).toMatchObject(done);
    expect(seen.map(([given]) => given)).toEqual([event, event]);
    expect(seen[0]?.[1]).toMatchObject({ ...context, attempt: 1, signal: { aborted: false } });
    const line = { msg: 'delivery', outcome: 'processed', eventId: event.id, attempt: 1 };
    expect(log.lines).toMatchObject([line]);
  });

  when('that fails is retried with the next attempt number until a handler resolves', async () => {
    const trial = await start();
    await trial.add(paid());
    const attempts: number[] = [];
    const handle = async (_event: unknown, { attempt }: HandlerContext) => {
      attempts.push(attempt);
      if (attempt < ATTEMPTS) throw new TypeError('the database is down');
    };
    await trial.work({ '*': handle }, { logger: false });
    expect(await jobOver(trial)).toMatchObject({ state: 'completed', attempts: ATTEMPTS });
    expect(attempts).toEqual([1, 2, 3]);
  });

  when('that fails names the handler, the kind of error and its place, and never its message', async () => {
    const trial = await start();
    await trial.add(paid({ payload: { customer: { name: 'Secret Customer' } } }));
    const handle = async ({ payload }: TransactionPaid) => {
      throw Object.assign(new RangeError(`card of ${payload.customer?.name}`), { code: 'ECONNREFUSED' });
    };
    const log = captureLog();
    await trial.work({ 'transaction.paid': handle, '*': async () => {} }, { logger: log.logger });
    const { state, attempts, error, rest } = await jobOver(trial);
    expect([state, attempts]).toEqual(['failed', ATTEMPTS]);
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /^HANDLER_FAILED: handle: RangeError ECONNREFUSED at processor\.test\.ts:\d+$/,
      ),
      stack: expect.stringMatching(/^HandlerError: HANDLER_FAILED: .*\n {4}at .*processor\.test\.ts:\d+:\d+/),
    });
    expect(JSON.stringify(rest) + log.text.join()).not.toContain('Secret');
  });

  when(
    'has one effect for each event, though it came twice and the queue forgets what is done',
    async () => {
      const trial = await start();
      const { hooks, post } = await startEndpoint({ handlers: {}, store: false, logger: false });
      hooks.on('*', trial.pass);
      const store = memoryStore();
      const effects: string[] = [];
      const handlers = { 'transaction.paid': async ({ id }: TransactionPaid) => void effects.push(id) };
      for (let worker = 0; worker < 3; worker += 1) await trial.work(handlers, { store, logger: false }, 10);
      const events = Array.from({ length: 300 }, () => paid());
      const statuses: number[] = [];
      await concurrently([...events, ...events], 16, async (event) => {
        statuses.push((await post(delivery(event))).status);
        if (statuses.length % 50 === 0 && statuses.length < 600) await trial.forget();
      });
      await until(async () => (await trial.jobs()).every(({ state }) => state === 'completed'), 60_000);
      expect(statuses).toEqual(Array(600).fill(200));
      expect(effects).toHaveLength(300);
      expect(new Set(effects)).toEqual(new Set(events.map(({ id }) => id)));
      // Of the jobs since the queue last forgot some.
      expect(new Set((await trial.jobs()).map(({ attempts }) => attempts))).toEqual(new Set([1]));
    },
    120_000,
  );
});
