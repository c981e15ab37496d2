import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, jest, test } from '@jest/globals';
import { buildSync } from 'esbuild';
import {
  ANSWERS,
  BodyError,
  ConfigurationError,
  type ErrorCode,
  EventError,
  HandlerError,
  Rejection,
  SignatureError,
  StoreError,
  WebhookError,
} from '../src/errors.js';
import { show } from '../src/misuse.js';
import { down } from './setup/raise.js';
import { ROOT } from './setup/shell.js';

const issues = [{ path: 'payload.transaction.id', message: 'expected string' }];

const KINDS = [
  ['SignatureError', SignatureError, new SignatureError('SIGNATURE_MISMATCH'), 'SIGNATURE_MISMATCH', 401],
  ['BodyError', BodyError, new BodyError('BODY_TOO_LARGE'), 'BODY_TOO_LARGE', 413],
  ['EventError', EventError, new EventError(issues), 'EVENT_INVALID', 422],
  ['HandlerError', HandlerError, new HandlerError([new Error('no')]), 'HANDLER_FAILED', 500],
  ['StoreError', StoreError, new StoreError('Redis is down.'), 'STORE_UNAVAILABLE', 503],
  ['ConfigurationError', ConfigurationError, new ConfigurationError('No key.'), 'CONFIGURATION_INVALID', 500],
] as const;

describe.each(KINDS)('%s', (name, Kind, error, code, status) => {
  test('carries its name, its code and the status of the code', () => {
    expect(error).toMatchObject({ name, code, status });
    expect(error).toBeInstanceOf(WebhookError);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toMatch(new RegExp(`^${name}: .`));
    expect(error.stack).toContain('errors.test');
  });

  test('names the command that explains it, in no message', () => {
    expect(error.help).toBe(`npx payment-webhooks explain ${code}`);
    expect(inspect(error)).toContain(error.help);
    expect(error.message).not.toContain('explain');
  });

  test('may be shown to the sender only below 500', () => {
    expect(error.expose).toBe(status < 500);
  });

  test('is of its own kind and of the base, and of no other kind', () => {
    expect(WebhookError.is(error)).toBe(true);
    expect(KINDS.filter(([, Other]) => Other.is(error)).map(([other]) => other)).toEqual([name]);
    expect(Kind.is(new WebhookError(code))).toBe(false);
  });
});

describe('the table of codes', () => {
  test.each(Object.entries(ANSWERS))(
    '%s has a status of an error, and a sentence',
    (code, { status, message }) => {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(message).toMatch(/^[A-Z].*\.$/);
      expect(new WebhookError(code as ErrorCode)).toMatchObject({ code, status, message });
    },
  );

  test('says the same to everybody who is not authentic', () => {
    const unauthentic = Object.values(ANSWERS).filter(({ status }) => status === 401);
    expect(unauthentic).toHaveLength(4);
    expect(new Set(unauthentic.map(({ message }) => message))).toEqual(new Set(['Unauthenticated.']));
  });
});

describe('WebhookError.is', () => {
  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['text', 'WebhookError'],
    ['an ordinary error', new Error('no')],
    ['an error of that name', Object.assign(new Error('no'), { name: 'WebhookError', code: 'CLOSING' })],
    ['a rejection, which is a value', new Rejection('CLOSING')],
    [
      'a value that throws when it is read',
      new Proxy(new SignatureError('SIGNATURE_MISSING'), { has: down }),
    ],
  ])('is false for %s', (_, value) => {
    expect(WebhookError.is(value)).toBe(false);
    expect(SignatureError.is(value)).toBe(false);
  });

  test('narrows the type', () => {
    const error: unknown = new EventError(issues);
    expect(EventError.is(error) && error.issues).toBe(issues);
  });

  test('knows the errors of another copy of the package, where instanceof does not', () =>
    jest.isolateModulesAsync(async () => {
      const copy = await import('../src/errors.js');
      const error = new copy.EventError(issues);
      expect(error).not.toBeInstanceOf(WebhookError);
      expect(WebhookError.is(error)).toBe(true);
      expect(EventError.is(error)).toBe(true);
      expect(BodyError.is(error)).toBe(false);
      expect(copy.EventError.is(new EventError(issues))).toBe(true);
    }));
});

/** What each exported class of errors takes. */
const ARGUMENTS: Readonly<Record<string, readonly unknown[]>> = {
  WebhookError: ['CLOSING'],
  SignatureError: ['SIGNATURE_MISMATCH'],
  BodyError: ['BODY_TOO_LARGE'],
  EventError: [issues],
  HandlerError: [[new Error('no')]],
  StoreError: ['Redis is down.'],
  ConfigurationError: ['No key.'],
  RetryAfterError: ['30s'],
  NonRetriableError: ['No such currency.'],
  ServiceError: ['SERVICE_FAILED', 'GET /account/me: answered 500.'],
  AuthenticationError: ['UNAUTHENTICATED', 'GET /account/me: answered 401.'],
  PermissionError: ['FORBIDDEN', 'GET /account/me: answered 403.'],
  NotFoundError: ['NOT_FOUND', 'DELETE /webhooks/1: answered 404.'],
  ValidationError: ['VALIDATION_FAILED', 'POST /webhooks: answered 422.', { issues }],
  RateLimitError: ['RATE_LIMITED', 'GET /webhooks: answered 429.'],
  ConnectionError: ['TIMED_OUT', 'GET /webhooks: no answer within 10 s.'],
};

interface ErrorClass {
  new (...args: readonly unknown[]): Error;
  is(error: unknown): boolean;
}
/** By the name that they are exported under. */
type ErrorClasses = ReadonlyMap<string, ErrorClass>;

function errorClassesOf(door: object): ErrorClasses {
  return new Map(Object.entries(door).filter(([, value]) => value?.prototype instanceof Error));
}

/** Names of the classes that take the error for one of theirs. */
function namesFor(error: unknown, classes: ErrorClasses): string[] {
  return [...classes].filter(([, Class]) => Class.is(error)).map(([name]) => name);
}

/** The door as an app has it after `esbuild --bundle --minify`. */
function minified(file: string): object {
  const { outputFiles } = buildSync({
    entryPoints: [join(ROOT, 'src', file)],
    bundle: true,
    minify: true,
    format: 'cjs',
    platform: 'node',
    packages: 'external',
    write: false,
  });
  const text = outputFiles[0]?.text ?? '';
  expect(text).not.toMatch(/class \w+Error\b/);
  const bundle = { exports: {} };
  new Function('module', 'require', text)(bundle, require);
  return bundle.exports;
}

describe('errors of an app that is minified', () => {
  const { exports: doors } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const files = Object.keys(doors)
    .filter((door) => door !== './package.json')
    .map((door) => (door === '.' ? 'index.ts' : `${door.slice(2)}.ts`));
  const plain = new Map(files.map((file) => [file, errorClassesOf(require(join(ROOT, 'src', file)))]));
  const withErrors = files.filter((file) => plain.get(file)?.size);
  /** Of all doors: no class of one family takes the errors of the other. */
  const all: ErrorClasses = new Map([...plain.values()].flatMap((classes) => [...classes]));

  test('are exported by these doors, and are all made here', () => {
    expect(withErrors).toEqual(['index.ts', 'client.ts']);
    expect([...all.keys()].sort()).toEqual(Object.keys(ARGUMENTS).sort());
  });

  test.each(withErrors)('keep their names and their kinds, beside a copy that is not: %s', (file) => {
    const short = errorClassesOf(minified(file));
    expect([...short.keys()].sort()).toEqual([...(plain.get(file)?.keys() ?? [])].sort());
    for (const [name, Short] of short) {
      const Plain = all.get(name) ?? Short;
      expect(Short).not.toBe(Plain);
      const kinds = [...all].filter(([, Kind]) => Kind === Plain || Plain.prototype instanceof Kind);
      const names = kinds.map(([kind]) => kind);
      for (const Class of [Plain, Short]) {
        const error = new Class(...(ARGUMENTS[name] ?? []));
        expect(error.name).toBe(name);
        expect(namesFor(error, all)).toEqual(names);
        expect(namesFor(error, short)).toEqual(names.filter((kind) => short.has(kind)));
      }
    }
  });
});

describe('what an error holds', () => {
  test('a HandlerError holds what the one handler threw, whatever it was', () => {
    const thrown = new Error('no');
    expect(new HandlerError([thrown]).cause).toBe(thrown);
    expect(new HandlerError([null]).cause).toBeNull();
  });

  test('a HandlerError of several holds them all', () => {
    const thrown = [new Error('one'), 'two'];
    const { cause } = new HandlerError(thrown);
    expect(cause).toBeInstanceOf(AggregateError);
    expect((cause as AggregateError).errors).toEqual(thrown);
  });

  test('a HandlerError says nothing of it in the message, which is for the sender', () => {
    expect(new HandlerError([new Error('canary')]).message).not.toContain('canary');
  });

  test('a StoreError holds what the driver threw', () => {
    const cause = new Error('ECONNREFUSED');
    expect(new StoreError('Redis is down.', { cause })).toMatchObject({ message: 'Redis is down.', cause });
  });

  test('an EventError holds places and expectations', () => {
    expect(new EventError(issues)).toMatchObject({ issues, message: ANSWERS.EVENT_INVALID.message });
    expect(new EventError(issues, 'More precisely.').message).toBe('More precisely.');
  });

  test.each([
    ['SignatureError', new SignatureError('SIGNATURE_MISSING')],
    ['BodyError', new BodyError('BODY_MALFORMED')],
    ['EventError', new EventError(issues)],
    ['StoreError', new StoreError('Full.')],
    ['ConfigurationError', new ConfigurationError('No key.')],
  ])('a %s has no cause, and shows no more than its own fields', (_, error) => {
    const fields = ['code', 'expose', 'help', 'name', 'status', ...('issues' in error ? ['issues'] : [])];
    expect('cause' in error).toBe(false);
    expect(Object.keys(error).sort()).toEqual(fields.sort());
    expect(inspect(error, { showHidden: true })).toContain(error.stack?.split('\n')[0]);
    expect(inspect(error, { showHidden: true })).not.toContain('[cause]');
  });
});

test('a Rejection is a value with a code, and what the operator and the sender may know', () => {
  const more = { hint: 'wait', retryAfterMs: 5, issues, cause: new Error('no') };
  expect({ ...new Rejection('IN_PROGRESS', more) }).toEqual({
    code: 'IN_PROGRESS',
    unproven: false,
    ...more,
  });
  expect(new Rejection('CLOSING')).toMatchObject({ code: 'CLOSING', retryAfterMs: 5_000 });
});

describe('a value in a message', () => {
  test.each([
    ['a private key', 'pri_5f2c9a7e'],
    ['a private key in quotes', '"pri_5f2c9a7e"'],
    ['an address with a user and a password', 'postgres://shop:5f2c9a7e@db.example/shop'],
    ['an address with a password alone', 'redis://:5f2c9a7e@cache.example'],
    ['an address with a password that is not escaped', 'postgres://shop:5f2c#9a/7e@db.example/shop'],
    ['a connection string with a password', 'host=db.example user=shop password=5f2c9a7e'],
  ])('is not shown if it is %s', (_, value) => {
    expect(show(value)).toBe('a string that may be a secret');
  });

  test.each(['soon', 'enterpri_se', 'https://shop.example/@ada', 'ada@shop.example'])(
    'is shown if it is %j',
    (value) => {
      expect(show(value)).toBe(JSON.stringify(value));
    },
  );
});
