// One meaning of event patterns, at every door that takes one.
import { afterAll, describe, expect, test } from '@jest/globals';
import { ConfigurationError, memoryDeadLetters, receiver } from 'payment-webhooks';
import { startSimulator } from 'payment-webhooks/simulator';
import { isEventPattern, matchesEvent, prefixOf } from '../../src/events/event-pattern.js';
import { KEY } from '../setup/delivery.js';

const hooks = receiver({ privateKey: KEY, logger: false, deadLetters: memoryDeadLetters() });
const simulator = startSimulator({ port: 0 });
afterAll(async () => (await simulator).close());

/** Each accepts the pattern, or throws or rejects. */
const DOORS: Readonly<Record<string, (pattern: string) => unknown>> = {
  'hooks.on()': (pattern) => hooks.on(pattern as '*', () => {}),
  'the filter of letters': (event) => hooks.deadLetters.count({ event }),
  'the filter of a replay': (event) => hooks.deadLetters.replay({ event }),
  'a webhook of the simulator': async (pattern) =>
    (await simulator).webhooks.create({ url: 'http://127.0.0.1:1/hooks', events: [pattern] }),
};

const INVALID = ['a.b*', 'transaction.pa*', '*.paid', '*.*', 'a*.*', '**', 'transaction*', 'transaction', ''];

describe.each(Object.entries(DOORS))('a pattern that is passed to %s', (_, open) => {
  test.each(INVALID)('is refused as %j, which no event could match', async (pattern) => {
    const error: unknown = await (async () => open(pattern))().catch((thrown: unknown) => thrown);
    expect(ConfigurationError.is(error) && error.message).toContain(JSON.stringify(pattern));
  });

  test.each(['*', 'transaction.*', 'transaction.paid'])('is accepted as %j', async (pattern) => {
    await (async () => open(pattern))();
  });
});

test.each([
  ['*', 'refund.made', true],
  ['refund.*', 'refund.made', true],
  ['refund.*', 'refund.made.late', true],
  ['refund.*', 'refunds.made', false],
  ['refund.made', 'refund.made', true],
  ['refund.made', 'refund.made.late', false],
])('the pattern %j and the event %j: %j', (pattern, name, matches) => {
  expect(isEventPattern(pattern)).toBe(true);
  expect(matchesEvent(pattern, name)).toBe(matches);
  const prefix = prefixOf(pattern);
  if (prefix !== undefined) expect(name.startsWith(prefix)).toBe(matches);
});
