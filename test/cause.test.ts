// The cause of a failed handler: it tells bugs apart in every runtime, and never holds a word of a message.
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { WebhookError } from '../src/errors.js';
import { causeOf, causeText } from '../src/logger.js';

/** An error as another runtime made it. */
function recorded(stack: string, given: { name?: string; code?: unknown } = {}): Error {
  const { name = 'TypeError', code } = given;
  const [header = ''] = stack.split('\n');
  const Class = { [name]: class extends Error {} }[name] ?? Error;
  const error = new Class(header.replace(/^[^:]*: /, ''));
  Object.defineProperty(error, 'stack', { value: stack });
  return code === undefined ? error : Object.assign(error, { code });
}

const PROPERTY = "TypeError: Cannot read properties of undefined (reading 'total')";

describe('the cause names the frame of the user', () => {
  test.each([
    ['TypeScript through tsx', `${PROPERTY}\n    at markPaid (/srv/app/src/orders.ts:10:16)`, 'orders.ts:10'],
    [
      'an ES module',
      `${PROPERTY}\n    at async file:///srv/app/dist/orders.js:7:16\n    at async file:///srv/app/dist/main.js:2:78`,
      'orders.js:7',
    ],
    ['CommonJS', `${PROPERTY}\n    at Object.<anonymous> (/srv/app/dist/orders.js:29:16)`, 'orders.js:29'],
    ['Windows', `${PROPERTY}\n    at markPaid (C:\\srv\\my app\\orders.ts:10:16)`, 'orders.ts:10'],
    ['Windows with URLs', `${PROPERTY}\n    at markPaid (file:///C:/srv/orders.ts:10:16)`, 'orders.ts:10'],
    ['a bundle', `${PROPERTY}\n    at r (file:///srv/app/server.mjs:1:82)`, 'server.mjs:1'],
    [
      'a bundle with --enable-source-maps',
      `${PROPERTY}\n    at r (/srv/app/src/orders.ts:10:16)`,
      'orders.ts:10',
    ],
    [
      'Next.js in development',
      `${PROPERTY}\n    at markPaid (webpack-internal:///(rsc)/./app/orders.ts:10:16)\n    at async AppRouteRouteModule.do (/srv/node_modules/next/dist/compiled/x.js:6:32)`,
      'orders.ts:10',
    ],
    ['Vite', `${PROPERTY}\n    at markPaid (/srv/app/src/orders.ts?t=1730:10:16)`, 'orders.ts:10'],
    [
      'a driver that fails inside',
      `${PROPERTY}\n    at node:internal/deps/undici/undici:14976:13\n    at Pool.query (/srv/node_modules/pg-pool/index.js:45:11)\n    at async fetchIt (/srv/app/src/orders.ts:13:35)`,
      'orders.ts:13',
    ],
    [
      'a function that JavaScript itself calls',
      `${PROPERTY}\n    at JSON.parse (<anonymous>)\n    at parseIt (/srv/app/src/orders.ts:12:41)`,
      'orders.ts:12',
    ],
    [
      'Deno',
      `${PROPERTY}\n    at ext:deno_fetch/26_fetch.js:2:7096\n    at async fetch (ext:deno_fetch/26_fetch.js:2:7360)\n    at async fetchIt (file:///tmp/st/src/orders.ts:13:35)\n    at async file:///tmp/st/src/main.ts:2:78`,
      'orders.ts:13',
    ],
    [
      'a package of Deno',
      `${PROPERTY}\n    at q (file:///deno-dir/npm/packages.example.com/pg/8.1.0/lib/client.js:1:2)\n    at pay (file:///srv/orders.ts:3:1)`,
      'orders.ts:3',
    ],
    [
      'Bun',
      `TypeError: undefined is not an object (evaluating 'x.a.b')\n    at <parse> (:0)\n    at parse (unknown)\n    at map (native:1:11)\n    at <anonymous> (/tmp/st/src/orders.ts:14:75)\n    at /tmp/st/src/main.ts:2:84`,
      'orders.ts:14',
    ],
  ])('of %s', (_, stack, at) => {
    expect(causeOf('mark-paid', recorded(stack))).toBe(`mark-paid: TypeError at ${at}`);
  });

  test.each([
    ['only of a driver', `${PROPERTY}\n    at Client.done (/srv/node_modules/pg/lib/client.js:526:17)`],
    [
      'only of the runtime',
      `${PROPERTY}\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)`,
    ],
    ['missing', PROPERTY],
    ['one whose file has a space in its name', `${PROPERTY}\n    at x (/srv/my orders.ts:1:1)`],
  ])('and no frame if it is %s', (_, stack) => {
    expect(causeOf('mark-paid', recorded(stack))).toBe('mark-paid: TypeError');
  });

  test('of an error without a message', () => {
    const stack = 'TypeError\n    at markPaid (/srv/app/src/orders.ts:10:16)';
    const error = Object.assign(new TypeError(), { stack });
    expect(causeOf('ship', error)).toBe('ship: TypeError at orders.ts:10');
  });

  test('of an error that is thrown here', () => {
    expect(causeOf('ship', new RangeError('x'))).toMatch(/^ship: RangeError at cause\.test\.ts:\d+$/);
  });
});

describe('the cause has a code that a system, a database or this package made', () => {
  const of = (code: unknown, message = 'down'): string =>
    causeOf('ship', Object.assign(new Error(message), { code, stack: '' }));

  test.each([
    ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1'],
    ['ERR_INVALID_ARG_TYPE', 'The argument'],
    ['23505', 'duplicate key value'],
    ['P2002', 'Unique constraint failed'],
    [1_062, 'Duplicate entry'],
  ])('%s', (code, message) => expect(of(code, message)).toBe(`ship: Error ${code}`));

  test('of an error of this package', () => {
    const error = Object.assign(new WebhookError('RETRY_LATER'), { stack: '' });
    expect(causeOf('ship', error)).toBe('ship: WebhookError RETRY_LATER');
  });

  // Careless code puts there what a customer typed: a name, a coupon, an order number.
  test.each([
    ['a name', 'Ada'],
    ['a name in capitals', 'LOVELACE'],
    ['two names', 'ADA_LOVELACE'],
    ['a user name', 'ada_lovelace'],
    ['a coupon', 'SUMMER2026'],
    ['a coupon with hyphens', 'ADA-20-OFF'],
    ['a file', 'ada.txt'],
    ['a long number', 1_234_567],
    ['a long number as text', '1234567'],
    ['a number that is no integer', 19.99],
    ['a number below 0', -4],
    ['a sentence', 'of Ada Lovelace'],
    ['an address', 'ada@example.com'],
    ['too long', 'A'.repeat(41)],
    ['empty', ''],
    ['an object', { toString: (): string => 'ADA' }],
    ['two lines', 'ADA\nLOVELACE'],
  ])('and none that is %s', (_, code) => expect(of(code)).toBe('ship: Error'));

  test('and none that the message has, such as the post code of a customer', () => {
    expect(of('90210', 'Nothing ships to 90210.')).toBe('ship: Error');
  });
});

test.each<[string, unknown, string]>([
  ['a string', 'Ada Lovelace', 'ship: string'],
  ['nothing', undefined, 'ship: undefined'],
  ['null', null, 'ship: null'],
  ['an object', { message: 'Ada' }, 'ship: object'],
  ['a revoked proxy', revoked(), 'ship: unreadable'],
])('of %s that is thrown says its type', (_, thrown, cause) => expect(causeOf('ship', thrown)).toBe(cause));

test('of a deadline names its handler and the code', () => {
  expect(causeText('ship', 'HANDLER_TIMEOUT')).toBe('ship: HANDLER_TIMEOUT');
});

describe('a handler whose name is', () => {
  const error = Object.assign(new Error('x'), { stack: '' });
  test('of several lines stays on one', () => {
    expect(causeOf('ship\r\n\u2028\u0000 "it"', error)).toBe('ship it : Error');
  });

  test('long is cut, and the frame is not', () => {
    const long = recorded(`${PROPERTY}\n    at x (/srv/orders.ts:10:1)`, { name: 'E'.repeat(64) });
    const cause = causeOf('h'.repeat(500), long);
    expect(cause).toMatch(/^h{63}…: E{64} at orders\.ts:10$/);
    expect(cause.length).toBeLessThanOrEqual(200);
  });
});

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable(new Error('Ada'), {});
  revoke();
  return proxy;
}

/** In no name, class, code or path of these tests. */
const CANARY = 'Qv7zLovelace';
const fails = (): never => {
  throw new Error(CANARY);
};

const canaryText = fc
  .array(
    fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.constantFrom(
        ...[
          `    at ${CANARY}.ts:1`,
          `    at ${CANARY} (/srv/${CANARY}.ts:1:1)`,
          `    at /srv/${CANARY}.ts:12:1`,
        ],
        ...[`    at async file:///${CANARY}.js:9:9`, `at ${CANARY}.ts:1`, ': ', 'Error', 'TypeError: '],
      ),
    ),
    { maxLength: 6 },
  )
  .map((lines) => [CANARY, ...lines].join('\n'));

/** What the code of a user, or of a package, may do to an error before it throws it. */
const changes: Readonly<Record<string, (error: Error, text: string) => unknown>> = {
  nothing: () => undefined,
  'another message': (error, text) => Object.assign(error, { message: `later ${text}` }),
  'no message': (error) => Object.assign(error, { message: '' }),
  'the first word of its message': (error) => Object.assign(error, { message: CANARY.slice(0, 3) }),
  'a message that is no text': (error) => Object.assign(error, { message: { toString: fails } }),
  'a getter of its message that throws': (error) => Object.defineProperty(error, 'message', { get: fails }),
  'a getter of its stack that throws': (error) => Object.defineProperty(error, 'stack', { get: fails }),
  'a stack that is no text': (error, text) => Object.assign(error, { stack: [text] }),
  'no stack': (error) => Object.assign(error, { stack: undefined }),
  'a stack that is its message': (error, text) => Object.assign(error, { stack: text }),
  'a stack of its own': (error, text) => Object.assign(error, { stack: `${error.stack}\n${text}` }),
  'a name of its own': (error, text) => Object.assign(error, { name: text }),
  'a code that is its message': (error, text) => Object.assign(error, { code: text }),
  'a code that is a word of it': (error) => Object.assign(error, { code: CANARY }),
  'a getter of its code that throws': (error) => Object.defineProperty(error, 'code', { get: fails }),
  'a class whose name throws': (error) =>
    Object.defineProperty(error, 'constructor', { value: Object.defineProperty({}, 'name', { get: fails }) }),
  'a class that is named by a sentence': (error, text) =>
    Object.assign(error, { constructor: { name: `${text} ` } }),
  'a class that its data names': (error) => Object.assign(error, { constructor: { name: CANARY } }),
  'a cause and errors': (error, text) => Object.assign(error, { cause: new Error(text), errors: [text] }),
};

const hostile = fc
  .record({
    text: canaryText,
    Class: fc.constantFrom(Error, TypeError, class Refused extends Error {}),
    change: fc.constantFrom(...Object.keys(changes)),
    wrapped: fc.constantFrom('no', 'proxy', 'proxy that throws', 'plain'),
  })
  .map(({ text, Class, change, wrapped }) => {
    const error = new Class(text);
    changes[change]?.(error, text);
    if (wrapped === 'proxy') return new Proxy(error, {});
    if (wrapped === 'proxy that throws') return new Proxy(error, { get: fails, getPrototypeOf: fails });
    return wrapped === 'plain' ? { [Symbol.toStringTag]: 'Error', message: text, stack: text } : error;
  });

test('no cause holds a word of a message, whatever is thrown, and none is longer than 200 characters or one line', () => {
  fc.assert(
    fc.property(hostile, fc.string({ maxLength: 300, unit: 'binary' }), (thrown, handler) => {
      const cause = causeOf(handler, thrown);
      expect(cause).not.toContain(CANARY.slice(0, 4));
      expect(cause).not.toMatch(/[\r\n\u2028\u2029\0]/);
      expect(cause.length).toBeLessThanOrEqual(200);
    }),
    { numRuns: 3_000 },
  );
});

test.each([
  ['message', (text: string) => new Error(text)],
  ['stack', (text: string) => Object.assign(new Error('x'), { stack: `Error: x\n${text}` })],
  ['name', (text: string) => Object.assign(new Error('x'), { name: text })],
  ['code', (text: string) => Object.assign(new Error('x'), { code: text })],
])('a %s of 1 MB takes no time', (_, errorWith) => {
  const texts = ['    at x (/srv/a.ts:1:1)\n'.repeat(42_000), 'a'.repeat(1e6), '    at '.repeat(150_000)];
  for (const text of [...texts, `    at ${'('.repeat(1e6)}`, '\n'.repeat(1e6), ': '.repeat(5e5)]) {
    const error = errorWith(text);
    const begin = performance.now();
    expect(causeOf('ship', error)).toMatch(/^ship: Error/);
    expect(performance.now() - begin).toBeLessThan(200);
  }
});
