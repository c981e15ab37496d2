// When an event is kept, what its delivery is answered, and what a letter holds.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { memoryDeadLetters, memoryStore, type ReceiverOptions } from 'payment-webhooks';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { CREDENTIALS, delivery, KEY, receivable, type SentDelivery } from '../setup/delivery.js';
import {
  duplicate,
  failed,
  frameworks,
  ignored,
  kept,
  startEndpoint,
  timedOut,
  unavailable,
} from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { answers, type Fault, faultyStore, hangs, rejects, throws } from '../setup/faulty-store.js';
import { down } from '../setup/raise.js';

const comeBack = { ...unavailable, headers: { 'retry-after': expect.stringMatching(/^\d+$/) } };

const undeclared = () => fixtures.event('refund.succeeded', { refund: { id: 'r-1' } });
const drifted = () => ({ ...fixtures.transactionPaid(), payload: { metadata: [] } });

function start(options: ReceiverOptions = {}, framework: (typeof frameworks)[number] = 'node:http') {
  return startEndpoint({ deadLetters: memoryDeadLetters(), ...options }, { framework });
}

describe.each(frameworks)('on %s', (framework) => {
  test('an undeclared event is kept, and answered 200', async () => {
    const endpoint = await start({}, framework);
    const event = undeclared();
    expect(await endpoint.post(delivery(event))).toMatchObject(kept);
    expect(await endpoint.letters()).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        keyId: createHash('sha256').update(KEY).digest('hex').slice(0, 12),
        keptAt: expect.any(Date),
        ...{ reason: 'unknown', eventName: 'refund.succeeded', eventId: event.id, namespace: 'default' },
        ...{ sandbox: false, attempts: 1, code: undefined, issues: [] },
      },
    ]);
    expect(endpoint.records).toMatchObject([
      { status: 200, outcome: 'kept', deadLetter: 'unknown', declared: false, attempt: 1 },
    ]);
  });

  test('an event whose payload does not fit is kept, and answered 200', async () => {
    const endpoint = await start({}, framework);
    expect(await endpoint.post(delivery(drifted()))).toMatchObject(kept);
    const [letter] = await endpoint.letters();
    expect(letter).toMatchObject({ reason: 'invalid', code: 'EVENT_INVALID', eventName: 'transaction.paid' });
    expect(letter?.issues.map(({ path }) => path)).toContain('payload.transaction');
    expect(endpoint.records).toMatchObject([{ status: 200, outcome: 'kept', deadLetter: 'invalid' }]);
    expect(endpoint.handled).toEqual([]);
  });

  test('an event whose handler fails is kept, and answered 500', async () => {
    const endpoint = await start({ handlers: { '*': down } }, framework);
    expect(await endpoint.post()).toMatchObject(failed);
    const letter = { reason: 'failed', code: 'HANDLER_FAILED', attempts: 1 };
    expect(await endpoint.letters()).toMatchObject([letter]);
    expect(endpoint.records).toMatchObject([{ status: 500, code: 'HANDLER_FAILED', deadLetter: 'failed' }]);
  });

  test('other bytes of an event that was processed are kept, and answered as a duplicate', async () => {
    const endpoint = await start({}, framework);
    const event = fixtures.transactionPaid();
    await endpoint.post(delivery(event));
    const other = delivery({ ...event, note: 'rendered again' });
    expect(await endpoint.answers(other, other)).toEqual(['200 duplicate', '200 duplicate']);
    const letter = { reason: 'conflict', eventId: event.id, attempts: 2 };
    expect(await endpoint.letters()).toMatchObject([letter]);
    const record = { outcome: 'duplicate', conflict: true, deadLetter: 'conflict' };
    expect(endpoint.records.at(-1)).toMatchObject(record);
    expect(endpoint.handled).toEqual([event.id]);
  });
});

describe('nothing is kept', () => {
  test('of an event that is processed, and the store of letters is not called before a duplicate', async () => {
    const deadLetters = faultyDeadLetters();
    const endpoint = await start({ deadLetters });
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(deadLetters.calls).toEqual([]);
    expect(await endpoint.post(sent)).toMatchObject(duplicate);
    expect(deadLetters.calls).toEqual(['remove']);
    expect(endpoint.records.filter((record) => 'deadLetter' in record)).toEqual([]);
  });

  test('of an undeclared event that another deployment has processed', async () => {
    const store = memoryStore();
    const deadLetters = faultyDeadLetters();
    const sent = delivery(undeclared());
    const events = { 'refund.succeeded': z.looseObject({}) };
    await (await startEndpoint({ store, events })).post(sent);
    expect(await (await start({ store, deadLetters })).post(sent)).toMatchObject(duplicate);
    expect(deadLetters.calls).toEqual(['remove']);
  });

  test.each<[string, ReceiverOptions, SentDelivery, object]>([
    ['forged', {}, delivery(undeclared(), 'pri_other'), { status: 401 }],
    ['no JSON', {}, delivery('{'), { status: 400 }],
    ['not for this mode', { sandbox: 'ignore' }, delivery({ ...undeclared(), sandbox: true }), ignored],
    ['declared and wanted by no handler', { handlers: {} }, delivery(), ignored],
  ])('of a delivery that is %s', async (_, options, sent, answer) => {
    const deadLetters = faultyDeadLetters();
    expect(await (await start({ deadLetters, ...options })).post(sent)).toMatchObject(answer);
    expect(deadLetters.calls).toEqual([]);
  });

  test('of an event that failed here, if the release shows that another delivery completed it', async () => {
    const store = { ...faultyStore({ release: answers({ value: false }) }), completedWith: () => 'any' };
    const endpoint = await start({ store, handlers: { '*': down } });
    expect(await endpoint.post()).toMatchObject(failed);
    expect(await endpoint.letters()).toEqual([]);
  });

  test('without the option: the answers are those that they were', async () => {
    const endpoint = await startEndpoint();
    expect(endpoint.hooks.deadLetters).toBeUndefined();
    expect(await endpoint.answers(undeclared(), drifted())).toEqual(['200 ignored', '422 EVENT_INVALID']);
    expect(endpoint.records.filter((record) => 'deadLetter' in record)).toEqual([]);
  });
});

describe('a handler comes before keeping', () => {
  test.each([
    ['undeclared events', undeclared(), { status: 200, body: { outcome: 'processed' } }],
    ['events that do not fit', drifted(), ignored],
  ])('of %s', async (_, event, answer) => {
    const deadLetters = faultyDeadLetters();
    const endpoint = await start({ deadLetters });
    endpoint.hooks.onUnknown(() => {}).onInvalid(() => {});
    expect(await endpoint.post(delivery(event))).toMatchObject(answer);
    expect(deadLetters.calls).toEqual([]);
  });

  test('and when it fails, the event is kept as failed', async () => {
    const endpoint = await start();
    endpoint.hooks.onUnknown(down).onInvalid(down);
    const answers = await endpoint.answers(undeclared(), drifted());
    expect(answers).toEqual(['500 HANDLER_FAILED', '500 HANDLER_FAILED']);
    expect(await endpoint.letters()).toMatchObject([{ reason: 'failed' }, { reason: 'failed' }]);
  });
});

test.each<[string, () => never | Promise<never>, { body: { code: string } }]>([
  ['throws', down, failed],
  ['never ends', () => new Promise(() => {}), timedOut],
])('an event whose schema %s is kept as failed', async (_, validate, answer) => {
  const events = { 'refund.succeeded': { '~standard': { version: 1, vendor: 'test', validate } } } as const;
  const endpoint = await startEndpoint({ deadLetters: memoryDeadLetters(), events, storeTimeout: 50 });
  const event = undeclared();
  expect(await endpoint.post(delivery(event))).toMatchObject(answer);
  const letter = { reason: 'failed', code: answer.body.code, eventId: event.id };
  expect(await endpoint.letters()).toMatchObject([letter]);
});

describe('when the store of letters', () => {
  const started = (keep: Fault, options: ReceiverOptions = {}) =>
    start({ deadLetters: faultyDeadLetters({ keep }), storeTimeout: 50, ...options });

  test.each([
    ['throws', throws],
    ['rejects', rejects],
    ['hangs for longer than storeTimeout', hangs],
    ['answers nothing', answers({ value: undefined })],
    ['answers with an empty id', answers({ value: '' })],
    ['answers with a number', answers({ value: 5 })],
  ])('%s, what it should have kept is answered 503', async (_, keep) => {
    for (const event of [undeclared(), drifted()]) {
      const endpoint = await started(keep);
      expect(await endpoint.post(delivery(event))).toMatchObject(comeBack);
      expect(endpoint.records).toMatchObject([{ code: 'STORE_UNAVAILABLE', attempt: 1 }]);
      expect(endpoint.records[0]).not.toHaveProperty('deadLetter');
      const line = { level: 50, msg: expect.stringMatching(/^the event was not kept as a dead letter: /) };
      expect(endpoint.log.lines).toContainEqual(expect.objectContaining(line));
    }
    const failing = await started(keep, { handlers: { '*': down } });
    expect(await failing.post()).toMatchObject(comeBack);
    const conflicting = await started(keep);
    const event = fixtures.transactionPaid();
    await conflicting.post(delivery(event));
    expect(await conflicting.post(delivery({ ...event, note: 1 }))).toMatchObject(comeBack);
  });

  test('is there again, the retry is kept, and its claim was not left behind', async () => {
    const deadLetters = faultyDeadLetters({ keep: rejects });
    const endpoint = await start({ deadLetters });
    const sent = delivery(undeclared());
    expect(await endpoint.post(sent)).toMatchObject(comeBack);
    deadLetters.faults.keep = undefined;
    expect(await endpoint.post(sent)).toMatchObject(kept);
    expect(await endpoint.letters()).toMatchObject([{ attempts: 2 }]);
  });
});

test('when the store of event ids is down nothing is kept, and the answer is 503', async () => {
  const deadLetters = faultyDeadLetters();
  const endpoint = await start({ deadLetters, store: faultyStore({ claim: rejects }) });
  expect(await endpoint.post(delivery(undeclared()))).toMatchObject(comeBack);
  expect(deadLetters.calls).toEqual([]);
});

describe('what a letter holds', () => {
  test('are the bytes as they were signed, and no live reference to them', async () => {
    const { hooks, letters } = await start();
    const { rawBody, headers } = receivable(undeclared());
    const reused = Buffer.from(rawBody);
    await hooks.receive({ rawBody: reused, headers });
    reused.fill(0);
    const [letter] = await letters();
    expect(await hooks.deadLetters?.read(letter?.id ?? '')).toMatchObject({ status: 'found', rawBody });
  });

  test('are the content type, the user agent, ids of requests and traces, and the headers that are named', async () => {
    const deadLetters = memoryDeadLetters();
    const keepHeaders = ['X-Tenant', 'x-who', 'x-proof'];
    const endpoint = await start({ deadLetters, keepHeaders });
    const { body, headers } = delivery(undeclared());
    const ids = { 'x-request-id': 'r-1', traceparent: '00-1-2-01', 'x-amzn-trace-id': 'Root=1' };
    const known = { 'user-agent': 'service/1', ...ids, 'x-tenant': 'acme' };
    await endpoint.post({ body, headers: { ...headers, ...CREDENTIALS, ...known, 'x-other': 'dropped' } });
    const [letter] = await endpoint.letters();
    const content = await deadLetters.read(letter?.id ?? '');
    expect(content).toMatchObject({ status: 'found', keyIndex: 0 });
    expect(content).toHaveProperty('headers', { 'content-type': headers['content-type'], ...known });
    expect(JSON.stringify(content)).not.toMatch(/s3cret|[0-9a-f]{64}/);
  });

  test('says which of the keys had signed it', async () => {
    const deadLetters = memoryDeadLetters();
    const endpoint = await start({ deadLetters, privateKey: ['pri_other_key_of_the_account', KEY] });
    await endpoint.post(delivery(undeclared()));
    const [letter] = await endpoint.letters();
    expect(await deadLetters.read(letter?.id ?? '')).toMatchObject({ keyIndex: 1 });
  });
});

test('a store of letters is called in the async context of the delivery', async () => {
  const requestId = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const keep: Fault = (real) => {
    seen.push(requestId.getStore());
    return real();
  };
  const { hooks } = await start({ deadLetters: faultyDeadLetters({ keep }) });
  const deliver = (id: string) => hooks.receive(receivable({ ...undeclared(), id }));
  await Promise.all(['first', 'second'].map((id) => requestId.run(id, () => deliver(id))));
  expect(seen).toEqual(['first', 'second']);
});

describe('the log', () => {
  test('warns once of an undeclared name, and says how to get its events back', async () => {
    const endpoint = await start();
    await endpoint.answers(undeclared(), undeclared());
    const warning = { msg: expect.stringMatching(/kept as a dead letter: declare it .* and replay it$/) };
    expect(endpoint.log.lines.filter(({ level }) => level === 40)).toMatchObject([warning]);
    const lines = endpoint.log.lines.filter(({ msg }) => msg === 'delivery');
    expect(lines).toMatchObject([{ level: 30, outcome: 'kept', deadLetter: 'unknown' }, { level: 30 }]);
  });

  test('calls a payload that does not fit an error, with its issues', async () => {
    const endpoint = await start();
    await endpoint.post(delivery(drifted()));
    expect(endpoint.log.lines).toMatchObject([
      { level: 50, msg: 'delivery', outcome: 'kept', deadLetter: 'invalid', issues: expect.any(Array) },
    ]);
  });
});
