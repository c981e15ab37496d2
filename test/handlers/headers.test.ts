import { describe, expect, test } from '@jest/globals';
import { type Answer, receiver } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { type HeadersLike, headersOf } from '../../src/handlers/headers.js';
import { delivery, hmac, KEY } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';

type Pairs = readonly (readonly [string, string])[];

/** The ways in which platforms hand over headers. */
const spellings: [string, (pairs: Pairs) => HeadersLike][] = [
  ['Node', (pairs) => Object.fromEntries(joined(pairs))],
  [
    'an API gateway',
    (pairs) => Object.fromEntries(joined(pairs).map(([name, value]) => [title(name), value])),
  ],
  ['an API gateway, as lists', (pairs) => lists(pairs)],
  ['fetch', (pairs) => new Headers(pairs.map(([name, value]) => [name, value]))],
  ['a Map', (pairs) => new Map(joined(pairs)) as unknown as Headers],
];

/** A good delivery with one thing damaged, as pairs of headers and a body. */
const damages: [string, (good: { pairs: Pairs; body: Buffer }) => { pairs: Pairs; body: Buffer }][] = [
  ['nothing', (good) => good],
  ['no signature', ({ body }) => ({ body, pairs: [] })],
  ['an empty signature', ({ body }) => ({ body, pairs: [['X-SERVICE-SIGNATURE', '']] })],
  [
    'a signature in upper case',
    ({ body }) => ({ body, pairs: [['X-SERVICE-SIGNATURE', hmac(body).toUpperCase()]] }),
  ],
  ['two signatures', ({ pairs, body }) => ({ body, pairs: [...pairs, ['x-service-signature', hmac(body)]] })],
  ['another key', ({ body }) => ({ body, pairs: [['X-SERVICE-SIGNATURE', hmac(body, 'pri_x')]] })],
  ['one byte more', ({ pairs, body }) => ({ pairs, body: Buffer.concat([body, Buffer.from(' ')]) })],
  ['an encoding', ({ pairs, body }) => ({ body, pairs: [...pairs, ['Content-Encoding', 'gzip']] })],
  [
    'a charset',
    ({ pairs, body }) => ({ body, pairs: [...pairs, ['Content-Type', 'text/plain; charset=latin1']] }),
  ],
  ['a wrong length', ({ pairs, body }) => ({ body, pairs: [...pairs, ['Content-Length', '7']] })],
  ['too long a length', ({ pairs, body }) => ({ body, pairs: [...pairs, ['Content-Length', '999999']] })],
  ['no JSON', () => signedPairs(Buffer.from('hello'))],
  ['an empty body', () => signedPairs(Buffer.alloc(0))],
  ['no event', () => signedPairs(Buffer.from('{}'))],
  ['too large a body', () => signedPairs(Buffer.alloc(300_000, 'x'))],
];

describe('receive()', () => {
  describe.each(spellings)('with the headers of %s', (_, spell) => {
    test.each(damages)('answers as over HTTP when the damage is %s', async (_, damage) => {
      const { pairs, body } = damage(signedPairs(delivery().body));
      const sent = { rawBody: body, headers: spell(pairs) };
      const direct = await receiver({ privateKey: KEY, logger: false, handlers: { '*': () => {} } }).receive(
        sent,
      );
      expect(outline(direct)).toEqual(await overHttp(pairs, body));
    });
  });

  test.each<[string, (body: Buffer) => Buffer | Uint8Array | ArrayBuffer | string]>([
    ['a Buffer', (body) => body],
    ['bytes', (body) => Uint8Array.from(body)],
    ['a view into larger memory', (body) => Uint8Array.from([1, 2, ...body, 3]).subarray(2, -1)],
    ['an ArrayBuffer', (body) => Uint8Array.from(body).buffer],
    ['text', (body) => body.toString()],
  ])('takes the body as %s', async (_, as) => {
    const hooks = receiver({ privateKey: KEY, logger: false, handlers: { '*': () => {} } });
    const { body, headers } = delivery(
      fixtures.transactionPaid({ payload: { customer: { city: 'Zürich 🏔' } } }),
    );
    expect(await hooks.receive({ rawBody: as(body), headers })).toMatchObject({ status: 200 });
  });

  test.each([undefined, null, 42, {}, { type: 'Buffer', data: [] }])(
    'says that the raw body is gone when given %j',
    async (rawBody) => {
      const hooks = receiver({ privateKey: KEY, logger: false });
      const { headers } = delivery();
      expect(outline(await hooks.receive({ rawBody: rawBody as never, headers }))).toEqual([
        500,
        'BODY_CONSUMED',
      ]);
    },
  );

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a number', 42],
    ['a text', 'X-SERVICE-SIGNATURE: aa'],
    ['an empty list', []],
    ['a flat list, as rawHeaders', ['Host', 'localhost']],
    ['pairs without a name', [[], [null, 'a'], [7, 7]]],
    ['a list of nothing', [null]],
    ['a value that is no text', { 'x-a': Symbol('a') }],
    ['a value that cannot become text', { 'x-a': Object.create(null) }],
    ['a list of such values', { 'x-a': [Object.create(null)] }],
    ['a getter that throws', throwsWhenRead()],
  ])('never rejects, whatever the headers are: %s', async (_, headers) => {
    const hooks = receiver({ privateKey: KEY, logger: false });
    const answer = hooks.receive({ rawBody: '{}', headers: headers as HeadersLike });
    expect(outline(await answer)).toEqual([401, undefined]);
  });
});

function throwsWhenRead(): object {
  const read = () => {
    throw new Error('of the getter');
  };
  return Object.defineProperty({}, 'x-a', { get: read, enumerable: true });
}

describe('headersOf', () => {
  test('spells names as Node does and joins what came twice', () => {
    const given = { 'X-One': 'a', 'x-one': 'b', 'X-Two': ['c', 'd'], 'X-None': undefined, 'X-Number': 7 };
    expect({ ...headersOf(given as unknown as HeadersLike) }).toEqual({
      'x-one': 'a, b',
      'x-two': 'c, d',
      'x-number': '7',
    });
  });

  test('knows no header that was not sent, whatever its name', () => {
    const headers = headersOf({});
    for (const name of ['constructor', '__proto__', 'toString']) expect(headers[name]).toBeUndefined();
  });

  test('reads the headers of another implementation of fetch', () => {
    class OtherHeaders {
      *[Symbol.iterator]() {
        yield ['x-one', 'a'];
      }
    }
    expect({ ...headersOf(new OtherHeaders() as unknown as Headers) }).toEqual({ 'x-one': 'a' });
  });
});

function signedPairs(body: Buffer): { pairs: Pairs; body: Buffer } {
  return { body, pairs: [['X-SERVICE-SIGNATURE', hmac(body)]] };
}

/** Status and code: what an answer says. */
function outline({ status, body }: Answer): [number, unknown] {
  return [status, JSON.parse(body).code];
}

async function overHttp(pairs: Pairs, body: Buffer): Promise<[number, unknown]> {
  const declared = pairs.find(([name]) => name === 'Content-Length');
  // A length other than the body's own is no request at all over HTTP; the platform has cut or grown the body.
  if (declared) return Number(declared[1]) > 262_144 ? [413, 'BODY_TOO_LARGE'] : [400, 'BODY_MALFORMED'];
  const endpoint = await startEndpoint();
  const reply = await endpoint.post({ body, headers: lists(pairs) as Record<string, never> });
  return [reply.status, (reply.body as { code?: string }).code];
}

function joined(pairs: Pairs): [string, string][] {
  return Object.entries(lists(pairs)).map(([name, values]) => [name, values.join(', ')]);
}

function lists(pairs: Pairs): Record<string, string[]> {
  const result: Record<string, string[]> = {};
  for (const [name, value] of pairs) {
    const key = name.toLowerCase();
    result[key] = [...(result[key] ?? []), value];
  }
  return result;
}

function title(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}
