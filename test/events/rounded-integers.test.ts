// Integers beyond 2^53, which JSON.parse rounds: processed as before, and named once for each field and process.
import { describe, expect, jest, test } from '@jest/globals';
import type * as Door from 'payment-webhooks';
import { memoryDeadLetters } from 'payment-webhooks';
import type * as Queues from 'payment-webhooks/queues';
import type { Job } from 'payment-webhooks/queues';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY, receivable } from '../setup/delivery.js';

/** The digits stay as they are written: JSON.stringify would write the rounded ones. */
function withDigits(id: string, { name = 'transaction.paid', status = '1', metadata = '1' } = {}) {
  const event = fixtures.transactionPaid({ payload: { metadata: { order: 'METADATA' } } });
  const { id: eventId, sandbox, payload } = event;
  const parts = { ...payload, transaction: { ...payload.transaction, status: 'STATUS' } };
  const text = JSON.stringify({
    ...{ id: eventId, event_name: name, sandbox },
    payload: { ...parts, payment_method: { ...payload.payment_method, id: 'ID' } },
  });
  return text.replace('"ID"', id).replace('"STATUS"', status).replace('"METADATA"', metadata);
}

/** A process of its own, as far as what the package remembers goes. */
async function freshProcess(use: (door: typeof Door, queues: typeof Queues) => Promise<void>) {
  await jest.isolateModulesAsync(async () =>
    use(await import('payment-webhooks'), await import('payment-webhooks/queues')),
  );
}

const BEYOND = '9007199254740993';
const rounded = ({ lines }: ReturnType<typeof captureLog>) =>
  lines
    .filter(({ msg }) => String(msg).startsWith('JavaScript has rounded'))
    .map(({ level, issues, eventName }) => ({ level, issues, eventName }));
const lineOf = (path: string, eventName = 'transaction.paid') => ({
  level: 40,
  issues: [{ path, message: 'expected an integer below 2^53' }],
  eventName,
});

describe('an integer beyond 2^53', () => {
  test('is processed, and named once for each field, whichever receiver meets it', async () => {
    await freshProcess(async ({ receiver }) => {
      const log = captureLog();
      const read: unknown[] = [];
      const options = { privateKey: KEY, logger: log.logger };
      const [one, another] = [receiver(options), receiver(options)];
      for (const hooks of [one, another])
        hooks.on('transaction.paid', ({ payload }, { rawBody }) => {
          const [exact] = /(?<="id":)\d{16,}/.exec(String(rawBody)) ?? [];
          read.push([payload.payment_method?.id, exact]);
        });
      for (const hooks of [one, one, another])
        expect(await hooks.receive(receivable(withDigits(BEYOND)))).toMatchObject({ status: 200 });
      expect(read).toEqual(Array(3).fill([9_007_199_254_740_992, BEYOND]));
      expect(rounded(log)).toEqual([lineOf('payload.payment_method.id')]);

      const both = withDigits(BEYOND, { status: '-36893488147419103233' });
      expect(await another.receive(receivable(both))).toMatchObject({ status: 200 });
      expect(rounded(log).slice(1)).toEqual([lineOf('payload.transaction.status')]);
      expect(log.text.join()).not.toContain('900719925474099');
    });
  });

  test('is named of a job, in the process of the worker', async () => {
    const jobs: Job[] = [];
    await freshProcess(async ({ receiver }, { enqueue }) => {
      const hooks = receiver({ privateKey: KEY, logger: false });
      hooks.on(
        '*',
        enqueue(async (job) => void jobs.push(job)),
      );
      await hooks.receive(receivable(withDigits(BEYOND)));
    });
    await freshProcess(async (_, { processor }) => {
      const log = captureLog();
      const work = processor({ '*': () => undefined }, { logger: log.logger });
      expect(await work(jobs[0]?.data, { queue: 'webhooks' })).toMatchObject({ outcome: 'processed' });
      expect(rounded(log)).toEqual([lineOf('payload.payment_method.id')]);
    });
  });

  test('is named of a replayed letter, in the process that replays it', async () => {
    const deadLetters = memoryDeadLetters();
    await freshProcess(async ({ receiver }) => {
      const hooks = receiver({ privateKey: KEY, logger: false, deadLetters });
      hooks.on('*', () => Promise.reject(new Error('down')));
      expect(await hooks.receive(receivable(withDigits(BEYOND)))).toMatchObject({ status: 500 });
    });
    await freshProcess(async ({ receiver }) => {
      const log = captureLog();
      const hooks = receiver({ privateKey: KEY, logger: log.logger, deadLetters });
      hooks.on('*', () => undefined);
      expect(await hooks.deadLetters?.replay()).toMatchObject({ processed: 1 });
      expect(rounded(log)).toEqual([lineOf('payload.payment_method.id')]);
    });
  });

  test.each([
    ['whose handler fails', {}, 500],
    ['that is not declared', { name: 'transaction.settled' }, 200],
  ] as const)(
    'is named of an event %s',
    async (_, { name = 'transaction.paid' }: { name?: string }, status) => {
      await freshProcess(async ({ receiver }) => {
        const log = captureLog();
        const hooks = receiver({ privateKey: KEY, logger: log.logger });
        hooks.on('*', () => Promise.reject(new Error('down')));
        expect(await hooks.receive(receivable(withDigits(BEYOND, { name })))).toMatchObject({ status });
        expect(rounded(log)).toEqual([lineOf('payload.payment_method.id', name)]);
      });
    },
  );

  test('is not looked for in metadata, and smaller ones are not named', async () => {
    await freshProcess(async ({ receiver }) => {
      const log = captureLog();
      const hooks = receiver({ privateKey: KEY, logger: log.logger });
      const digits = ['9007199254740991', '-9007199254740991', '0', '12.0', '1e15', 'null'];
      for (const id of digits)
        expect(await hooks.receive(receivable(withDigits(id, { metadata: BEYOND })))).toMatchObject({
          status: 200,
        });
      expect(rounded(log)).toEqual([]);
    });
  });
});
