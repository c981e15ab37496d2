import { describe, expect, test } from '@jest/globals';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import {
  BodyError,
  ConfigurationError,
  EventError,
  isKnown,
  SignatureError,
  WebhookError,
} from 'payment-webhooks';
import { type ConstructEventOptions, constructEvent } from 'payment-webhooks/verify';
import { z } from 'zod';
import { fixtures } from '../src/fixtures/fixture.js';
import { delivery, hmac, KEY, SANDBOX_KEY } from './setup/delivery.js';
import { raise } from './setup/raise.js';

/** What a good delivery is given as; a test replaces one part. */
function given(content?: unknown, key = KEY) {
  const { body, headers } = delivery(content, key);
  const signature: unknown = headers['x-service-signature'];
  const privateKey: ConstructEventOptions['privateKey'] = key;
  return { rawBody: body, signature, privateKey };
}

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('It threw nothing.');
}

describe('constructEvent', () => {
  const event = fixtures.transactionPaid({ payload: { customer: { name: 'Zoë 🎉' } } });

  test.each<[string, (raw: Uint8Array) => string | Uint8Array]>([
    ['a Buffer', (raw) => raw],
    ['bytes that are no Buffer', (raw) => Uint8Array.from(raw)],
    ['a view into larger memory', (raw) => Uint8Array.from([0, 0, 0, ...raw]).subarray(3)],
    ['text', (raw) => Buffer.from(raw).toString()],
  ])('returns the event in a good delivery, given as %s', (_, as) => {
    const good = given(event);
    expect(constructEvent({ ...good, rawBody: as(good.rawBody) })).toEqual(event);
  });

  test.each<[string, ConstructEventOptions['privateKey']]>([
    ['text', KEY],
    ['bytes', Buffer.from(KEY)],
    ['a list', ['pri_other', KEY]],
    ['a list of bytes and text', [Buffer.from('pri_other'), KEY]],
  ])('takes the key as %s', (_, privateKey) => {
    expect(constructEvent({ ...given(event), privateKey })).toEqual(event);
  });

  test('returns a declared event as its schema makes it, and isKnown narrows to it', () => {
    const events = { 'refund.made': z.object({ amount: z.coerce.number() }) };
    const refund = fixtures.event('refund.made', { amount: '7.50' });
    const made = constructEvent({ ...given(refund), events });
    if (!isKnown(made) || made.event_name !== 'refund.made') throw new Error('It is known.');
    expect(made.payload.amount).toBe(7.5);
  });

  test('returns an event that nobody declared, and isKnown says so', () => {
    const refund = fixtures.event('refund.made', { anything: ['goes'] });
    const unknown = constructEvent(given(refund));
    expect(unknown).toEqual(refund);
    if (isKnown(unknown)) throw new Error('Nobody declared it.');
    expect(unknown.payload.anything).toEqual(['goes']);
    expect(isKnown(constructEvent(given(event)))).toBe(true);
    expect(JSON.stringify(unknown)).toBe(JSON.stringify(refund));
  });

  test('returns sandbox events too', () => {
    const sandbox = fixtures.transactionPaid({ sandbox: true });
    expect(constructEvent(given(sandbox, SANDBOX_KEY))).toEqual(sandbox);
  });

  test.each<[string, Partial<ConstructEventOptions>]>([
    ['SIGNATURE_MISSING', { signature: undefined }],
    ['SIGNATURE_MISSING', { signature: null }],
    ['SIGNATURE_MISSING', { signature: '' }],
    ['SIGNATURE_MALFORMED', { signature: hmac('').toUpperCase() }],
    ['SIGNATURE_MALFORMED', { signature: [hmac('')] }],
    ['SIGNATURE_MALFORMED', { signature: `${given(event).signature}zz` }],
    ['SIGNATURE_MALFORMED', { signature: 7 }],
    ['SIGNATURE_MISMATCH', { privateKey: 'pri_other' }],
    ['SIGNATURE_MISMATCH', { privateKey: ['pri_other', 'pri_another'] }],
    ['SIGNATURE_MISMATCH', { rawBody: JSON.stringify(event, null, 1) }],
    ['KEY_MODE_MISMATCH', given(event, SANDBOX_KEY)],
    ['KEY_MODE_MISMATCH', { ...given(event, SANDBOX_KEY), privateKey: Buffer.from(SANDBOX_KEY) }],
    ['KEY_MODE_MISMATCH', { ...given(event, SANDBOX_KEY), privateKey: [KEY, Buffer.from(SANDBOX_KEY)] }],
  ])('throws SignatureError with %s: %j', (code, damage) => {
    const error = thrownBy(() => constructEvent({ ...given(event), ...damage }));
    expect(error).toBeInstanceOf(SignatureError);
    expect(error).toMatchObject({ name: 'SignatureError', code, status: 401, expose: true });
    expect(SignatureError.is(error)).toBe(true);
  });

  test.each(['', 'no JSON', '{"a":1,}', Buffer.from([0xff, 0xfe])])(
    'throws BodyError for what is no JSON text: %p',
    (content) => {
      const error = thrownBy(() => constructEvent(given(content)));
      expect(error).toBeInstanceOf(BodyError);
      expect(error).toMatchObject({ code: 'BODY_MALFORMED', status: 400 });
    },
  );

  test('throws EventError with issues for what is no event, or does not fit', () => {
    const unfit = { ...event, payload: { ...event.payload, transaction: null } };
    for (const [content, path] of [
      ['[]', ''],
      [{ ...event, id: '' }, 'id'],
      [unfit, 'payload.transaction'],
    ] as const) {
      const error = thrownBy(() => constructEvent(given(content)));
      expect(error).toBeInstanceOf(EventError);
      expect(error).toMatchObject({ code: 'EVENT_INVALID', status: 422, issues: [{ path }] });
    }
  });

  test.each<[string, Partial<Record<keyof ConstructEventOptions, unknown>>, RegExp]>([
    ['a parsed body', { rawBody: event }, /not the parsed body/],
    ['no body', { rawBody: undefined }, /rawBody/],
    ['no key', { privateKey: undefined }, /privateKey/],
    ['an empty key', { privateKey: '' }, /empty/],
    ['empty bytes for a key', { privateKey: Buffer.alloc(0) }, /empty/],
    ['no keys', { privateKey: [] }, /empty array/],
    ['a schema that is none', { events: { 'a.b': {} } }, /Standard Schema/],
    ['a name that is none', { events: { refund: z.object({}) } }, /<resource>\.<action>/],
  ])('throws ConfigurationError for %s', (_, damage, words) => {
    const error = thrownBy(() => constructEvent({ ...given(event), ...damage } as ConstructEventOptions));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID', message: expect.stringMatching(words) });
  });

  /** What is thrown for an event whose schema validates like this. */
  const thrownWith = (validate: StandardSchemaV1['~standard']['validate']) => {
    const schema: StandardSchemaV1 = { '~standard': { version: 1, vendor: 'test', validate } };
    const refund = given(fixtures.event('refund.made', {}));
    return thrownBy(() => constructEvent({ ...refund, events: { 'refund.made': schema } }));
  };

  test.each([
    ['resolves', async () => ({ value: {} })],
    ['rejects', () => Promise.reject(new Error('late'))],
  ])('says where to go with a schema that answers later and %s', (_, validate) => {
    const error = thrownWith(validate);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as Error).message).toMatch(/receive\(\)/);
  });

  test('lets through what a schema throws, as the cause', () => {
    const cause = new Error('of the schema');
    const error = thrownWith(() => raise(cause));
    expect(WebhookError.is(error)).toBe(true);
    expect(error).toMatchObject({ code: 'HANDLER_FAILED', cause });
  });
});
