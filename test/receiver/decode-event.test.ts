import { runInNewContext } from 'node:vm';
import { describe, expect, jest, test } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { EventSchemas, ReceiverOptions, WebhookEvent } from 'payment-webhooks';
import * as v from 'valibot';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, SANDBOX_KEY } from '../setup/delivery.js';
import { ignored, processed, startReceiver } from '../setup/endpoint.js';
import { down, raise } from '../setup/raise.js';

const good = () => JSON.stringify(fixtures.transactionPaid());
/** The good event as text, with one part of that text replaced. */
const damaged = (part: string | RegExp, replacement: string) => {
  const text = good();
  const result = text.replace(part, () => replacement);
  if (result === text) throw new Error(`The good event has no ${part}.`);
  return result;
};
const unreadable = new Proxy({}, { has: down, get: down, getPrototypeOf: down });
const made = (payload: object) => fixtures.event('refund.made', payload);
const withMetadata = (text: string) => damaged('"type":"order"', text);

/** One delivery of the content: its answer, and the events that a handler is given. */
async function deliver(content: unknown, options: ReceiverOptions<EventSchemas> = {}) {
  const seen: WebhookEvent[] = [];
  const handlers = { '*': (event: object) => void seen.push(event as WebhookEvent) };
  const receiver = startReceiver({ ...options, handlers } as ReceiverOptions);
  return { ...receiver, seen, reply: await receiver.post(delivery(content)) };
}

describe('bytes that are no JSON text', () => {
  const before = Buffer.from(good().split('Sampletown')[0] ?? '');
  const after = Buffer.from(good().split('Sampletown')[1] ?? '');
  const withBytes = (...bytes: number[]) => Buffer.concat([before, Buffer.from(bytes), after]);

  test.each<[string, Buffer | string]>([
    ['a byte that is never UTF-8', withBytes(0xff)],
    ['a lone continuation byte', withBytes(0x80)],
    ['a sequence cut short', withBytes(0xe2, 0x82)],
    ['an overlong slash', withBytes(0xc0, 0xaf)],
    ['an overlong NUL', withBytes(0xc0, 0x80)],
    ['a surrogate as UTF-8', withBytes(0xed, 0xa0, 0x80)],
    ['beyond Unicode', withBytes(0xf4, 0x90, 0x80, 0x80)],
    ['Latin-1', withBytes(0x5a, 0x6f, 0xeb)],
    ['UTF-16', Buffer.from(good(), 'utf16le')],
    ['UTF-16 with its byte-order mark', Buffer.from(`\ufeff${good()}`, 'utf16le')],
    ['no JSON at all', 'hello'],
    ['a form', 'id=1&event_name=transaction.paid'],
    ['half a document', good().slice(0, -1)],
    ['a trailing comma', good().replace(/\}$/, ',}')],
    ['NaN', good().replace('"149.90"', 'NaN')],
    ['Infinity', good().replace('"149.90"', '-Infinity')],
    ['a comment', `${good()} // paid`],
    ['single quotes', good().replaceAll('"', "'")],
    ['a control character in a text', good().replace('Sampletown', 'Sample\u0000town')],
    ['two documents', `${good()}${good()}`],
    ['two documents on two lines', `${good()}\n${good()}`],
    ['white space only', ' \r\n\t'],
    ['two byte-order marks', `\ufeff\ufeff${good()}`],
  ])('are refused though they are authentic: %s', async (_, content) => {
    const { reply, seen, log } = await deliver(content);
    expect(reply).toMatchObject({ status: 400, body: { code: 'BODY_MALFORMED' } });
    expect(seen).toEqual([]);
    expect(log.lines).toMatchObject([{ level: 40, code: 'BODY_MALFORMED', keyIndex: 0 }]);
    expect(log.text.join('') + JSON.stringify(reply)).not.toMatch(/Ada|paid|order-1042|hello/);
  });

  test('a byte-order mark before good JSON is let be', async () => {
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(good())]);
    expect((await deliver(marked)).reply).toMatchObject(processed);
  });
});

describe('JSON that is no event', () => {
  const withId = (id: string) => damaged(/"id":"[^"]*"/, `"id":"${id}"`);
  const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
  const named = (event_name: unknown) => JSON.stringify({ ...fixtures.transactionPaid(), event_name });

  test.each<[string, string, string[]]>([
    ['null', 'null', ['']],
    ['true', 'true', ['']],
    ['a number', '42', ['']],
    ['a text', '"transaction.paid"', ['']],
    ['a list', `[${good()}]`, ['']],
    ['an empty object', '{}', ['id', 'event_name', 'sandbox', 'payload']],
    ['text for sandbox', damaged('"sandbox":false', '"sandbox":"false"'), ['sandbox']],
    ['sandbox missing', damaged('"sandbox":false,', ''), ['sandbox']],
    ['a list for payload', damaged(/"payload":.*/, '"payload":[]}'), ['payload']],
    ['null for payload', damaged(/"payload":.*/, '"payload":null}'), ['payload']],
    ['text for payload', damaged(/"payload":.*/, '"payload":"{}"}'), ['payload']],
    ['id missing', damaged('"id"', '"identity"'), ['id']],
    ['a number for id', damaged(/"id":"[^"]*"/, '"id":7'), ['id']],
    ['an empty id', withId(''), ['id']],
    ['an id of 256 characters', withId('x'.repeat(256)), ['id']],
    ['a space in the id', withId('a b'), ['id']],
    ['a NUL in the id', withId(escaped('a\u0000')), ['id']],
    ['a line break in the id', withId(escaped('a\n')), ['id']],
    ['an escape sequence for id', withId(escaped('\u001b[2J')), ['id']],
    ['a letter outside ASCII for id', withId('é'), ['id']],
    ['a line separator for id', withId(escaped('\u2028')), ['id']],
    ['a lone surrogate for id', withId('\\ud800'), ['id']],
    ['another lone surrogate for id', withId('\\udfff'), ['id']],
    ['DEL for id', withId('\u007f'), ['id']],
    ['an empty name', named(''), ['event_name']],
    ['a name without a dot', named('transaction'), ['event_name']],
    ['a dot for a name', named('.'), ['event_name']],
    ['a name that begins with a dot', named('.paid'), ['event_name']],
    ['a name that ends with a dot', named('transaction.'), ['event_name']],
    ['__proto__ for a name', named('__proto__'), ['event_name']],
    ['constructor for a name', named('constructor'), ['event_name']],
    ['a space in the name', named('transaction. paid'), ['event_name']],
    ['a line break in the name', named('transaction.paid\n{"level":60}'), ['event_name']],
    ['a name of 256 characters', named(`a.${'b'.repeat(254)}`), ['event_name']],
    ['a list for a name', named(['transaction.paid']), ['event_name']],
    ['an object for a name', named({ toString: 'transaction.paid' }), ['event_name']],
    ['a number for a name', named(1.5), ['event_name']],
    ['null for a name', named(null), ['event_name']],
  ])('is refused with what does not fit: %s', async (_, content, paths) => {
    const { reply, seen, log } = await deliver(content);
    const issues = paths.map((path) => ({ path }));
    expect(reply).toMatchObject({ status: 422, body: { code: 'EVENT_INVALID', issues } });
    expect(log.lines).toMatchObject([{ level: 50, code: 'EVENT_INVALID' }]);
    if (paths.includes('id')) expect(log.lines[0]).not.toHaveProperty('eventId');
    expect(seen).toEqual([]);
  });

  const ids = ['!', '~', 'x'.repeat(255), '00000000-0000-4000-8000-000000000000', 'a:b/c"d\\\\'];
  test.each(ids)('but any printable id will do: %s', async (id) => {
    const { reply, seen } = await deliver(fixtures.transactionPaid({ id }));
    expect(reply).toMatchObject(processed);
    expect(seen).toMatchObject([{ id }]);
  });
});

describe('a declared event whose payload does not fit', () => {
  test.each<[string, string, unknown]>([
    ['text for a part', 'token', 'tok-1'],
    ['null where a part is due', 'transaction', null],
    ['a number for an amount', 'transaction.amount', 1],
    ['half a status', 'transaction.status', 1.5],
    ['a status as text', 'transaction.status', '1'],
    ['a status beyond all', 'transaction.status', 'INF'],
    ['null for currency', 'transaction.currency', null],
    ['a number for a name', 'customer.name', 7],
    ['a customer with an empty id', 'customer.id', ''],
    ['a list for metadata', 'metadata', ['a']],
    ['a card as text', 'payment_method.card', '4242'],
    ['an id in a card', 'payment_method.card.id', ''],
  ])('is refused with the path and no value: %s', async (_, place, value) => {
    const event = fixtures.transactionPaid();
    const [field = '', ...parents] = place.split('.').reverse();
    const part = parents.reduceRight((holder, name) => Reflect.get(holder, name), event.payload as object);
    Reflect.set(part, field, value);
    const issues = [{ path: `payload.${place}` }];
    const { reply, seen, log } = await deliver(JSON.stringify(event).replace('"INF"', '1e999'));
    expect(reply).toMatchObject({ status: 422, body: { code: 'EVENT_INVALID', issues } });
    expect(seen).toEqual([]);
    expect(log.lines).toMatchObject([{ level: 50, code: 'EVENT_INVALID', eventId: event.id, issues }]);
  });

  test('is decided by onInvalid where there is one: resolved is 200, rejected is 500', async () => {
    const receiver = startReceiver();
    const letters: string[] = [];
    receiver.hooks.onInvalid((error, { rawBody }) => {
      if (letters.push(rawBody.toString()) === 1) throw new Error('the dead-letter table is locked');
      expect(error).toMatchObject({ name: 'EventError', issues: [{ path: 'payload.transaction.id' }] });
    });
    const event = fixtures.transactionPaid();
    const transaction = { ...event.payload.transaction, id: undefined };
    const sent = delivery({ ...event, payload: { ...event.payload, transaction } });
    const answers = await receiver.answers(sent, sent, sent);
    expect(answers).toEqual(['500 HANDLER_FAILED', '200 ignored', '200 duplicate']);
    expect(letters).toEqual([sent.body.toString(), sent.body.toString()]);
    expect(receiver.handled).toEqual([]);
  });

  test('is no matter for onInvalid when it has no valid envelope', async () => {
    const receiver = startReceiver();
    const onInvalid = jest.fn();
    receiver.hooks.onInvalid(onInvalid);
    expect(await receiver.post(delivery('{}'))).toMatchObject({ status: 422 });
    expect(onInvalid).not.toHaveBeenCalled();
  });

  test('is reported with at most twenty issues', async () => {
    const fields = Array.from({ length: 50 }, (_, index) => [`field_${index}`, z.string()]);
    const events = { 'refund.made': z.object(Object.fromEntries(fields)) };
    const { reply } = await deliver(made({}), { events });
    expect(reply.body).toHaveProperty('issues.length', 20);
  });
});

describe('an event that nobody declared', () => {
  test('is ignored, and warned of once for each name', async () => {
    const receiver = startReceiver();
    for (const name of ['refund.made', 'refund.made', 'refund.lost']) {
      expect(await receiver.post(delivery(fixtures.event(name, {})))).toMatchObject(ignored);
    }
    const warnings = receiver.log.lines.filter(({ level }) => level === 40);
    expect(warnings).toMatchObject([{ eventName: 'refund.made' }, { eventName: 'refund.lost' }]);
  });

  test('goes to onUnknown where there is one', async () => {
    const receiver = startReceiver();
    const onUnknown = jest.fn();
    receiver.hooks.onUnknown(onUnknown);
    const event = made({ refund: { id: 'r-1' } });
    expect(await receiver.post(delivery(event))).toMatchObject(processed);
    expect(onUnknown.mock.calls).toEqual([[event, expect.anything()]]);
    expect(receiver.handled).toEqual([]);
  });

  test.each([
    '__proto__.x',
    'constructor.name',
    'toString.call',
    'hasOwnProperty.x',
    'transaction.paid.twice',
    'transaction.*',
    '*.*',
    'TRANSACTION.PAID',
    `a.${'b'.repeat(253)}`,
  ])('reaches nothing by its name: %s', async (event_name) => {
    const { reply, seen } = await deliver({ ...fixtures.transactionPaid(), event_name });
    expect(reply).toMatchObject(ignored);
    expect(seen).toEqual([]);
  });
});

describe('keys that could replace a prototype', () => {
  const poison = '{"polluted":"yes"}';
  test.each<[string, string, string[]]>([
    ['__proto__ at the root', damaged('{', `{"__proto__":${poison},`), []],
    ['__proto__ as text at the root', damaged('{', '{"__proto__":"x",'), []],
    ['__proto__ in the payload', damaged('"payload":{', `"payload":{"__proto__":${poison},`), []],
    ['__proto__ deep in metadata', withMetadata(`"deep":[{"a":{"__proto__":${poison}}}]`), ['deep']],
    ['an escaped __proto__', withMetadata(`"\\u005f_proto__":${poison}`), []],
    ['constructor.prototype', withMetadata(`"constructor":{"prototype":${poison}}`), []],
    ['both', withMetadata(`"__proto__":1,"constructor":{"prototype":${poison}}`), []],
  ])('are dropped, and the event is processed with a warning: %s', async (_, content, kept) => {
    const { reply, seen, log } = await deliver(content);
    expect(reply).toMatchObject(processed);
    expect(JSON.stringify(seen)).not.toMatch(/polluted|__proto__/);
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    expect(seen[0]?.payload.metadata).not.toHaveProperty('polluted');
    const names = Object.keys(seen[0]?.payload.metadata ?? {});
    expect(names).toEqual(expect.arrayContaining([...kept, 'cart.id']));
    const warnings = log.lines.filter(({ level }) => level === 40);
    expect(warnings).toMatchObject([{ msg: expect.stringMatching(/prototype/) }]);
  });

  test.each([
    ['a text', '"Acme Ltd"'],
    ['null', 'null'],
    ['an object', '{"name":"Acme Ltd"}'],
    ['a list', '["Acme Ltd"]'],
  ])('are not meant by a mere field named constructor: %s', async (_, value) => {
    const fields = `"constructor":${value},"prototype":1,"toString":2`;
    const { seen, log } = await deliver(withMetadata(fields));
    expect(JSON.stringify(seen[0]?.payload.metadata)).toContain(fields);
    expect(log.lines.filter(({ level }) => level === 40)).toEqual([]);
  });

  test('are still an error when nothing else is there', async () => {
    const { reply, seen } = await deliver(`{"__proto__":${good()}}`);
    expect(reply).toMatchObject({ status: 422 });
    expect(seen).toEqual([]);
  });
});

test('what the service may add any day is kept: fields, statuses, countries, values of metadata', async () => {
  const { payload, ...event } = fixtures.transactionPaid({
    payload: {
      customer: { country_code: 'XK', city: null },
      transaction: { status: -99, currency: 'XBT' },
      metadata: { nested: { list: [1, 'two', null, { deep: true }] }, '': '', 'cart.id': '💳' },
    },
  });
  const transaction = { ...payload.transaction, fee: '0.30' };
  const grown = { ...event, api_version: 3, payload: { ...payload, refund: { id: 'r-1' }, transaction } };
  expect((await deliver(grown)).seen).toEqual([grown]);
});

describe('content made to hurt', () => {
  const levels = 50_000;
  const keys = Array.from({ length: 100_000 }, (_, index) => `"k${index}":${index}`).join();
  const nested = (open: string, core: string, close: string) =>
    withMetadata(`"deep":${open.repeat(levels)}${core}${close.repeat(levels)}`);

  test.each<[string, string, number]>([
    ['lists nested deep', nested('[', '', ']'), 200],
    ['objects nested deep, a prototype at the end', nested('{"a":', '{"__proto__":1}', '}'), 200],
    ['nothing but nesting', '['.repeat(levels), 400],
    ['nested lists and no event', '['.repeat(levels) + ']'.repeat(levels), 422],
    ['100,000 keys', withMetadata(keys), 200],
    ['100,000 keys at the root', damaged('{', `{${keys},`), 200],
    ['a million digits', withMetadata(`"n":${'9'.repeat(1_000_000)}`), 200],
    ['a million digits for a status', damaged('"status":1', `"status":${'9'.repeat(1_000_000)}`), 422],
    ['a number beyond all', withMetadata('"n":1e999'), 200],
    ['a million brackets in a text', damaged('order-1042', '[{'.repeat(500_000)), 200],
  ])('gets an answer: %s', async (_, content, status) => {
    const { reply, records } = await deliver(content, { limit: '4mb' });
    expect(reply).toMatchObject({ status });
    expect(records).toMatchObject([{ status }]);
  });
});

describe('what a log line says of an event', () => {
  test('is one line of JSON with id and name cut to 64 characters', async () => {
    const { log } = await deliver(fixtures.event(`a.${'b'.repeat(200)}`, {}, { id: 'i'.repeat(200) }));
    expect(log.text.length).toBeGreaterThan(0);
    for (const line of log.text) {
      expect(line.trimEnd().split(/\s*\n/)).toHaveLength(1);
      expect(JSON.parse(line)).toMatchObject({
        eventId: `${'i'.repeat(63)}…`,
        eventName: `a.${'b'.repeat(61)}…`,
      });
    }
  });

  test('never holds a line break, an escape sequence or a surrogate of the sender', async () => {
    const receiver = startReceiver();
    const nasty = '\n{"level":60,"msg":"forged"}\u001b[31m\u2028\ud800';
    const event = fixtures.transactionPaid({
      payload: { customer: { name: nasty }, metadata: { [nasty]: nasty } },
    });
    const sent = [event, { ...event, id: nasty }, { ...event, event_name: `a.${nasty}` }];
    const answers = await receiver.answers(...sent);
    expect(answers).toEqual(['200 processed', '422 EVENT_INVALID', '422 EVENT_INVALID']);
    expect(receiver.log.text.join('')).not.toMatch(/forged|\[31m|u001b|u2028|ud800/i);
    expect(receiver.log.text).toHaveLength(3);
  });
});

describe('declared events', () => {
  const refund = v.object({
    refund: v.object({ id: v.string(), amount: v.pipe(v.string(), v.transform(Number)) }),
  });
  const schemas: [string, StandardSchemaV1][] = [
    ['zod', z.object({ refund: z.object({ id: z.string(), amount: z.coerce.number() }) })],
    ['valibot', refund],
    ['a schema that answers later', later(refund)],
  ];

  test.each(schemas)('are given as their schema makes them: %s', async (_, schema) => {
    const event = made({ refund: { id: 'r-1', amount: '7.50' } });
    const { reply, seen } = await deliver(event, { events: { 'refund.made': schema } });
    expect(reply).toMatchObject(processed);
    expect(seen.map(({ payload }) => payload)).toEqual([{ refund: { id: 'r-1', amount: 7.5 } }]);
  });

  test.each(schemas)('are refused as their schema says, without the value: %s', async (_, schema) => {
    const event = made({ refund: { id: 4_242_424_242, amount: '1' } });
    const { reply, log } = await deliver(event, { events: { 'refund.made': schema } });
    const issues = [{ path: 'payload.refund.id', message: 'expected string' }];
    expect(reply).toMatchObject({ status: 422, body: { issues } });
    expect(JSON.stringify(reply) + log.text.join('')).not.toContain('4242424242');
  });

  test('may be judged by a promise of another realm', async () => {
    const validate = () => runInNewContext('Promise.resolve({ value: { judged: true } })');
    const { seen } = await deliver(made({}), { events: { 'refund.made': schemaOf(validate) } });
    expect(seen.map(({ payload }) => payload)).toEqual([{ judged: true }]);
  });

  test.each<[string, () => unknown, number, string]>([
    ['throws', () => raise(new Error('of its own')), 500, 'HANDLER_FAILED'],
    ['rejects', () => Promise.reject(new Error('of its own')), 500, 'HANDLER_FAILED'],
    ['throws a value that throws when it is read', () => raise(unreadable), 500, 'HANDLER_FAILED'],
    [
      'rejects with a value that throws when it is read',
      () => Promise.reject(unreadable),
      500,
      'HANDLER_FAILED',
    ],
    ['answers nothing', () => undefined, 500, 'HANDLER_FAILED'],
    ['resolves with nothing', async () => undefined, 500, 'HANDLER_FAILED'],
    ['resolves with null', async () => null, 500, 'HANDLER_FAILED'],
    ['never answers', () => new Promise(() => {}), 503, 'HANDLER_TIMEOUT'],
  ])('are delivered again when their schema %s, and no matter for onInvalid', async (...row) => {
    const [, validate, status, code] = row;
    const events = { 'refund.made': schemaOf(validate) };
    const receiver = startReceiver({ events, storeTimeout: 100 });
    receiver.hooks.onInvalid(() => void receiver.handled.push('invalid'));
    const reply = await receiver.post(delivery(made({})));
    expect(reply).toMatchObject({ status, body: { code } });
    expect(JSON.stringify(reply) + receiver.log.text.join('')).not.toContain('of its own');
    expect(receiver.handled).toEqual([]);
  });
});

describe('the issues of an event that does not fit', () => {
  const issuesOf = async (schema: StandardSchemaV1, payload: object) => {
    const { reply } = await deliver(made(payload), { events: { 'refund.made': schema } });
    return (reply.body as { issues: unknown }).issues;
  };
  const good = fixtures.transactionPaid();
  const { transaction } = good.payload;
  const isPositive = (text: string) => Number(text) > 0;
  const misfit = { ...good, payload: { ...good.payload, transaction: { ...transaction, status: 1.5 } } };

  test.each<[string, object, string]>([
    ['id', { ...good, id: 'a b' }, 'expected 1 to 255 printable ASCII characters'],
    ['event_name', { ...good, event_name: 'paid' }, 'expected <resource>.<action> in printable ASCII'],
    ['payload.transaction.status', misfit, 'expected integer'],
  ])('say in our own words what was expected of %s', async (path, event, message) => {
    expect((await deliver(event)).reply.body).toHaveProperty('issues', [{ path, message }]);
  });

  test('say of another schema only what it expected, at no length', async () => {
    const currencies = Array.from({ length: 50 }, (_, i) => `C${i}`);
    const schema = v.object({ currency: v.picklist(currencies) });
    const [issue] = (await issuesOf(schema, { currency: 'XBT' })) as [{ message: string }];
    expect(issue.message).toMatch(/^expected \("C0" \| "C1" \| /);
    expect(issue.message).toHaveLength(100);
  });

  test.each<[string, StandardSchemaV1, string]>([
    ['a rule of its own', z.object({ amount: z.string().refine(isPositive, 'the rule') }), 'payload.amount'],
    ['a rule about the whole payload', z.object({ amount: z.string() }).refine(() => false), 'payload'],
    ['an issue that has no path', fails({ message: 'Ada Lovelace' }), 'payload'],
    [
      'an expectation that is no text',
      fails({ message: 'Ada Lovelace', path: ['amount'], expected: { value: 'Ada Lovelace' } }),
      'payload.amount',
    ],
  ])('say no more than where it is for %s', async (_, schema, path) => {
    const message = 'does not match the declared schema';
    expect(await issuesOf(schema, { amount: '-7' })).toEqual([{ path, message }]);
  });

  test.each([
    ['amount', 'amount'],
    ['line_2', 'line_2'],
    ['a'.repeat(40), 'a'.repeat(40)],
    ['a'.repeat(41), '*'],
    ['Ada', '*'],
    ['Ada lovelace', '*'],
    ['of Ada', '*'],
    ['2nd', '*'],
    ['ada@example.com', '*'],
    ['0', '0'],
    ['123456', '123456'],
    ['1234567', '*'],
    ['4111 1111', '*'],
    ['', '*'],
  ])('show a key of an open map only if it looks like a field or an index: %j', async (key, shown) => {
    const schema = z.object({ notes: z.record(z.string(), z.string()) });
    const issue = { path: `payload.notes.${shown}`, message: 'expected string' };
    expect(await issuesOf(schema, { notes: { [key]: 1 } })).toEqual([issue]);
  });

  test('name the place in a list', async () => {
    const lines = [...Array(12).fill('ok'), 0];
    const issue = { path: 'payload.lines.12', message: 'expected string' };
    expect(await issuesOf(z.object({ lines: z.array(z.string()) }), { lines })).toEqual([issue]);
  });
});

describe('the sandbox option', () => {
  test.each([
    ['accept', false, 'processed'],
    ['accept', true, 'processed'],
    ['ignore', false, 'processed'],
    ['ignore', true, 'ignored'],
    ['only', false, 'ignored'],
    ['only', true, 'processed'],
  ] as const)('%s: an event whose sandbox is %j is %s', async (sandbox, flag, outcome) => {
    const { reply, seen, records } = await deliver(fixtures.transactionPaid({ sandbox: flag }), { sandbox });
    expect(reply).toMatchObject({ status: 200, body: { outcome } });
    expect(seen).toHaveLength(outcome === 'processed' ? 1 : 0);
    expect(records).toMatchObject([{ outcome, sandbox: flag }]);
  });

  test('does not let a sandbox key vouch for a live event that it would ignore', async () => {
    const receiver = startReceiver({ sandbox: 'only', privateKey: SANDBOX_KEY });
    const event = fixtures.transactionPaid({ sandbox: false });
    expect(await receiver.post(delivery(event, SANDBOX_KEY))).toMatchObject({ status: 401 });
  });

  test('ignores an event before its payload is looked at', async () => {
    const event = { ...fixtures.transactionPaid({ sandbox: true }), payload: {} };
    expect((await deliver(event, { sandbox: 'ignore' })).reply).toMatchObject(ignored);
  });
});

function later<Schema extends v.GenericSchema>(schema: Schema) {
  return v.pipeAsync(
    v.unknown(),
    v.checkAsync(async () => true),
    schema,
  );
}

/** A schema that nothing fits. */
function fails(issue: object): StandardSchemaV1 {
  return schemaOf(() => ({ issues: [issue] }));
}

function schemaOf(validate: () => unknown): StandardSchemaV1 {
  return { '~standard': { version: 1, vendor: 'test', validate } } as StandardSchemaV1;
}
