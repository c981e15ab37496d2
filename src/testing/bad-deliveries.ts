// Bad deliveries, each a good one with one fault, and the status that a receiver must answer.
import { ConfigurationError } from '../errors.js';
import { isEnvelope, isEventName, isIdentifier, isMap } from '../events/envelope.js';
import { type PrivateKey, sign } from '../signature.js';
import { type SigningOptions, signatureHeaderName, signedDelivery } from './sign-delivery.js';

export interface BadDelivery {
  /** What is wrong with it, for the name of a test. */
  name: string;
  /** Send it unchanged. */
  body: string;
  headers: Record<string, string>;
  /** What `receiver()` answers. With `cachedKeys()` it is 503 instead of 401 soon after a load. */
  status: number;
}

/** An intact body with a wrong signature. */
const SIGNATURES: readonly [name: string, damage: (signature: string) => string][] = [
  ['an empty signature', () => ''],
  ['a signature in upper case', (signature) => signature.toUpperCase()],
  ['a truncated signature', (signature) => signature.slice(0, -1)],
  ['a signature of 32 digits', (signature) => signature.slice(0, 32)],
  ['a signature with one digit too many', (signature) => `${signature}0`],
  ['a signature followed by garbage', (signature) => `${signature}zz`],
  ['a signature with one digit changed', (digits) => (digits[0] === '0' ? '1' : '0') + digits.slice(1)],
  ['a signature with the prefix sha256=', (signature) => `sha256=${signature}`],
  ['a signature in base64', (signature) => Buffer.from(signature, 'hex').toString('base64')],
];

/** A changed body with the original signature. */
const TAMPERED: readonly [name: string, damage: (body: string) => string][] = [
  ['a body tampered with after signing', (body) => body.replace('{', '{"tampered":true,')],
  ['a body reserialized after signing', (body) => JSON.stringify(JSON.parse(body), null, 2)],
  ['a line break added after signing', (body) => `${body}\n`],
  ['the last byte removed after signing', (body) => body.slice(0, -1)],
];

/** Signed correctly, but not a valid event. */
const CONTENTS: readonly [name: string, status: number, damage: (body: string) => string][] = [
  ['an empty body', 400, () => ''],
  ['a body that is not JSON', 400, () => 'not JSON'],
  ['truncated JSON', 400, (body) => body.slice(0, -1)],
  ['two JSON documents', 400, (body) => body + body],
  ['a body of more than 1 MB', 413, (body) => body + ' '.repeat(1_048_576)],
  ['JSON that is not an event object', 422, () => '["event"]'],
  ['an event without an id', 422, (body) => withField(body, 'id', undefined)],
  ['an event with an id of spaces', 422, (body) => withField(body, 'id', '   ')],
  ['an event name without an action', 422, (body) => withField(body, 'event_name', 'transaction')],
  ['a sandbox flag that is text', 422, (body) => withField(body, 'sandbox', 'false')],
  ['a payload of the wrong type', 422, (body) => withField(body, 'payload', 'text')],
];

/** Signed correctly, in an encoding that makes it unclear which bytes were signed. */
const ENCODINGS: readonly [name: string, headers: Record<string, string>][] = [
  ['a Content-Encoding of gzip', { 'content-encoding': 'gzip' }],
  ['a charset of UTF-16', { 'content-type': 'application/json; charset=utf-16' }],
];

/**
 * Deliveries that must not reach a handler, as rows for `test.each`. Any HTTP client can send them.
 *
 * @param event an event that the receiver under test would accept
 * @throws {ConfigurationError} as `signedDelivery`, and for an invalid event
 * @example
 * test.each(badDeliveries(fixtures.transactionPaid(), { privateKey }))('$name: $status', async ({ body, headers, status }) => {
 *   await request(app).post('/hooks').set(headers).send(body).expect(status);
 * });
 */
export function badDeliveries(event: object, options: SigningOptions): BadDelivery[] {
  refuseInvalidEvent(event);
  const { body, headers } = signedDelivery(event, options);
  const header = signatureHeaderName(options);
  const { [header]: signature = '', ...unsigned } = headers;
  const withSignature = (text: string) => ({ headers: { ...unsigned, [header]: text } });
  const row = (name: string, status: number, change: Partial<BadDelivery>): BadDelivery => {
    return { name, body: change.body ?? body, headers: change.headers ?? { ...headers }, status };
  };
  return [
    row('no signature', 401, { headers: unsigned }),
    ...SIGNATURES.map(([name, damage]) => row(name, 401, withSignature(damage(signature)))),
    row('a signature by another key', 401, withSignature(sign(body, anotherKey(options.privateKey)))),
    ...TAMPERED.map(([name, damage]) => row(name, 401, { body: damage(body) })),
    ...CONTENTS.map(([name, status, damage]) => row(name, status, signedDelivery(damage(body), options))),
    ...ENCODINGS.map(([name, more]) => row(name, 415, { headers: { ...headers, ...more } })),
  ];
}

function withField(body: string, field: string, value: unknown): string {
  return JSON.stringify({ ...JSON.parse(body), [field]: value });
}

/** Not with a zero byte: HMAC pads short keys with zeros, so it would be the same key. */
function anotherKey(key: PrivateKey): PrivateKey {
  return typeof key === 'string' ? `${key}x` : Buffer.concat([key, Buffer.from('x')]);
}

/** Without zod, which would double the time that each test file takes to load. */
const FIELDS: readonly (readonly [name: string, isValid: (value: unknown) => boolean, expected: string])[] = [
  ['id', isIdentifier, '1 to 255 printable ASCII characters'],
  ['event_name', (name) => typeof name === 'string' && isEventName(name), '<resource>.<action>'],
  ['sandbox', (flag) => typeof flag === 'boolean', 'a boolean'],
  ['payload', isMap, 'an object'],
];

function refuseInvalidEvent(event: unknown): void {
  if (isEnvelope(event)) return;
  const fields: Record<string, unknown> = isMap(event) ? event : {};
  const [name, , expected] = FIELDS.find(([field, isValid]) => !isValid(fields[field])) ?? [];
  const fault = isMap(event)
    ? `event.${name} is invalid (expected ${expected})`
    : 'event is invalid (expected an object)';
  throw new ConfigurationError(`${fault}. Pass badDeliveries() an event that the receiver accepts.`);
}
