import { inspect } from 'node:util';
import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { buildSync } from 'esbuild';
import * as errors from '../src/errors.js';

const {
  BodyError,
  ConfigurationError,
  EventError,
  FAULTS,
  Fault,
  HandlerError,
  SignatureError,
  StoreError,
  WebhookError,
} = errors;

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

  test('may be shown to the sender only below 500', () => {
    expect(error.expose).toBe(status < 500);
  });

  test('is of its own kind and of the base, and of no other kind', () => {
    expect(WebhookError.is(error)).toBe(true);
    expect(KINDS.filter(([, Other]) => Other.is(error)).map(([other]) => other)).toEqual([name]);
    expect(Kind.is(new WebhookError(code))).toBe(false);
  });
});

describe('the table of faults', () => {
  test.each(Object.entries(FAULTS))(
    '%s has a status of an error, and a sentence',
    (code, { status, message }) => {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(message).toMatch(/^[A-Z].*\.$/);
      expect(new WebhookError(code as errors.ErrorCode)).toMatchObject({ code, status, message });
    },
  );

  test('says the same to everybody who is not authentic', () => {
    const unauthentic = Object.values(FAULTS).filter(({ status }) => status === 401);
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
    [
      'something that only bears the name',
      Object.assign(new Error('no'), { name: 'WebhookError', code: 'CLOSING' }),
    ],
    ['a fault, which is a value and no error', new Fault('CLOSING')],
  ])('is false for %s', (_, value) => {
    expect(WebhookError.is(value)).toBe(false);
    expect(SignatureError.is(value)).toBe(false);
  });

  test('narrows the type', () => {
    const error: unknown = new EventError(issues);
    expect(EventError.is(error) && error.issues).toBe(issues);
  });

  describe('across two copies of the package', () => {
    let copy: typeof errors;

    beforeAll(async () => {
      await jest.isolateModulesAsync(async () => {
        copy = await import('../src/errors.js');
      });
    });

    test('knows the errors of the other copy, where instanceof does not', () => {
      const error = new copy.EventError(issues);
      expect(error).not.toBeInstanceOf(WebhookError);
      expect(WebhookError.is(error)).toBe(true);
      expect(EventError.is(error)).toBe(true);
      expect(BodyError.is(error)).toBe(false);
      expect(copy.EventError.is(new EventError(issues))).toBe(true);
    });
  });

  test('knows them after a bundler has shortened the names of the classes', () => {
    const { outputFiles } = buildSync({
      entryPoints: [`${__dirname}/../src/errors.ts`],
      bundle: true,
      minify: true,
      format: 'cjs',
      write: false,
    });
    const bundle: { exports: typeof errors } = { exports: errors };
    new Function('module', outputFiles[0]?.text ?? '')(bundle);
    const { EventError: Minified, BodyError: Other, WebhookError: Base } = bundle.exports;
    expect(Minified).not.toBe(EventError);
    const error = new Minified(issues);
    expect([Base.is(error), Minified.is(error), Other.is(error)]).toEqual([true, true, false]);
    expect(EventError.is(error)).toBe(true);
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
    expect(new EventError(issues)).toMatchObject({ issues, message: FAULTS.EVENT_INVALID.message });
    expect(new EventError(issues, 'More precisely.').message).toBe('More precisely.');
  });

  test.each([
    ['SignatureError', new SignatureError('SIGNATURE_MISSING')],
    ['BodyError', new BodyError('BODY_MALFORMED')],
    ['EventError', new EventError(issues)],
    ['StoreError', new StoreError('Full.')],
    ['ConfigurationError', new ConfigurationError('No key.')],
  ])('a %s has no cause, and shows no more than its own fields', (_, error) => {
    const { stack = '', ...shown } = { ...error, stack: error.stack };
    expect('cause' in error).toBe(false);
    expect(Object.keys(shown).sort()).toEqual(
      ['code', 'expose', 'name', 'status', ...('issues' in error ? ['issues'] : [])].sort(),
    );
    expect(inspect(error, { showHidden: true })).toContain(stack.split('\n')[0]);
    expect(inspect(error, { showHidden: true })).not.toContain('[cause]');
  });
});

describe('Fault', () => {
  test('is a value with a code, and what the operator and the sender may know', () => {
    const cause = new Error('no');
    expect({ ...new Fault('IN_PROGRESS', { hint: 'wait', retryAfterMs: 5, issues, cause }) }).toEqual({
      code: 'IN_PROGRESS',
      hint: 'wait',
      retryAfterMs: 5,
      issues,
      cause,
    });
    expect(new Fault('CLOSING')).toEqual({ code: 'CLOSING' });
  });
});
