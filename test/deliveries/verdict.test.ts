import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import * as verdicts from '../../src/deliveries/verdict.js';
import { NonRetriableError, RetryAfterError, WebhookError } from '../../src/index.js';
import { down } from '../setup/raise.js';

const { verdictOf } = verdicts;
const failure = new Error('no');
const soon = new RetryAfterError('5s');
const later = new RetryAfterError(90_000);
const never = new NonRetriableError('not ours');

describe('RetryAfterError', () => {
  test.each<[number | string, number]>([
    ['30s', 30_000],
    ['2 minutes', 120_000],
    [1_500, 1_500],
    [0, 0],
  ])('takes %j', (retryAfter, retryAfterMs) => {
    expect(new RetryAfterError(retryAfter)).toMatchObject({ name: 'RetryAfterError', retryAfterMs });
  });

  test('takes a Date, and one that is over means now', () => {
    const wait = new RetryAfterError(new Date(Date.now() + 60_000)).retryAfterMs;
    expect(wait).toBeGreaterThan(59_000);
    expect(wait).toBeLessThanOrEqual(60_000);
    expect(new RetryAfterError(new Date(0)).retryAfterMs).toBe(0);
  });

  test('has a message of its own, or that of the handler, and its cause', () => {
    expect(soon.message).toBe('The event cannot be processed yet.');
    const given = new RetryAfterError(1, 'No order yet.', { cause: failure });
    expect(given).toMatchObject({ message: 'No order yet.', cause: failure });
  });

  test.each<[unknown, string]>([
    ['soon', '"soon"'],
    [-1, '-1'],
    [Number.NaN, 'NaN'],
    [1e300, '1e+300'],
    [undefined, 'undefined'],
    [new Date(Number.NaN), 'an invalid Date'],
  ])('refuses %j', (retryAfter, shown) => {
    expect(() => new RetryAfterError(retryAfter as number)).toThrow(
      `RetryAfterError was given ${shown}. Pass milliseconds, a string like "30s", or a Date.`,
    );
  });
});

test('NonRetriableError takes a message and a cause, or neither', () => {
  expect(new NonRetriableError().message).toBe('The event can never be processed.');
  const given = new NonRetriableError('No such currency.', { cause: failure });
  expect(given).toMatchObject({ name: 'NonRetriableError', message: 'No such currency.', cause: failure });
});

describe('is()', () => {
  let copy: typeof verdicts;

  beforeAll(async () => {
    await jest.isolateModulesAsync(async () => {
      copy = await import('../../src/deliveries/verdict.js');
    });
  });

  test('knows the errors of another copy of the package, and tells them apart', () => {
    const [wait, refusal] = [new copy.RetryAfterError('7s'), new copy.NonRetriableError()];
    expect(wait).not.toBeInstanceOf(RetryAfterError);
    expect(RetryAfterError.is(wait) && NonRetriableError.is(refusal)).toBe(true);
    expect(RetryAfterError.is(refusal) || NonRetriableError.is(wait)).toBe(false);
    expect(verdictOf([wait])).toEqual({ verdict: 'later', delayMs: 7_000 });
    expect(verdictOf([refusal])).toMatchObject({ verdict: 'never' });
  });

  test('is not that of what the package itself throws', () => {
    expect(WebhookError.is(later) || WebhookError.is(never)).toBe(false);
    expect(RetryAfterError.is(new WebhookError('CLOSING'))).toBe(false);
  });
});

// Which of them counts: test/receiver/verdicts.test.ts.
describe('the verdict of several handlers', () => {
  test('carries what was thrown as the cause of a HandlerError', () => {
    expect(verdictOf([never])).toMatchObject({ error: { name: 'HandlerError', cause: never } });
    expect(verdictOf([never, failure])).toMatchObject({ error: { cause: { errors: [never, failure] } } });
  });

  test('is failed for what cannot be read', () => {
    const unknowable = new Proxy(new RetryAfterError(1), { has: down });
    expect(verdictOf([unknowable])).toMatchObject({ verdict: 'failed' });
    const unreadable = new Proxy(new RetryAfterError(1), { get: down });
    expect(verdictOf([unreadable])).toEqual({ verdict: 'later', delayMs: 0 });
    expect(verdictOf([null, undefined])).toMatchObject({ verdict: 'failed' });
  });
});
