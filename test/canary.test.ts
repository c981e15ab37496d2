import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { constructEvent, memoryDeadLetters, type ReceiverOptions } from 'payment-webhooks';
import * as v from 'valibot';
import { z } from 'zod';
import { fixtures } from '../src/fixtures/fixture.js';
import { asDeployed } from './setup/as-deployed.js';
import { delivery, hmac, type SentDelivery } from './setup/delivery.js';
import { type Endpoint, type Reply, startEndpoint } from './setup/endpoint.js';
import { faultyDeadLetters, lettersOf } from './setup/faulty-dead-letters.js';
import { faultyStore } from './setup/faulty-store.js';

asDeployed();

/** A secret of every kind of place has this in it, and nothing that we write may have it. */
const canary = (place: string) => `CHIRP-${place}`;
const KEY = `pri_${canary('key')}`;

/** The canary as text in any case, and as hexadecimal or base64 might show it. */
const SINGS = /chirp|43 ?48 ?49 ?52 ?50|Q0hJUlAt|NISVJQL|DSElSUC/i;

/** Authentic, and full of canaries wherever a customer or the service may write; only ids and names may be logged. */
function paid(overrides: Parameters<typeof fixtures.transactionPaid>[0] = {}) {
  const event = fixtures.transactionPaid({
    payload: {
      token: { id: canary('token') },
      customer: {
        id: canary('customer'),
        name: canary('name'),
        email: canary('email'),
        address: canary('address'),
      },
      metadata: { [canary('metadata-key')]: canary('metadata'), note: { deep: [canary('deep')] } },
      transaction: { id: canary('transaction'), amount: canary('amount'), order_id: canary('order') },
      payment_method: {
        name: canary('method'),
        card: { id: canary('card'), fingerprint: canary('fingerprint') },
      },
    },
  });
  return { ...event, [canary('field')]: canary('value'), ...overrides };
}

function sung(content: unknown, key = KEY): SentDelivery {
  const { body, headers } = delivery(content, key);
  const extra = { cookie: canary('cookie'), authorization: canary('auth'), 'user-agent': canary('agent') };
  return { body, headers: { ...headers, ...extra, 'x-canary': canary('header') } };
}

const signed = (signature: string): SentDelivery => {
  const { body, headers } = sung(paid());
  return { body, headers: { ...headers, 'x-service-signature': signature } };
};

/** An error as careless code makes it: everything about it quotes the customer. */
function careless(): Error {
  const message = `No order for ${canary('error-message')}\n    at pay (/${canary('message-frame')}.js:1:1)`;
  const error = new Error(message, { cause: new Error(canary('cause')) });
  return Object.assign(error, { name: canary('error-name'), code: canary('error-code'), detail: paid() });
}

function forgedStack(): Error {
  const error = new Error('short');
  error.stack = `Error: short\n    at ${canary('function')} (${canary('file')}:1:1)\n    at ${canary('file')}:2:2`;
  return error;
}

const rejecting = (error: unknown) => ({ 'transaction.paid': () => Promise.reject(error) });
const refund = (payload: object) => fixtures.event('refund.made', payload);

interface Scenario {
  readonly options?: ReceiverOptions;
  readonly sent: SentDelivery | readonly SentDelivery[];
  readonly expected: { status: number; code?: string; outcome?: string };
}

/** A schema whose messages and paths quote what they were given. */
const talkative = v.looseObject({
  status: v.picklist(['paid'], (issue) => `not ${issue.received}: ${JSON.stringify(issue.input)}`),
  notes: v.record(
    v.string(),
    v.number((issue) => `not ${issue.received}`),
  ),
});
const talkativeToo = z.object({
  status: z.string().refine(() => false, { error: ({ input }) => `not ${input}` }),
  notes: z.record(z.string(), z.number()),
});
const unfit = { status: canary('status'), notes: { [canary('note-key')]: canary('note') } };

const scenarios: [string, Scenario][] = [
  ['a processed event', { sent: sung(paid()), expected: { status: 200, outcome: 'processed' } }],
  ['an unknown event', { sent: sung({ ...paid(), event_name: 'refund.made' }), expected: { status: 200 } }],
  [
    'the same event with other bytes',
    {
      sent: [sung(paid({ id: 'e-1' })), sung({ ...paid({ id: 'e-1' }), [canary('other')]: canary('bytes') })],
      expected: { status: 200, outcome: 'duplicate' },
    },
  ],
  ['a missing signature', { sent: signed(''), expected: { status: 401, code: 'SIGNATURE_MISSING' } }],
  [
    'a malformed signature',
    { sent: signed(canary('sig')), expected: { status: 401, code: 'SIGNATURE_MALFORMED' } },
  ],
  [
    'a wrong signature',
    { sent: sung(paid(), 'pri_x'), expected: { status: 401, code: 'SIGNATURE_MISMATCH' } },
  ],
  [
    'a sandbox key for a live event',
    {
      options: { privateKey: `pri_sandbox_${canary('key')}` },
      sent: sung(paid(), `pri_sandbox_${canary('key')}`),
      expected: { status: 401, code: 'KEY_MODE_MISMATCH' },
    },
  ],
  ['a key function', keyFunction(() => Promise.reject(careless()))],
  ['a key function that throws text', keyFunction(() => raise(canary('thrown')))],
  ['a key function with an unusable key', keyFunction(() => `${KEY}\n`)],
  [
    'a body that is no JSON',
    { sent: sung(canary('json')), expected: { status: 400, code: 'BODY_MALFORMED' } },
  ],
  [
    'JSON that breaks off',
    {
      sent: sung(`{"${canary('key')}":"${canary('half')}`),
      expected: { status: 400, code: 'BODY_MALFORMED' },
    },
  ],
  [
    'a large body',
    { options: { limit: 99 }, sent: sung(paid()), expected: { status: 413, code: 'BODY_TOO_LARGE' } },
  ],
  ['an encoding', { sent: withHeader('content-encoding', canary('encoding')), expected: { status: 415 } }],
  [
    'a charset',
    { sent: withHeader('content-type', `a/b; charset=${canary('charset')}`), expected: { status: 415 } },
  ],
  [
    'an envelope that does not fit',
    {
      sent: sung({
        ...paid(),
        id: `${canary('id')} `,
        event_name: canary('event'),
        sandbox: canary('sandbox'),
      }),
      expected: { status: 422, code: 'EVENT_INVALID' },
    },
  ],
  [
    'a payload that does not fit',
    {
      sent: sung(paid({ payload: { customer: { name: 7 }, transaction: canary('transaction') } as never })),
      expected: { status: 422, code: 'EVENT_INVALID' },
    },
  ],
  ['keys that are dropped', { sent: sung(poisoned()), expected: { status: 200, outcome: 'processed' } }],
  ['a valibot schema', declared(talkative, unfit, { status: 422, code: 'EVENT_INVALID' })],
  ['a zod schema', declared(talkativeToo, unfit, { status: 422, code: 'EVENT_INVALID' })],
  ['a schema that throws', declared(throwing(), unfit, { status: 500, code: 'HANDLER_FAILED' })],
  ['a handler with a careless error', failing(careless())],
  ['a handler with a forged stack', failing(forgedStack())],
  ['a handler that throws text', failing(canary('text'))],
  [
    'a handler that throws an object',
    failing({ [canary('key')]: canary('value'), message: canary('message') }),
  ],
  [
    'a handler with several errors',
    failing(new AggregateError([careless(), canary('text')], canary('several'))),
  ],
  [
    'a store that is down',
    {
      options: { store: faultyStore({ claim: () => Promise.reject(careless()) }) },
      sent: sung(paid()),
      expected: { status: 503, code: 'STORE_UNAVAILABLE' },
    },
  ],
  [
    'a store that answers rubbish',
    {
      options: { store: faultyStore({ claim: async () => ({ status: canary('status') }) }) },
      sent: sung(paid()),
      expected: { status: 503, code: 'STORE_UNAVAILABLE' },
    },
  ],
  [
    'a store that cannot complete',
    {
      options: { store: faultyStore({ complete: () => Promise.reject(careless()) }) },
      sent: sung(paid()),
      expected: { status: 200, outcome: 'processed' },
    },
  ],
  [
    'a store that cannot release',
    {
      options: {
        store: faultyStore({ release: () => Promise.reject(careless()) }),
        handlers: rejecting(careless()),
      },
      sent: sung(paid()),
      expected: { status: 500, code: 'HANDLER_FAILED' },
    },
  ],
  [
    'a store of dead letters that is down',
    {
      options: { deadLetters: faultyDeadLetters({ keep: () => Promise.reject(careless()) }) },
      sent: sung({ ...paid(), event_name: 'refund.made' }),
      expected: { status: 503, code: 'STORE_UNAVAILABLE' },
    },
  ],
];

describe('what customers, keys and handlers say stays with them', () => {
  test('in dead letters, their list and the report of a replay', async () => {
    const events = { 'refund.made': talkative };
    const handlers = rejecting(careless());
    const options = { privateKey: KEY, deadLetters: memoryDeadLetters(), events, handlers };
    const endpoint = await startEndpoint(options as ReceiverOptions);
    let reply: Reply | undefined;
    for (const sent of [sung({ ...paid(), event_name: 'a.b' }), sung(refund(unfit)), sung(paid())])
      reply = await endpoint.post(sent);
    const letters = await lettersOf(endpoint.hooks);
    expect(letters.map(({ reason }) => reason)).toEqual(['unknown', 'invalid', 'failed']);
    const report = await endpoint.hooks.deadLetters?.replay();
    expect(report).toMatchObject({ stillUnknown: 1, stillInvalid: 1, failed: 1 });
    expect(everything({ letters, report, deadLetters: options.deadLetters })).not.toMatch(SINGS);
    expectSilence(endpoint, reply);
  });

  test.each(scenarios)('%s', async (_, { options, sent, expected }) => {
    const endpoint = await startEndpoint({ privateKey: KEY, ...options });
    let reply: Reply | undefined;
    for (const one of Array.isArray(sent) ? sent : [sent]) reply = await endpoint.post(one);
    const { status, ...rest } = expected;
    expect(reply?.status).toBe(status);
    expect(endpoint.records.at(-1)).toMatchObject({ status, ...rest });
    expectSilence(endpoint, reply);
  });

  test('an observer that fails', async () => {
    const observer = {
      around: () => Promise.reject(careless()),
      handler: () => Promise.reject(careless()),
      settled: () => raise(careless()),
    };
    const endpoint = await startEndpoint({ privateKey: KEY, observer });
    const reply = await endpoint.post(sung(paid()));
    expect(reply.status).toBe(200);
    expectSilence(endpoint, reply);
  });

  test('only the kind of an error and where it came from are told', async () => {
    const endpoint = await startEndpoint({ privateKey: KEY, handlers: rejecting(careless()) });
    await endpoint.post(sung(paid()));
    expect(endpoint.log.lines[0]?.error).toEqual({ type: 'Error', at: expect.any(Array) });
    expect(endpoint.log.text[0]).toMatch(/"at":\["[^"]*canary\.test\.ts:\d+:\d+"/);
  });

  test('an error that reaches onInvalid', async () => {
    const errors: unknown[] = [];
    const options = { privateKey: KEY, events: { 'refund.made': talkative } };
    const endpoint = await startEndpoint(options);
    endpoint.hooks.onInvalid((error) => void errors.push(error));
    await endpoint.post(sung(refund(unfit)));
    expect(errors).toHaveLength(1);
    expect(everything(errors[0])).not.toMatch(SINGS);
  });
});

describe('what constructEvent throws', () => {
  const events = { 'refund.made': talkative };
  const good = sung(paid());
  test.each<[string, Parameters<typeof constructEvent>[0]]>([
    ['for a missing signature', given(good, { signature: undefined })],
    ['for a malformed signature', given(good, { signature: canary('signature') })],
    ['for a wrong signature', given(good, { signature: hmac(canary('signature')) })],
    ['for an unusable key', given(good, { privateKey: [KEY, ` ${KEY}`] })],
    ['for a key in pieces', given(good, { privateKey: [KEY, { [KEY]: KEY }] })],
    ['for a parsed body', given(good, { rawBody: paid() })],
    ['for no JSON', given(sung(canary('json')), {})],
    ['for no event', given(sung({ [canary('key')]: canary('value') }), {})],
    [
      'for a payload that does not fit',
      given(sung(paid({ payload: { customer: canary('c') } as never })), {}),
    ],
    ['for a schema that quotes', given(sung(refund(unfit)), { events })],
  ])('%s, says nothing of them', (_, options) => {
    let thrown: unknown;
    try {
      constructEvent(options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(Error);
    expect(everything(thrown)).not.toMatch(SINGS);
  });
});

/** Neither log, answer, telemetry nor a look into the receiver tells. */
function expectSilence({ log, records, hooks }: Endpoint, reply: Reply | undefined): void {
  expect(log.text.length).toBeGreaterThan(0);
  expect(log.text.join('')).not.toMatch(SINGS);
  expect(inspect(reply, { depth: Number.POSITIVE_INFINITY })).not.toMatch(SINGS);
  expect(JSON.stringify(records)).not.toMatch(SINGS);
  expect(everything(hooks)).not.toMatch(SINGS);
}

/** All that a debugger, a crash report or a careless log line could show of a value. */
function everything(value: unknown): string {
  const { stack, message } = value as Partial<Error>;
  const shown = inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true });
  return [shown, JSON.stringify(value), String(value), stack, message].join('\n');
}

function given({ body, headers }: SentDelivery, damage: object): Parameters<typeof constructEvent>[0] {
  return { rawBody: body, signature: headers['x-service-signature'], privateKey: KEY, ...damage };
}

function failing(error: unknown): Scenario {
  return {
    options: { handlers: rejecting(error) },
    sent: sung(paid()),
    expected: { status: 500, code: 'HANDLER_FAILED' },
  };
}

function keyFunction(privateKey: () => string | Promise<string>): Scenario {
  return { options: { privateKey }, sent: sung(paid()), expected: { status: 503, code: 'KEY_UNAVAILABLE' } };
}

function declared(schema: unknown, payload: object, expected: Scenario['expected']): Scenario {
  return { options: { events: { 'refund.made': schema as never } }, sent: sung(refund(payload)), expected };
}

function throwing(): unknown {
  return { '~standard': { version: 1, vendor: 'test', validate: () => raise(careless()) } };
}

function withHeader(name: string, value: string): SentDelivery {
  const { body, headers } = sung(paid());
  return { body, headers: { ...headers, [name]: value } };
}

function poisoned(): string {
  return JSON.stringify(paid()).replace('{', `{"__proto__":{"${canary('key')}":"${canary('value')}"},`);
}

function raise(error: unknown): never {
  throw error;
}
