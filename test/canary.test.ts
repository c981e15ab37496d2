import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type EventSchemas, memoryDeadLetters, type ReceiverOptions } from 'payment-webhooks';
import { constructEvent } from 'payment-webhooks/verify';
import * as v from 'valibot';
import { z } from 'zod';
import { fixtures } from '../src/fixtures/fixture.js';
import { asDeployed } from './setup/as-deployed.js';
import { delivery, hmac, type SentDelivery } from './setup/delivery.js';
import { type Endpoint, type Reply, startEndpoint } from './setup/endpoint.js';
import { faultyDeadLetters, lettersOf } from './setup/faulty-dead-letters.js';
import { faultyStore } from './setup/faulty-store.js';
import { raise } from './setup/raise.js';

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

/** What is sent, with which options, and how the last of it is answered. */
type Scenario = readonly [
  name: string,
  expected: string,
  sent: SentDelivery | readonly SentDelivery[],
  options?: ReceiverOptions<EventSchemas>,
];

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

const sandboxKey = `pri_sandbox_${canary('key')}`;
const withEvents = (schema: unknown) => ({ events: { 'refund.made': schema as StandardSchemaV1 } });
const badEnvelope = { id: `${canary('id')} `, event_name: canary('event'), sandbox: canary('sandbox') };
const badPayload = { payload: { customer: { name: 7 }, transaction: canary('transaction') } };

const scenarios: Scenario[] = [
  ['a processed event', '200 processed', sung(paid())],
  ['an unknown event', '200 ignored', sung({ ...paid(), event_name: 'refund.made' })],
  [
    'the same event with other bytes',
    '200 duplicate',
    [sung(paid({ id: 'e-1' })), sung({ ...paid({ id: 'e-1' }), [canary('other')]: canary('bytes') })],
  ],
  ['a missing signature', '401 SIGNATURE_MISSING', signed('')],
  ['a malformed signature', '401 SIGNATURE_MALFORMED', signed(canary('sig'))],
  ['a wrong signature', '401 SIGNATURE_MISMATCH', sung(paid(), 'pri_x')],
  [
    'a sandbox key for a live event',
    '401 KEY_MODE_MISMATCH',
    sung(paid(), sandboxKey),
    { privateKey: sandboxKey },
  ],
  ...[
    ['a key function', () => Promise.reject(careless())] as const,
    ['a key function that throws text', () => raise(canary('thrown'))] as const,
    ['a key function with an unusable key', () => `${KEY}\n`] as const,
  ].map(([name, privateKey]): Scenario => [name, '503 KEY_UNAVAILABLE', sung(paid()), { privateKey }]),
  ['a body that is not JSON', '400 BODY_MALFORMED', sung(canary('json'))],
  ['JSON that breaks off', '400 BODY_MALFORMED', sung(`{"${canary('key')}":"${canary('half')}`)],
  ['a large body', '413 BODY_TOO_LARGE', sung(paid()), { limit: 99 }],
  ['an encoding', '415 BODY_ENCODED', withHeader('content-encoding', canary('encoding'))],
  ['a charset', '415 BODY_ENCODED', withHeader('content-type', `a/b; charset=${canary('charset')}`)],
  ['an envelope that does not fit', '422 EVENT_INVALID', sung({ ...paid(), ...badEnvelope })],
  ['a payload that does not fit', '422 EVENT_INVALID', sung(paid(badPayload as never))],
  ['keys that are dropped', '200 processed', sung(poisoned())],
  ['a valibot schema', '422 EVENT_INVALID', sung(refund(unfit)), withEvents(talkative)],
  ['a zod schema', '422 EVENT_INVALID', sung(refund(unfit)), withEvents(talkativeToo)],
  ['a schema that throws', '500 HANDLER_FAILED', sung(refund(unfit)), withEvents(throwing())],
  ...[
    ['a handler with a careless error', careless()] as const,
    ['a handler with a forged stack', forgedStack()] as const,
    ['a handler that throws text', canary('text')] as const,
    [
      'a handler that throws an object',
      { [canary('key')]: canary('v'), message: canary('message') },
    ] as const,
    [
      'a handler with several errors',
      new AggregateError([careless(), canary('text')], canary('all')),
    ] as const,
  ].map(
    ([name, thrown]): Scenario => [name, '500 HANDLER_FAILED', sung(paid()), { handlers: rejecting(thrown) }],
  ),
  [
    'a store that is down',
    '503 STORE_UNAVAILABLE',
    sung(paid()),
    { store: faultyStore({ claim: () => raise(careless()) }) },
  ],
  [
    'a store that answers rubbish',
    '503 STORE_UNAVAILABLE',
    sung(paid()),
    { store: faultyStore({ claim: async () => ({ status: canary('status') }) }) },
  ],
  [
    'a store that cannot complete',
    '200 processed',
    sung(paid()),
    { store: faultyStore({ complete: () => Promise.reject(careless()) }) },
  ],
  [
    'a store that cannot release',
    '500 HANDLER_FAILED',
    sung(paid()),
    { store: faultyStore({ release: () => Promise.reject(careless()) }), handlers: rejecting(careless()) },
  ],
  [
    'a store of dead letters that is down',
    '503 STORE_UNAVAILABLE',
    sung({ ...paid(), event_name: 'refund.made' }),
    { deadLetters: faultyDeadLetters({ keep: () => Promise.reject(careless()) }) },
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

  test.each(scenarios)('%s: %s', async (_, expected, sent, options = {}) => {
    const endpoint = await startEndpoint({ privateKey: KEY, ...options } as ReceiverOptions);
    let reply: Reply | undefined;
    for (const one of [sent].flat()) reply = await endpoint.post(one);
    const { outcome, code } = endpoint.records.at(-1) ?? {};
    expect(`${reply?.status} ${outcome ?? code}`).toBe(expected);
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

const good = sung(paid());

test.each<[string, Parameters<typeof constructEvent>[0]]>([
  ['for a missing signature', given(good, { signature: undefined })],
  ['for a malformed signature', given(good, { signature: canary('signature') })],
  ['for a wrong signature', given(good, { signature: hmac(canary('signature')) })],
  ['for an unusable key', given(good, { privateKey: [KEY, ` ${KEY}`] })],
  ['for a key in pieces', given(good, { privateKey: [KEY, { [KEY]: KEY }] })],
  ['for a parsed body', given(good, { rawBody: paid() })],
  ['for what is not JSON', given(sung(canary('json')), {})],
  ['for what is not an event', given(sung({ [canary('key')]: canary('value') }), {})],
  ['for a payload that does not fit', given(sung(paid(badPayload as never)), {})],
  ['for a schema that quotes', given(sung(refund(unfit)), withEvents(talkative))],
])('what constructEvent throws %s says nothing of them', (_, options) => {
  let thrown: unknown;
  try {
    constructEvent(options);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(Error);
  expect(everything(thrown)).not.toMatch(SINGS);
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
