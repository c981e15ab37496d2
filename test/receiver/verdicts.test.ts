// What a handler may say besides "done" and "failed", and what follows for a delivery and for a replay.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type Handler,
  memoryDeadLetters,
  NonRetriableError,
  type ReceiverOptions,
  RetryAfterError,
  type TransactionPaid,
} from 'payment-webhooks';
import { postgresDeadLetters, postgresStore, type WithOnce } from 'payment-webhooks/stores/postgres';
import { Pool, type PoolClient } from 'pg';
import { fixtures } from '../../src/fixtures/fixture.js';
import { asDeployed } from '../setup/as-deployed.js';
import { delivery, receivable } from '../setup/delivery.js';
import {
  duplicate,
  type Endpoint,
  type Framework,
  failed,
  frameworks,
  ignored,
  kept,
  processed,
  startEndpoint,
} from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { rejects } from '../setup/faulty-store.js';
import { needing } from '../setup/platform.js';
import { raise } from '../setup/raise.js';
import { until } from '../setup/waiting.js';

const SECRET = 'ada@example.com has no order yet';
const [INFO, WARN, ERROR] = [30, 40, 50];

const done: Handler = () => {};
const later: Handler = () => raise(new RetryAfterError('45s', SECRET));
const never: Handler = async () => raise(new NonRetriableError(SECRET));
const failing: Handler = () => Promise.reject(new Error(SECRET));

const retryLater = (seconds: number) => ({
  status: 503,
  headers: { 'retry-after': String(seconds) },
  body: { message: 'The event cannot be processed yet. Please deliver it again.', code: 'RETRY_LATER' },
});

/** An endpoint whose handlers are called a, b, c …, by the name of their order. */
async function endpointOf(
  handlers: readonly Handler[],
  options: ReceiverOptions = {},
  framework: Framework = 'Express 5',
) {
  const runs: string[] = [];
  const endpoint = await startEndpoint({ handlers: {}, ...options }, { framework });
  handlers.forEach((handler, index) => {
    const name = 'abc'.charAt(index);
    endpoint.hooks.on('transaction.paid', (...given) => runs.push(name) && handler(...given), { name });
  });
  return { ...endpoint, runs };
}

/** The handler for the first attempts; from then on all is well. */
const first = (handler: Handler, attempts = 1): Handler => {
  return (event, context) => (context.attempt > attempts ? undefined : handler(event, context));
};
const levelsOf = ({ log }: Endpoint) => log.lines.map(({ level }) => level);
const lineOf = ({ log }: Endpoint) => log.lines.find(({ msg }) => msg === 'delivery');

describe.each(frameworks)('on %s', (framework) => {
  test('RetryAfterError: 503 with Retry-After, nothing above info, and the next delivery runs at once', async () => {
    const endpoint = await endpointOf([first(later)], {}, framework);
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject(retryLater(45));
    expect(Math.max(...levelsOf(endpoint).map(Number))).toBe(INFO);
    expect(endpoint.records).toMatchObject([
      { status: 503, code: 'RETRY_LATER', verdict: 'later', handlers: [{ status: 'rejected' }] },
    ]);
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(endpoint.records[1]).toMatchObject({ attempt: 2 });
    expect(endpoint.records[1]).not.toHaveProperty('verdict');
  });

  test('NonRetriableError: 200 ignored, a line at error, and no second run', async () => {
    const endpoint = await endpointOf([never], {}, framework);
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject(ignored);
    expect(lineOf(endpoint)).toMatchObject({
      level: ERROR,
      outcome: 'ignored',
      verdict: 'never',
      hint: 'A handler threw NonRetriableError, and nothing keeps the event. To keep such events, use the option deadLetters.',
    });
    expect(endpoint.records).toMatchObject([{ status: 200, outcome: 'ignored', verdict: 'never' }]);
    expect(await endpoint.post(sent)).toMatchObject(duplicate);
    expect(endpoint.runs).toEqual(['a']);
  });

  test('NonRetriableError with dead letters: 200 kept, and a replay can run it', async () => {
    const endpoint = await endpointOf([first(never, 2)], { deadLetters: memoryDeadLetters() }, framework);
    expect(await endpoint.post()).toMatchObject(kept);
    expect(await endpoint.letters()).toMatchObject([{ reason: 'rejected', attempts: 1 }]);
    expect(lineOf(endpoint)).toMatchObject({ level: WARN, outcome: 'kept', deadLetter: 'rejected' });
    expect(endpoint.records).toMatchObject([{ outcome: 'kept', deadLetter: 'rejected', verdict: 'never' }]);

    const report = await endpoint.hooks.deadLetters?.replay();
    expect(report).toMatchObject({ processed: 0, rejected: 1, failed: 0 });
    expect(await endpoint.letters()).toMatchObject([{ reason: 'rejected', attempts: 2 }]);
    expect(await endpoint.hooks.deadLetters?.replay({ reason: 'rejected' })).toMatchObject({ processed: 1 });
    expect(await endpoint.letters()).toEqual([]);
  });
});

describe('RetryAfterError', () => {
  test.each([
    [0, 1],
    [1, 1],
    ['1.2s', 2],
    ['2h', 7_200],
    [new Date(0), 1],
  ] as const)('of %p is a Retry-After of %i seconds', async (retryAfter, seconds) => {
    const endpoint = await endpointOf([() => raise(new RetryAfterError(retryAfter))]);
    expect(await endpoint.post()).toMatchObject(retryLater(seconds));
    const { headers } = await endpoint.hooks.receive(receivable());
    expect(headers['Retry-After']).toBe(String(seconds));
  });

  test('is kept as a failed letter, of which a replay says that it has to wait', async () => {
    const endpoint = await endpointOf([later], { deadLetters: memoryDeadLetters() });
    expect(await endpoint.post()).toMatchObject(retryLater(45));
    expect(await endpoint.letters()).toMatchObject([{ reason: 'failed', code: 'RETRY_LATER' }]);
    expect(await endpoint.hooks.deadLetters?.replay()).toMatchObject({ later: 1, failed: 0 });
    expect(await endpoint.letters()).toMatchObject([{ code: 'RETRY_LATER', attempts: 2 }]);
    expect(Math.max(...levelsOf(endpoint).map(Number))).toBe(INFO);
  });

  test('after the deadline is a line at info', async () => {
    const handler = () => pause(60).then(() => raise(new RetryAfterError('1s')));
    const endpoint = await endpointOf([handler], { timeout: 20 });
    expect(await endpoint.post()).toMatchObject({ status: 503, body: { code: 'HANDLER_TIMEOUT' } });
    const late = () => endpoint.log.lines.find(({ msg }) => msg === 'handlers settled after the answer');
    await until(() => late() !== undefined);
    expect(late()).toMatchObject({ level: INFO, code: 'RETRY_LATER' });
  });
});

describe('NonRetriableError', () => {
  test('is no acknowledgement while the letter cannot be kept', async () => {
    const deadLetters = faultyDeadLetters({ keep: rejects });
    const endpoint = await endpointOf([never], { deadLetters });
    expect(await endpoint.post()).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
    deadLetters.faults.keep = undefined;
    expect(await endpoint.post()).toMatchObject(kept);
  });

  test('takes the place of a letter that failed before', async () => {
    const handler: Handler = (...given) => (given[1].attempt === 1 ? failing : never)(...given);
    const endpoint = await endpointOf([handler], { deadLetters: memoryDeadLetters() });
    const sent = delivery();
    expect(await endpoint.answers(sent, sent)).toEqual(['500 HANDLER_FAILED', '200 kept']);
    expect(await endpoint.letters()).toMatchObject([{ reason: 'rejected', attempts: 2 }]);
  });
});

test.each<[string, Handler, object]>([
  ['RetryAfterError', later, retryLater(45)],
  ['NonRetriableError', never, ignored],
])('%s works where nothing is remembered', async (_, handler, answered) => {
  const endpoint = await endpointOf([handler], { store: false });
  expect(await endpoint.post()).toMatchObject(answered);
});

describe('several handlers', () => {
  test.each<[string, readonly Handler[], object, readonly string[]]>([
    ['any that failed: failed', [never, later, failing], failed, ['a', 'b', 'c']],
    ['else any that waits: the longest wait', [never, later, done], retryLater(45), ['a', 'b']],
    ['else any that refused: never', [done, never, never], ignored, []],
  ])('%s', async (_, handlers, answered, again) => {
    const endpoint = await endpointOf(handlers);
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject(answered);
    endpoint.runs.length = 0;
    await endpoint.post(sent);
    expect(endpoint.runs).toEqual(again);
  });

  test('that waited for different times: the longest of them', async () => {
    const minute = () => raise(new RetryAfterError('61s'));
    const endpoint = await endpointOf([later, minute, later]);
    expect(await endpoint.post()).toMatchObject(retryLater(61));
  });

  test('that refused it do not run those again that had succeeded', async () => {
    const endpoint = await endpointOf([done, never], { deadLetters: memoryDeadLetters() });
    expect(await endpoint.post()).toMatchObject(kept);
    await endpoint.hooks.deadLetters?.replay();
    expect(endpoint.runs).toEqual(['a', 'b', 'b']);
  });
});

describe('where an app is deployed', () => {
  asDeployed();

  test('no message of either is logged, or sent', async () => {
    const endpoint = await endpointOf([later, never]);
    expect(JSON.stringify(await endpoint.post())).not.toContain('ada@');
    const other = await endpointOf([never]);
    expect(JSON.stringify(await other.post())).not.toContain('ada@');
    expect(endpoint.log.text.join('') + other.log.text.join('')).not.toContain('ada@');
    expect(other.log.text.join('')).toContain('NonRetriableError');
  });
});

test('the log of an ordinary failure says that a handler can wait for its order', async () => {
  const endpoint = await endpointOf([failing]);
  await endpoint.post();
  const hint =
    /^If the handler needs a row that does not exist yet, such as the order, throw new RetryAfterError\('30s'\)/;
  expect(lineOf(endpoint)).toMatchObject({ level: ERROR, hint: expect.stringMatching(hint) });
});

needing('postgres').describe('inside once', () => {
  const pool = new Pool({ connectionString: process.env.TEST_POSTGRES_URL ?? '' });
  const schema = `verdicts_${randomBytes(6).toString('hex')}`;
  const store = postgresStore({ pool, table: `${schema}.webhook_event` });
  const deadLetters = postgresDeadLetters({ pool, table: `${schema}.dead_letter` });

  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${schema}`);
    await pool.query(`CREATE TABLE ${schema}.ledger (event text)`);
    await store.migrate();
    await deadLetters.migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  /** Its first handler writes, and then throws the error inside `once`, if there is one. */
  async function endpointIn(thrown?: Error, options: object = {}, others: readonly Handler[] = []) {
    const endpoint = await startEndpoint({ handlers: {}, store, ...options } as ReceiverOptions);
    const writing = ({ id }: TransactionPaid, { once }: WithOnce<PoolClient>) =>
      once(async (tx) => {
        await tx.query(`INSERT INTO ${schema}.ledger VALUES ($1)`, [id]);
        if (thrown) throw thrown;
      });
    endpoint.hooks.on('transaction.paid', writing as never, { name: 'ledger' });
    for (const handler of others) endpoint.hooks.on('transaction.paid', handler);
    return endpoint;
  }
  const written = async (id: string) =>
    (await pool.query(`SELECT 1 FROM ${schema}.ledger WHERE event = $1`, [id])).rows.length;

  test.each<[string, Error, object]>([
    ['later', new RetryAfterError('45s'), retryLater(45)],
    ['never', new NonRetriableError(), ignored],
  ])('what a handler wrote that says %s is rolled back', async (_, thrown, answered) => {
    const event = fixtures.transactionPaid();
    const endpoint = await endpointIn(thrown);
    expect(await endpoint.post(delivery(event))).toMatchObject(answered);
    expect(await written(event.id)).toBe(0);
  });

  test('an event that is refused counts as done, also for other processes', async () => {
    const sent = delivery(fixtures.transactionPaid());
    await (await endpointIn(new NonRetriableError())).post(sent);
    expect(await (await endpointIn()).post(sent)).toMatchObject(duplicate);
  });

  test('and with dead letters it is kept, and a replay writes', async () => {
    const event = fixtures.transactionPaid();
    const refusing = await endpointIn(new NonRetriableError(), { deadLetters });
    expect(await refusing.post(delivery(event))).toMatchObject(kept);
    expect(await written(event.id)).toBe(0);
    const { hooks } = await endpointIn(undefined, { deadLetters });
    expect(await hooks.deadLetters?.replay({ eventId: event.id })).toMatchObject({ processed: 1 });
    expect(await written(event.id)).toBe(1);
  });

  test('a refusal leaves what another handler has committed', async () => {
    const event = fixtures.transactionPaid();
    const endpoint = await endpointIn(undefined, {}, [never]);
    expect(await endpoint.post(delivery(event))).toMatchObject(ignored);
    expect(await written(event.id)).toBe(1);
    expect(await (await endpointIn()).post(delivery(event))).toMatchObject(duplicate);
  });
});
