import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ReceiverOptions, UnknownEvent, WebhookEvent } from 'payment-webhooks';
import * as v from 'valibot';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, SANDBOX_KEY } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';

const processed = { status: 200, body: { received: true, outcome: 'processed' } };
const ignored = { status: 200, body: { received: true, outcome: 'ignored' } };
const good = () => JSON.stringify(fixtures.transactionPaid());
/** The good event as text, with one part of that text replaced. */
const damaged = (part: string | RegExp, replacement: string) => {
  const text = good();
  const result = text.replace(part, () => replacement);
  if (result === text) throw new Error(`The good event has no ${part}.`);
  return result;
};

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
    const receiver = startReceiver();
    const reply = await receiver.post(delivery(content));
    expect(reply).toMatchObject({ status: 400, body: { code: 'BODY_MALFORMED' } });
    expect(receiver.handled).toEqual([]);
    expect(receiver.log.lines).toMatchObject([{ level: 40, code: 'BODY_MALFORMED', keyIndex: 0 }]);
    expect(receiver.log.text.join('') + JSON.stringify(reply)).not.toMatch(/Ada|paid|order-1042|hello/);
  });

  test('a byte-order mark before good JSON is let be', async () => {
    const receiver = startReceiver();
    const marked = delivery(`\ufeff${good()}`);
    expect(marked.body.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    expect(await receiver.post(marked)).toMatchObject(processed);
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
    const receiver = startReceiver();
    expect(await receiver.post(delivery(content))).toMatchObject({
      status: 422,
      body: { code: 'EVENT_INVALID', issues: paths.map((path) => ({ path })) },
    });
    expect(receiver.log.lines).toMatchObject([{ level: 50, code: 'EVENT_INVALID' }]);
    if (paths.includes('id')) expect(receiver.log.lines[0]).not.toHaveProperty('eventId');
    expect(receiver.handled).toEqual([]);
  });

  test.each(['!', '~', 'x'.repeat(255), '00000000-0000-4000-8000-000000000000', 'a:b/c"d\\\\'])(
    'but any printable id will do: %s',
    async (id) => {
      const receiver = startReceiver();
      expect(await receiver.post(delivery(fixtures.transactionPaid({ id })))).toMatchObject({ status: 200 });
      expect(receiver.handled).toEqual([id]);
    },
  );
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
    const receiver = startReceiver();
    const event = fixtures.transactionPaid();
    const [field = '', ...parents] = place.split('.').reverse();
    const part = parents.reduceRight((holder, name) => Reflect.get(holder, name), event.payload as object);
    Reflect.set(part, field, value);
    const issues = [{ path: `payload.${place}` }];
    const reply = await receiver.post(delivery(JSON.stringify(event).replace('"INF"', '1e999')));
    expect(reply).toMatchObject({ status: 422, body: { code: 'EVENT_INVALID', issues } });
    expect(receiver.handled).toEqual([]);
    expect(receiver.log.lines).toMatchObject([
      { level: 50, code: 'EVENT_INVALID', eventId: event.id, issues },
    ]);
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
    expect(await receiver.post(sent)).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
    expect(await receiver.post(sent)).toMatchObject(ignored);
    expect(await receiver.post(sent)).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(letters).toEqual([sent.body.toString(), sent.body.toString()]);
    expect(receiver.handled).toEqual([]);
  });

  test('is no matter for onInvalid when it has no valid envelope', async () => {
    const receiver = startReceiver();
    let asked = false;
    receiver.hooks.onInvalid(() => {
      asked = true;
    });
    expect(await receiver.post(delivery('{}'))).toMatchObject({ status: 422 });
    expect(asked).toBe(false);
  });

  test('is reported with at most twenty issues', async () => {
    const schema = z.object(
      Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`field_${i}`, z.string()])),
    );
    const receiver = startReceiver({ events: { 'refund.made': schema } });
    const { body } = await receiver.post(delivery(fixtures.event('refund.made', {})));
    expect((body as { issues: unknown[] }).issues).toHaveLength(20);
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
    const unknown: UnknownEvent[] = [];
    receiver.hooks.onUnknown((event) => void unknown.push(event));
    const event = fixtures.event('refund.made', { refund: { id: 'r-1' } });
    expect(await receiver.post(delivery(event))).toMatchObject(processed);
    expect(unknown).toEqual([event]);
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
  ])('reaches nothing by its name: %s', async (name) => {
    const receiver = startReceiver();
    const event = { ...fixtures.transactionPaid(), event_name: name };
    expect(await receiver.post(delivery(event))).toMatchObject(ignored);
    expect(receiver.handled).toEqual([]);
  });
});

describe('keys that could replace a prototype', () => {
  const poison = '{"polluted":"yes"}';
  test.each<[string, string, string[]]>([
    ['__proto__ at the root', damaged('{', `{"__proto__":${poison},`), []],
    ['__proto__ as text at the root', damaged('{', '{"__proto__":"x",'), []],
    ['__proto__ in the payload', damaged('"payload":{', `"payload":{"__proto__":${poison},`), []],
    [
      '__proto__ deep in metadata',
      damaged('"type":"order"', `"deep":[{"a":{"__proto__":${poison}}}]`),
      ['deep'],
    ],
    ['an escaped __proto__', damaged('"type":"order"', `"\\u005f_proto__":${poison}`), []],
    ['constructor.prototype', damaged('"type":"order"', `"constructor":{"prototype":${poison}}`), []],
    ['both', damaged('"type":"order"', `"__proto__":1,"constructor":{"prototype":${poison}}`), []],
  ])('are dropped, and the event is processed with a warning: %s', async (_, content, kept) => {
    const seen: WebhookEvent[] = [];
    const handlers = { 'transaction.paid': (event: WebhookEvent) => void seen.push(event) };
    const receiver = startReceiver({ handlers });
    expect(await receiver.post(delivery(content))).toMatchObject(processed);
    expect(JSON.stringify(seen)).not.toMatch(/polluted|__proto__/);
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    expect(seen[0]?.payload.metadata).not.toHaveProperty('polluted');
    expect(Object.keys(seen[0]?.payload.metadata ?? {})).toEqual(
      expect.arrayContaining([...kept, 'cart.id']),
    );
    const warnings = receiver.log.lines.filter(({ level }) => level === 40);
    expect(warnings).toMatchObject([{ msg: expect.stringMatching(/prototype/) }]);
  });

  test.each([
    ['a text', '"Acme Ltd"'],
    ['null', 'null'],
    ['an object', '{"name":"Acme Ltd"}'],
    ['a list', '["Acme Ltd"]'],
  ])('are not meant by a mere field named constructor: %s', async (_, value) => {
    const seen: WebhookEvent[] = [];
    const handlers = { 'transaction.paid': (event: WebhookEvent) => void seen.push(event) };
    const receiver = startReceiver({ handlers });
    const content = damaged('"type":"order"', `"constructor":${value},"prototype":1,"toString":2`);
    expect(await receiver.post(delivery(content))).toMatchObject({ status: 200 });
    expect(JSON.stringify(seen[0]?.payload.metadata)).toContain(
      `"constructor":${value},"prototype":1,"toString":2`,
    );
    expect(receiver.log.lines.filter(({ level }) => level === 40)).toEqual([]);
  });

  test('are still an error when nothing else is there', async () => {
    const receiver = startReceiver();
    expect(await receiver.post(delivery(`{"__proto__":${good()}}`))).toMatchObject({ status: 422 });
    expect(receiver.handled).toEqual([]);
  });
});

describe('what the service may add any day', () => {
  test('is kept: fields, statuses, countries, values of metadata', async () => {
    const event = fixtures.transactionPaid({
      payload: {
        customer: { country_code: 'XK', city: null },
        transaction: { status: -99, currency: 'XBT' },
        metadata: { nested: { list: [1, 'two', null, { deep: true }] }, '': '', 'cart.id': '💳' },
      },
    });
    const grown = {
      ...event,
      api_version: 3,
      payload: {
        ...event.payload,
        refund: { id: 'r-1' },
        transaction: { ...event.payload.transaction, fee: '0.30' },
      },
    };
    const seen: unknown[] = [];
    const handlers = { 'transaction.paid': (given: unknown) => void seen.push(given) };
    const receiver = startReceiver({ handlers });
    expect(await receiver.post(delivery(grown))).toMatchObject({ status: 200 });
    expect(seen).toEqual([grown]);
  });
});

describe('content made to hurt', () => {
  const levels = 50_000;
  test.each<[string, string, number]>([
    [
      'lists nested deep',
      damaged('"type":"order"', `"deep":${'['.repeat(levels)}${']'.repeat(levels)}`),
      200,
    ],
    [
      'objects nested deep, a prototype at the end',
      damaged('"type":"order"', `"deep":${'{"a":'.repeat(levels)}{"__proto__":1}${'}'.repeat(levels)}`),
      200,
    ],
    ['nothing but nesting', '['.repeat(levels), 400],
    ['nested lists and no event', '['.repeat(levels) + ']'.repeat(levels), 422],
    [
      '100,000 keys',
      damaged('"type":"order"', Array.from({ length: 100_000 }, (_, i) => `"k${i}":${i}`).join()),
      200,
    ],
    [
      '100,000 keys at the root',
      damaged('{', `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":${i}`).join()},`),
      200,
    ],
    ['a million digits', damaged('"type":"order"', `"n":${'9'.repeat(1_000_000)}`), 200],
    ['a million digits for a status', damaged('"status":1', `"status":${'9'.repeat(1_000_000)}`), 422],
    ['a number beyond all', damaged('"type":"order"', '"n":1e999'), 200],
    ['a million brackets in a text', damaged('order-1042', '[{'.repeat(500_000)), 200],
  ])('gets an answer: %s', async (_, content, status) => {
    const receiver = startReceiver({ limit: '4mb' });
    expect(await receiver.post(delivery(content))).toMatchObject({ status });
    expect(receiver.records).toMatchObject([{ status }]);
  });
});

describe('what a log line says of an event', () => {
  test('is one line of JSON with id and name cut to 64 characters', async () => {
    const receiver = startReceiver();
    const event = fixtures.event(`a.${'b'.repeat(200)}`, {}, { id: 'i'.repeat(200) });
    await receiver.post(delivery(event));
    expect(receiver.log.text.length).toBeGreaterThan(0);
    for (const line of receiver.log.text) {
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
    expect(await receiver.post(delivery(event))).toMatchObject({ status: 200 });
    expect(await receiver.post(delivery({ ...event, id: nasty }))).toMatchObject({ status: 422 });
    expect(await receiver.post(delivery({ ...event, event_name: `a.${nasty}` }))).toMatchObject({
      status: 422,
    });
    expect(receiver.log.text.join('')).not.toMatch(/forged|\[31m|u001b|u2028|ud800/i);
    expect(receiver.log.text).toHaveLength(3);
  });
});

describe('declared events', () => {
  const refund = v.object({
    refund: v.object({ id: v.string(), amount: v.pipe(v.string(), v.transform(Number)) }),
  });

  test.each([
    ['zod', z.object({ refund: z.object({ id: z.string(), amount: z.coerce.number() }) })],
    ['valibot', refund],
    ['a schema that answers later', later(refund)],
  ])('are given as their schema makes them: %s', async (_, schema) => {
    const seen: unknown[] = [];
    const receiver = startReceiver({
      events: { 'refund.made': schema },
      handlers: { 'refund.made': (event) => void seen.push(event.payload) },
    });
    const event = fixtures.event('refund.made', { refund: { id: 'r-1', amount: '7.50' } });
    expect(await receiver.post(delivery(event))).toMatchObject(processed);
    expect(seen).toEqual([{ refund: { id: 'r-1', amount: 7.5 } }]);
  });

  test.each([
    ['zod', z.object({ refund: z.object({ id: z.string() }) })],
    ['valibot', refund],
    ['a schema that answers later', later(refund)],
  ])('are refused as their schema says, without the value: %s', async (_, schema) => {
    const receiver = startReceiver({ events: { 'refund.made': schema } });
    const event = fixtures.event('refund.made', { refund: { id: 4_242_424_242, amount: '1' } });
    const reply = await receiver.post(delivery(event));
    expect(reply).toMatchObject({
      status: 422,
      body: { issues: [{ path: 'payload.refund.id', message: 'expected string' }] },
    });
    expect(JSON.stringify(reply) + receiver.log.text.join('')).not.toContain('4242424242');
  });

  test('may be judged by a promise of another realm', async () => {
    const seen: unknown[] = [];
    const validate = () => runInNewContext('Promise.resolve({ value: { judged: true } })');
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as StandardSchemaV1;
    const receiver = startReceiver({
      events: { 'refund.made': schema },
      handlers: { 'refund.made': (event) => void seen.push(event.payload) },
    });
    expect(await receiver.post(delivery(fixtures.event('refund.made', {})))).toMatchObject({ status: 200 });
    expect(seen).toEqual([{ judged: true }]);
  });

  test.each<[string, () => unknown, number, string]>([
    ['throws', () => raise(new Error('of its own')), 500, 'HANDLER_FAILED'],
    ['rejects', () => Promise.reject(new Error('of its own')), 500, 'HANDLER_FAILED'],
    ['answers nothing', () => undefined, 500, 'HANDLER_FAILED'],
    ['resolves with nothing', async () => undefined, 500, 'HANDLER_FAILED'],
    ['resolves with null', async () => null, 500, 'HANDLER_FAILED'],
    ['never answers', () => new Promise(() => {}), 503, 'HANDLER_TIMEOUT'],
  ])(
    'are delivered again, and no matter for onInvalid, when their schema %s',
    async (_, validate, status, code) => {
      const schema = { '~standard': { version: 1, vendor: 'test', validate } } as never;
      const receiver = startReceiver({ events: { 'refund.made': schema }, storeTimeout: 100 });
      receiver.hooks.onInvalid(() => void receiver.handled.push('invalid'));
      const reply = await receiver.post(delivery(fixtures.event('refund.made', {})));
      expect(reply).toMatchObject({ status, body: { code } });
      expect(JSON.stringify(reply) + receiver.log.text.join('')).not.toContain('of its own');
      expect(receiver.handled).toEqual([]);
    },
  );

  test('may replace the schema of a built-in one', async () => {
    const receiver = startReceiver({ events: { 'transaction.paid': z.object({ only: z.string() }) } });
    expect(await receiver.post(delivery(fixtures.transactionPaid()))).toMatchObject({ status: 422 });
    const event = fixtures.event('transaction.paid', { only: 'this' });
    expect(await receiver.post(delivery(event))).toMatchObject(processed);
  });
});

describe('the issues of an event that does not fit', () => {
  const issuesOf = async (options: ReceiverOptions, event: unknown) =>
    ((await startReceiver(options).post(delivery(event))).body as { issues: unknown }).issues;
  const made = (payload: object) => fixtures.event('refund.made', payload);
  const good = fixtures.transactionPaid();
  const { payload } = good;

  test.each<[string, object, object[]]>([
    [
      'an id',
      { ...good, id: 'a b' },
      [{ path: 'id', message: 'expected 1 to 255 printable ASCII characters' }],
    ],
    [
      'a name',
      { ...good, event_name: 'paid' },
      [{ path: 'event_name', message: 'expected <resource>.<action> in printable ASCII' }],
    ],
    [
      'a status',
      { ...good, payload: { ...payload, transaction: { ...payload.transaction, status: 1.5 } } },
      [{ path: 'payload.transaction.status', message: 'expected integer' }],
    ],
  ])('say in our own words what was expected of %s', async (_, event, issues) => {
    expect(await issuesOf({}, event)).toEqual(issues);
  });

  test('say of another schema only what it expected, at no length', async () => {
    const currencies = Array.from({ length: 50 }, (_, i) => `C${i}`);
    const events = { 'refund.made': v.object({ currency: v.picklist(currencies) }) };
    const [issue] = (await issuesOf({ events }, made({ currency: 'XBT' }))) as [{ message: string }];
    expect(issue.message).toMatch(/^expected \("C0" \| "C1" \| /);
    expect(issue.message).toHaveLength(100);
  });

  test.each<[string, StandardSchemaV1, object, object]>([
    [
      'a rule of its own',
      z.object({ amount: z.string().refine((text) => Number(text) > 0, 'the secret rule') }),
      { amount: '-7' },
      { path: 'payload.amount', message: 'does not fit the declared schema' },
    ],
    [
      'a rule about the whole payload',
      z.object({}).refine(() => false),
      {},
      { path: 'payload', message: 'does not fit the declared schema' },
    ],
    [
      'an issue that has no path',
      fails({ message: 'Ada Lovelace' }),
      {},
      { path: 'payload', message: 'does not fit the declared schema' },
    ],
    [
      'an expectation that is no text',
      fails({ message: 'Ada Lovelace', path: ['amount'], expected: { value: 'Ada Lovelace' } }),
      {},
      { path: 'payload.amount', message: 'does not fit the declared schema' },
    ],
  ])('say no more than that for %s', async (_, schema, given, issue) => {
    expect(await issuesOf({ events: { 'refund.made': schema } }, made(given))).toEqual([issue]);
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
    const events = { 'refund.made': z.object({ notes: z.record(z.string(), z.string()) }) };
    expect(await issuesOf({ events }, made({ notes: { [key]: 1 } }))).toEqual([
      { path: `payload.notes.${shown}`, message: 'expected string' },
    ]);
  });

  test('name the place in a list', async () => {
    const events = { 'refund.made': z.object({ lines: z.array(z.string()) }) };
    const lines = Array.from({ length: 13 }, (_, i) => (i === 12 ? 0 : 'ok'));
    expect(await issuesOf({ events }, made({ lines }))).toEqual([
      { path: 'payload.lines.12', message: 'expected string' },
    ]);
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
    const receiver = startReceiver({ sandbox });
    const event = fixtures.transactionPaid({ sandbox: flag });
    expect(await receiver.post(delivery(event))).toMatchObject({ status: 200, body: { outcome } });
    expect(receiver.handled).toEqual(outcome === 'processed' ? [event.id] : []);
    expect(receiver.records).toMatchObject([{ outcome, sandbox: flag }]);
  });

  test('does not let a sandbox key vouch for a live event that it would ignore', async () => {
    const receiver = startReceiver({ sandbox: 'only', privateKey: SANDBOX_KEY });
    const event = fixtures.transactionPaid({ sandbox: false });
    expect(await receiver.post(delivery(event, SANDBOX_KEY))).toMatchObject({ status: 401 });
  });

  test('ignores an event before its payload is looked at', async () => {
    const receiver = startReceiver({ sandbox: 'ignore' });
    const event = { ...fixtures.transactionPaid({ sandbox: true }), payload: {} };
    expect(await receiver.post(delivery(event))).toMatchObject(ignored);
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
  const validate = () => ({ issues: [issue as StandardSchemaV1.Issue] });
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

function raise(error: unknown): never {
  throw error;
}
