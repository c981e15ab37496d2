import { describe, expect, test } from '@jest/globals';
import { type Answer, receiver } from 'payment-webhooks';
import { type HeadersLike, headersOf } from '../../src/http/headers.js';
import { delivery, hmac, KEY } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { raise } from '../setup/raise.js';

const SIGNATURE = 'X-SERVICE-SIGNATURE';
type Pairs = readonly (readonly [string, string])[];

/** The ways in which platforms hand over headers. */
const spellings: [string, (pairs: Pairs) => HeadersLike][] = [
  ['Node', (pairs) => Object.fromEntries(joined(pairs))],
  [
    'an API gateway',
    (pairs) => Object.fromEntries(joined(pairs).map(([name, value]) => [title(name), value])),
  ],
  ['an API gateway, as lists', lists],
  ['fetch', (pairs) => new Headers(pairs.map(([name, value]) => [name, value]))],
  ['a Map', (pairs) => new Map(joined(pairs)) as unknown as Headers],
];

/** A good delivery with one thing damaged, as pairs of headers and a body. */
const damages: [string, (pairs: Pairs, body: Buffer) => { pairs: Pairs; body: Buffer }][] = [
  ['nothing', (pairs, body) => ({ pairs, body })],
  ['no signature', (_, body) => ({ pairs: [], body })],
  ['an empty signature', (_, body) => ({ pairs: [[SIGNATURE, '']], body })],
  ['a signature in upper case', (_, body) => ({ pairs: [[SIGNATURE, hmac(body).toUpperCase()]], body })],
  ['two signatures', (pairs, body) => ({ pairs: [...pairs, ['x-service-signature', hmac(body)]], body })],
  ['another key', (_, body) => ({ pairs: [[SIGNATURE, hmac(body, 'pri_x')]], body })],
  ['one byte more', (pairs, body) => ({ pairs, body: Buffer.concat([body, Buffer.from(' ')]) })],
  ['an encoding', (pairs, body) => ({ pairs: [...pairs, ['Content-Encoding', 'gzip']], body })],
  ['a charset', (pairs, body) => ({ pairs: [...pairs, ['Content-Type', 'a/b; charset=latin1']], body })],
  ['a wrong length', (pairs, body) => ({ pairs: [...pairs, ['Content-Length', '7']], body })],
  ['too long a length', (pairs, body) => ({ pairs: [...pairs, ['Content-Length', '999999']], body })],
  ['no JSON', () => signed(Buffer.from('hello'))],
  ['an empty body', () => signed(Buffer.alloc(0))],
  ['no event', () => signed(Buffer.from('{}'))],
  ['too large a body', () => signed(Buffer.alloc(300_000, 'x'))],
];

const unreadable = () => raise(new Error('of the getter'));

describe('receive()', () => {
  const hooks = () => receiver({ privateKey: KEY, logger: false, handlers: { '*': () => {} } });

  describe.each(spellings)('with the headers of %s', (_, spell) => {
    test.each(damages)('answers as over HTTP when the damage is %s', async (_, damage) => {
      const good = delivery().body;
      const { pairs, body } = damage(signed(good).pairs, good);
      const direct = await hooks().receive({ rawBody: body, headers: spell(pairs) });
      expect(outline(direct)).toEqual(await overHttp(pairs, body));
    });
  });

  test.each([undefined, null, 42, {}, { type: 'Buffer', data: [] }])(
    'says that the raw body is gone when given %j',
    async (rawBody) => {
      const { headers } = delivery();
      const answer = await hooks().receive({ rawBody: rawBody as never, headers });
      expect(outline(answer)).toEqual([500, 'BODY_CONSUMED']);
    },
  );

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a number', 42],
    ['a text', 'X-SERVICE-SIGNATURE: aa'],
    ['an empty array', []],
    ['a flat list, as rawHeaders', ['Host', 'localhost']],
    ['pairs without a name', [[], [null, 'a'], [7, 7]]],
    ['a list of nothing', [null]],
    ['a value that is no text', { 'x-a': Symbol('a') }],
    ['a value that cannot become text', { 'x-a': Object.create(null) }],
    ['a list of such values', { 'x-a': [Object.create(null)] }],
    ['a getter that throws', Object.defineProperty({}, 'x-a', { get: unreadable, enumerable: true })],
  ])('never rejects, whatever the headers are: %s', async (_, headers) => {
    const answer = await hooks().receive({ rawBody: '{}', headers: headers as HeadersLike });
    expect(outline(answer)).toEqual([401, undefined]);
  });

  test.each([undefined, null, 'text'])('never rejects, given %p', async (given) => {
    expect(outline(await hooks().receive(given as never))).toEqual([401, undefined]);
  });
});

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
    const other = { [Symbol.iterator]: () => [['x-one', 'a']].values() };
    expect({ ...headersOf(other as unknown as Headers) }).toEqual({ 'x-one': 'a' });
  });
});

function signed(body: Buffer): { pairs: Pairs; body: Buffer } {
  return { pairs: [[SIGNATURE, hmac(body)]], body };
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
