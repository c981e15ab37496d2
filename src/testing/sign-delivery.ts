// A delivery as the service would send it: serialised once, and signed over exactly those bytes.
import { validateHeaderName } from 'node:http';
import { ConfigurationError } from '../errors.js';
import { type PrivateKey, sign } from '../signature.js';
import { refuseUnknownOptions } from '../unknown-option.js';

export interface SigningOptions {
  /** The key that the receiver under test was given. */
  readonly privateKey: PrivateKey;
  /** Name of the header that carries the signature. @default 'X-SERVICE-SIGNATURE' */
  readonly signatureHeader?: string | undefined;
}

export interface SignedDelivery {
  /** Text and not a Buffer: superagent would send a Buffer of JSON as `{"type":"Buffer",…}`. */
  body: string;
  /** With names in lower case, as Node spells them. */
  headers: Record<string, string>;
  /** The bytes of `body`. */
  rawBody: Buffer;
}

/** What the plugin needs of a superagent or supertest request. */
export interface SuperagentRequest {
  set(headers: Record<string, string>): unknown;
  send(body: string): unknown;
}

/**
 * A delivery of the event, for any HTTP client or for `receive()`.
 *
 * @param event an event, or the text of a body exactly as it is to be signed and sent
 * @throws {ConfigurationError} for an unusable key, header name or option, or an event that has no JSON
 * @example
 * const { body, headers } = signedDelivery(fixtures.transactionPaid(), { privateKey });
 * await fetch(url, { method: 'POST', headers, body });
 */
export function signedDelivery(event: object | string, options: SigningOptions): SignedDelivery {
  checkOptions(options, ['privateKey', 'signatureHeader']);
  const header = signatureHeaderName(options);
  const body = typeof event === 'string' ? event : serialise(event);
  const rawBody = Buffer.from(body, 'utf8');
  const signature = sign(rawBody, options.privateKey);
  return { body, headers: { 'content-type': 'application/json', [header]: signature }, rawBody };
}

/**
 * A plugin for supertest and superagent: sets the headers of a signed delivery, and its body byte for byte.
 *
 * @throws {ConfigurationError} as {@link signedDelivery}
 * @example
 * await request(app).post('/hooks').use(signed(fixtures.transactionPaid(), { privateKey })).expect(200);
 */
export function signed(
  event: object | string,
  options: SigningOptions,
): (request: SuperagentRequest) => void {
  const { body, headers } = signedDelivery(event, options);
  return (request) => {
    request.set(headers);
    request.send(body);
  };
}

/** @throws {ConfigurationError} naming what is unknown, and what was probably meant */
export function checkOptions(options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigurationError('The options are missing: give at least { privateKey }.');
  }
  refuseUnknownOptions(options, known);
}

/** Name of the header that carries the signature, in lower case, as Node spells header names. */
export function signatureHeaderName({ signatureHeader = 'X-SERVICE-SIGNATURE' }: SigningOptions): string {
  try {
    validateHeaderName(signatureHeader);
  } catch {
    throw new ConfigurationError(
      `signatureHeader is ${JSON.stringify(signatureHeader)}; give the name of a header, like "X-SERVICE-SIGNATURE".`,
    );
  }
  return signatureHeader.toLowerCase();
}

function serialise(event: object): string {
  if (typeof event !== 'object' || event === null) {
    throw new ConfigurationError(
      `The event is ${event === null ? 'null' : `of type ${typeof event}`}; give an event, or the text of a body.`,
    );
  }
  if (event instanceof Uint8Array) {
    throw new ConfigurationError('The event is bytes; give an event, or the text of a body.');
  }
  if (typeof (event as { then?: unknown }).then === 'function') {
    throw new ConfigurationError('The event is a promise: await it first.');
  }
  let text: string | undefined;
  try {
    text = JSON.stringify(event);
  } catch {
    // JSON.stringify names the constructor and the path of a circle, which says less than this.
  }
  if (text !== undefined) return text;
  throw new ConfigurationError('The event has no JSON: it refers to itself, or holds a bigint.');
}
