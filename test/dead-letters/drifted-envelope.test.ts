// Authentic bodies without the documented shape of an event: kept under the digest of their bytes, and never lost.
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { memoryDeadLetters, type NewDeadLetter, type ReceiverOptions } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, KEY, SANDBOX_KEY } from '../setup/delivery.js';
import { frameworks, kept, startEndpoint } from '../setup/endpoint.js';
import { aLetter } from '../setup/letters.js';

const paid = fixtures.transactionPaid();
const { sandbox: _, ...withoutMode } = paid;
const digestOf = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

const DRIFTS: readonly (readonly [what: string, body: unknown, path: string, name: string])[] = [
  ['an empty list for a payload', { ...paid, payload: [] }, 'payload', 'transaction.paid'],
  ['no sandbox', withoutMode, 'sandbox', 'transaction.paid'],
  ['0 for sandbox', { ...paid, sandbox: 0 }, 'sandbox', 'transaction.paid'],
  ['a numeric id', { ...paid, id: 7 }, 'id', 'transaction.paid'],
  ['an id of 256 characters', { ...paid, id: 'x'.repeat(256) }, 'id', 'transaction.paid'],
  ['a name without an action', { ...paid, event_name: 'paid' }, 'event_name', 'invalid.envelope'],
  ['a list of events', [paid], '', 'invalid.envelope'],
  ['null', 'null', '', 'invalid.envelope'],
];

const start = (options: ReceiverOptions = {}, framework: (typeof frameworks)[number] = 'node:http') =>
  startEndpoint({ deadLetters: memoryDeadLetters(), handlers: { '*': () => {} }, ...options }, { framework });

describe.each(frameworks)('on %s', (framework) => {
  test.each(DRIFTS)('%s is kept, and answered 200', async (_what, body, path, eventName) => {
    const { hooks, post, records, log, letters } = await start({}, framework);
    const sent = delivery(body);
    expect(await post(sent)).toMatchObject(kept);
    const [letter, ...others] = await letters();
    expect(letter).toMatchObject({
      ...{ reason: 'invalid', code: 'EVENT_INVALID', eventName, sandbox: false, attempts: 1 },
      ...{ eventId: digestOf(sent.body), issues: [expect.objectContaining({ path })] },
    });
    expect(others).toEqual([]);
    expect(await hooks.deadLetters?.read(letter?.id ?? '')).toMatchObject({ rawBody: sent.body });
    expect(records).toMatchObject([{ outcome: 'kept', deadLetter: 'invalid', issues: [{ path }] }]);
    expect(log.lines[0]).toMatchObject({ level: 50, outcome: 'kept', issues: [{ path }] });
    // None of them has a `__proto__` key.
    expect(log.lines.filter(({ msg }) => /prototype pollution/.test(String(msg)))).toEqual([]);
  });
});

test.each(DRIFTS)('without dead letters %s is refused as before', async (_what, body, path) => {
  const { post, log } = await start({ deadLetters: undefined });
  const refused = { code: 'EVENT_INVALID', issues: [{ path }] };
  expect(await post(delivery(body))).toMatchObject({ status: 422, body: refused });
  expect(log.lines[0]).not.toHaveProperty('eventId');
});

test('the same bytes are one letter, and onInvalid does not get them', async () => {
  const { hooks, post, letters } = await start();
  const seen: unknown[] = [];
  hooks.onInvalid((error) => void seen.push(error));
  for (const id of [7, 7, 8]) await post(delivery({ ...paid, id }));
  expect(await letters()).toMatchObject([{ attempts: 2 }, { attempts: 1 }]);
  expect(seen).toEqual([]);
});

test('a replay decodes it again, and leaves what is still no event', async () => {
  const { hooks, post, letters } = await start();
  await post(delivery({ ...paid, payload: [] }));
  const still = { stillInvalid: 1, events: [{ issues: [{ path: 'payload', count: 1 }] }] };
  expect(await hooks.deadLetters?.replay({ dryRun: true })).toMatchObject(still);
  expect(await letters()).toMatchObject([{ attempts: 1 }]);
  expect(await hooks.deadLetters?.replay()).toMatchObject(still);
  expect(await letters()).toMatchObject([{ reason: 'invalid', attempts: 2, code: 'EVENT_INVALID' }]);
});

describe('the sandbox', () => {
  const privateKey = [KEY, SANDBOX_KEY];

  test('is the mode of what a sandbox key signed without one', async () => {
    const { post, letters } = await start({ privateKey });
    expect(await post(delivery(withoutMode, SANDBOX_KEY))).toMatchObject(kept);
    expect(await letters()).toMatchObject([{ sandbox: true }]);
    const live = delivery({ ...paid, payload: [] }, SANDBOX_KEY);
    expect(await post(live)).toMatchObject({ status: 401 });
  });

  test.each<[ReceiverOptions['sandbox'], unknown, string, string]>([
    ['ignore', { ...paid, sandbox: true, payload: [] }, KEY, 'ignored'],
    ['ignore', withoutMode, SANDBOX_KEY, 'ignored'],
    ['ignore', withoutMode, KEY, 'kept'],
    ['ignore', { ...paid, payload: [] }, KEY, 'kept'],
    ['only', { ...paid, payload: [] }, KEY, 'ignored'],
    ['only', { ...paid, sandbox: true, payload: [] }, KEY, 'kept'],
    ['only', withoutMode, KEY, 'kept'],
    ['accept', { ...paid, sandbox: true, payload: [] }, KEY, 'kept'],
  ])('with sandbox: %s, only what may be wanted is kept', async (sandbox, body, key, outcome) => {
    const { post, letters } = await start({ privateKey, sandbox });
    expect(await post(delivery(body, key))).toMatchObject({ status: 200, body: { outcome } });
    expect(await letters()).toHaveLength(outcome === 'kept' ? 1 : 0);
  });
});

describe('a letter that an earlier version took for no event', () => {
  /** As that version kept it. */
  const earlier = (event: object, given: Partial<NewDeadLetter> = {}) => {
    const rawBody = Buffer.from(JSON.stringify(event));
    const keyId = digestOf(KEY).slice(0, 12);
    return aLetter({ reason: 'invalid', eventId: digestOf(rawBody), rawBody, keyId, ...given });
  };

  test.each([
    ['at once', false],
    ['after a handler has failed', true],
  ])('is processed under its own id, and removed, %s', async (_, fails) => {
    const deadLetters = memoryDeadLetters();
    const ran: string[] = [];
    let down = fails;
    const handler = ({ id }: { id: string }) => {
      if (down) throw new Error('down');
      ran.push(id);
    };
    const { hooks, post, letters } = await start({ deadLetters, handlers: { '*': handler } });
    await deadLetters.keep(earlier(paid));
    if (fails) {
      expect(await hooks.deadLetters?.replay()).toMatchObject({ failed: 1 });
      expect(await letters()).toMatchObject([{ reason: 'failed', attempts: 2 }]);
      down = false;
    }
    expect(await hooks.deadLetters?.replay()).toMatchObject({ processed: 1 });
    expect([ran, await letters()]).toEqual([[paid.id], []]);
    expect(await post(delivery(paid))).toMatchObject({ body: { outcome: 'duplicate' } });
  });

  test('is removed, and not run, where its event was delivered again and processed', async () => {
    const deadLetters = memoryDeadLetters();
    const { hooks, post, letters } = await start({ deadLetters });
    await deadLetters.keep(earlier(paid));
    expect(await post(delivery(paid))).toMatchObject({ body: { outcome: 'processed' } });
    expect(await hooks.deadLetters?.replay()).toMatchObject({ duplicates: 1, processed: 0 });
    expect(await letters()).toEqual([]);
  });

  test('never becomes live money where a sandbox key had signed it', async () => {
    const deadLetters = memoryDeadLetters();
    const ran: unknown[] = [];
    const { hooks, letters } = await start({
      deadLetters,
      handlers: { '*': (event) => void ran.push(event) },
    });
    await deadLetters.keep(earlier(paid, { sandbox: true }));
    expect(await hooks.deadLetters?.replay({ keys: 'any' })).toMatchObject({ processed: 0 });
    expect(ran).toEqual([]);
    expect(await letters()).toHaveLength(1);
  });
});
