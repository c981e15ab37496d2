// With `drift: 'handle'` the handlers of an event run also when its payload does not fit, and are told where.
import { describe, expect, test } from '@jest/globals';
import {
  type EventSchemas,
  type Handler,
  type HandlerContext,
  type Issue,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
  type TransactionPaid,
} from 'payment-webhooks';
import { constructEvent } from 'payment-webhooks/verify';
import * as v from 'valibot';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY } from '../setup/delivery.js';
import { ignored, processed, startEndpoint } from '../setup/endpoint.js';
import { faultyDeadLetters, lettersOf } from '../setup/faulty-dead-letters.js';
import { faultyStore } from '../setup/faulty-store.js';
import { raise } from '../setup/raise.js';

const AMOUNT = [{ path: 'payload.transaction.amount', message: expect.stringContaining('expected string') }];

/** The amount is a number, which no merchant may round. */
function drifted() {
  const event = fixtures.transactionPaid();
  Object.assign(event.payload.transaction, { amount: 149.9 });
  return event;
}

const refundOf = (payload: object) => fixtures.event('refund.succeeded', payload);

function start<const Events extends EventSchemas = {}>(options: ReceiverOptions<Events> = {}) {
  return startEndpoint<Events>({ drift: 'handle', ...options }, { framework: 'node:http' });
}

/** What is answered to the event, and each payload that a handler was given, with its issues. */
async function handle(event: object, options: ReceiverOptions<EventSchemas> = {}) {
  const seen: [payload: unknown, issues: readonly Issue[] | undefined][] = [];
  const handler = ({ payload }: { payload: unknown }, { issues }: HandlerContext) =>
    void seen.push([payload, issues]);
  const endpoint = await start({ ...options, handlers: { '*': handler } } as ReceiverOptions);
  return { reply: await endpoint.post(delivery(event)), seen };
}

describe('an event that does not fit', () => {
  test('reaches every handler that its name has, and onInvalid is not called', async () => {
    const calls: unknown[] = [];
    const endpoint = await start({ handlers: {} });
    const note = (name: string) => (event: unknown, context: HandlerContext) =>
      void calls.push([name, event, context.issues]);
    endpoint.hooks
      .on('transaction.paid', note('name'))
      .on('transaction.*', note('resource'))
      .on('*', note('all'))
      .onInvalid(note('invalid'));
    const event = drifted();
    expect(await endpoint.post(delivery(event))).toMatchObject(processed);
    expect(calls).toEqual([
      ['name', event, AMOUNT],
      ['resource', event, AMOUNT],
      ['all', event, AMOUNT],
    ]);
  });

  test('gives its handlers issues that none of them can change for another', async () => {
    const seen: unknown[] = [];
    const endpoint = await start({ handlers: {} });
    endpoint.hooks
      .on('*', (_event, { issues }) => void (issues as unknown[] | undefined)?.pop(), { name: 'careless' })
      .on('*', (_event, { issues }) => void seen.push(issues), { name: 'careful' });
    expect(await endpoint.post(delivery(drifted()))).toMatchObject({ status: 500 });
    expect(seen).toEqual([AMOUNT]);
  });

  test('is in a copy of the context too', async () => {
    const copies: HandlerContext[] = [];
    const handler: Handler = (_event, context) => copies.push({ ...context });
    const endpoint = await start({ handlers: { '*': handler } });
    await endpoint.post(delivery(drifted()));
    await endpoint.post(delivery());
    expect(copies.map(({ issues }) => issues)).toEqual([AMOUNT, undefined]);
    expect(copies[1]).not.toHaveProperty('issues');
  });

  test.each([
    ['no transaction', undefined, ['']],
    ['no id of the transaction', { id: undefined }, ['.id']],
    [
      'null for all that a merchant acts on',
      { id: null, order_id: null, status: null, amount: null, currency: null },
      ['.id', '.amount', '.status', '.currency', '.order_id'],
    ],
  ])('is handled even with %s', async (_, changes, paths) => {
    const { payload, ...event } = fixtures.transactionPaid();
    const transaction = changes && { ...payload.transaction, ...changes };
    const { reply, seen } = await handle({ ...event, payload: { ...payload, transaction } });
    expect(reply).toMatchObject(processed);
    const issues = paths.map((path) => expect.objectContaining({ path: `payload.transaction${path}` }));
    expect(seen).toEqual([[expect.anything(), issues]]);
  });

  test('comes as it came: no transformation or default of its schema is applied', async () => {
    const schema = z.object({
      amount: z.string().transform(Number),
      at: z.coerce.date(),
      note: z.string().default('-'),
    });
    const payload = { amount: '7.50', at: 'no date', extra: [] };
    const { reply, seen } = await handle(refundOf(payload), { events: { 'refund.succeeded': schema } });
    expect(reply).toMatchObject(processed);
    expect(seen).toEqual([[payload, [{ path: 'payload.at', message: expect.any(String) }]]]);
  });

  test('is handled as well where its schema validates asynchronously', async () => {
    const schema = v.pipeAsync(
      v.looseObject({ refund: v.string() }),
      v.checkAsync(async () => true),
    );
    const payload = { refund: 7 };
    const { reply, seen } = await handle(refundOf(payload), { events: { 'refund.succeeded': schema } });
    expect(reply).toMatchObject(processed);
    expect(seen).toEqual([[payload, [{ path: 'payload.refund', message: 'expected string' }]]]);
  });

  test('and that no handler wants is ignored, like one that fits', async () => {
    const deadLetters = faultyDeadLetters();
    const endpoint = await start({ deadLetters, handlers: {} });
    expect(await endpoint.post(delivery(drifted()))).toMatchObject(ignored);
    expect(deadLetters.calls).toEqual([]);
  });
});

describe('a handler that fails because of it', () => {
  const trim = ({ payload }: TransactionPaid) => payload.transaction.amount.trim();
  const failing: ReceiverOptions = { handlers: { 'transaction.paid': trim } };

  test('is answered 500 without the issues, and the log and the record have them', async () => {
    const endpoint = await start(failing);
    const { status, body } = await endpoint.post(delivery(drifted()));
    expect([status, body]).toEqual([500, { code: 'HANDLER_FAILED', message: expect.any(String) }]);
    expect(endpoint.records).toMatchObject([{ code: 'HANDLER_FAILED', issues: AMOUNT }]);
    expect(endpoint.log.lines.at(-1)).toMatchObject({ level: 50, code: 'HANDLER_FAILED', issues: AMOUNT });
  });

  test('is as one whose serial function fails: the event is kept, and answered 500', async () => {
    const endpoint = await start({ deadLetters: memoryDeadLetters(), handlers: {} });
    const serial = ({ payload }: TransactionPaid) => payload.transaction.order_id.trim();
    endpoint.hooks.on('transaction.paid', () => {}, { serial });
    const event = fixtures.transactionPaid();
    Object.assign(event.payload.transaction, { order_id: 7 });
    expect(await endpoint.post(delivery(event))).toMatchObject({ status: 500 });
    expect(await lettersOf(endpoint.hooks)).toMatchObject([
      { reason: 'failed', issues: [{ path: 'payload.transaction.order_id' }] },
    ]);
  });

  test('leaves a letter that says where the payload does not fit', async () => {
    const endpoint = await start({ ...failing, deadLetters: memoryDeadLetters() });
    expect(await endpoint.post(delivery(drifted()))).toMatchObject({ status: 500 });
    expect(await lettersOf(endpoint.hooks)).toMatchObject([
      { reason: 'failed', code: 'HANDLER_FAILED', issues: AMOUNT },
    ]);
  });
});

describe('what is no drift is answered as ever', () => {
  test('a body that is no event', async () => {
    const endpoint = await start();
    expect(await endpoint.post(delivery({ id: 'e-1' }))).toMatchObject({ status: 422 });
    expect(endpoint.records).toMatchObject([{ code: 'EVENT_INVALID', issues: expect.any(Array) }]);
    expect(endpoint.handled).toEqual([]);
  });

  test('an event that nobody declared', async () => {
    const endpoint = await start({ deadLetters: memoryDeadLetters() });
    expect(await endpoint.post(delivery(refundOf({})))).toMatchObject({ body: { outcome: 'kept' } });
  });

  test('a schema that throws', async () => {
    const schema = z.object({}).refine(() => raise(new Error('of the schema')));
    const endpoint = await start({ events: { 'refund.succeeded': schema } });
    expect(await endpoint.post(delivery(refundOf({})))).toMatchObject({ status: 500 });
    expect(endpoint.handled).toEqual([]);
  });

  test('constructEvent() has no such option, and throws', () => {
    const { body, headers } = delivery(drifted());
    const signature = headers['x-service-signature'];
    expect(() => constructEvent({ rawBody: body, signature, privateKey: KEY })).toThrow(
      expect.objectContaining({ code: 'EVENT_INVALID', issues: AMOUNT }),
    );
  });
});

test.each([
  ['stays under the same schema', 'keep', { stillInvalid: 1, processed: 0 }],
  ["is handled by a replay with drift: 'handle'", 'handle', { stillInvalid: 0, processed: 1 }],
] as const)('a letter that was kept because it did not fit %s', async (_, drift, counts) => {
  const common = { deadLetters: memoryDeadLetters(), store: memoryStore() };
  const yesterday = await start({ ...common, drift: 'keep' });
  const event = drifted();
  const sent = delivery(event);
  expect(await yesterday.post(sent)).toMatchObject({ status: 200, body: { outcome: 'kept' } });

  const seen: unknown[] = [];
  const handler: Handler = (event, { issues, rawBody, attempt }) =>
    seen.push([event, issues, rawBody, attempt]);
  const { hooks, log, post } = await start({ ...common, drift, handlers: { '*': handler } });
  const dry = await hooks.deadLetters?.replay({ dryRun: true });
  expect(dry).toMatchObject({ ...counts, events: [{ issues: [{ path: AMOUNT[0]?.path, count: 1 }] }] });
  expect(seen).toEqual([]);
  expect(await hooks.deadLetters?.replay()).toMatchObject(counts);
  expect(seen).toEqual(counts.processed === 1 ? [[event, AMOUNT, sent.body, 2]] : []);
  expect(await lettersOf(hooks)).toHaveLength(counts.stillInvalid);
  expect(log.lines.at(-1)).toMatchObject({ msg: 'replay', issues: AMOUNT });
  const again = counts.processed === 1 ? 'duplicate' : 'kept';
  expect(await post(sent)).toMatchObject({ status: 200, body: { outcome: again } });
});

test('what a store adds to the context under the same name replaces no issues', async () => {
  const context = { issues: 'of the store', tenant: 'acme' };
  const forHandler = () => ({ context, end: () => ({ wrote: false }) });
  const store = faultyStore({}, { more: { forHandler } });
  const seen: unknown[] = [];
  const handler = (_event: unknown, context: HandlerContext & { tenant?: unknown }) =>
    seen.push(context.issues, context.tenant);
  const endpoint = await start({ store, handlers: { '*': handler } });
  await endpoint.post();
  await endpoint.post(delivery(drifted()));
  expect(seen).toEqual([undefined, 'acme', AMOUNT, 'acme']);
});
