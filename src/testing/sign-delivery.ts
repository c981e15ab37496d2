// A delivery as the service sends it: serialized once, and signed over exactly those bytes.
import { ConfigurationError } from '../errors.js';
import { isThenable, refuseUnknownOptions, show } from '../misuse.js';
import { headerName } from '../options/option-checks.js';
import { type PrivateKey, sign } from '../signature.js';

export interface SigningOptions {
  /** The key of the receiver under test. */
  readonly privateKey: PrivateKey;
  /** Name of the header that carries the signature. @default 'X-SERVICE-SIGNATURE' */
  readonly signatureHeader?: string | undefined;
}

export interface SignedDelivery {
  /** Text, because superagent would send a Buffer of JSON as `{"type":"Buffer",…}`. */
  body: string;
  /** With names in lower case, like those of Node. */
  headers: Record<string, string>;
  /** The bytes of `body`. */
  rawBody: Buffer;
}

/** The part of a superagent or supertest request that the plugin uses. */
export interface SuperagentRequest {
  set(headers: Record<string, string>): unknown;
  send(body: string): unknown;
}

/**
 * A delivery of the event, for any HTTP client or for `receive()`.
 *
 * @param event an event, or the text of a body exactly as it is to be signed and sent
 * @throws {ConfigurationError} for an unusable key, header name or option, or an event that cannot be serialized
 * @example
 * const { body, headers } = signedDelivery(fixtures.transactionPaid(), { privateKey });
 * await fetch(url, { method: 'POST', headers, body });
 */
export function signedDelivery(event: object | string, options: SigningOptions): SignedDelivery {
  checkOptions(options, ['privateKey', 'signatureHeader']);
  const header = signatureHeaderName(options);
  const body = typeof event === 'string' ? event : serialize(event);
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

/** @throws {ConfigurationError} with a suggestion for an unknown option */
export function checkOptions(options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigurationError('The options are missing. Pass at least { privateKey }.');
  }
  refuseUnknownOptions(options, known);
}

export function signatureHeaderName({ signatureHeader = 'X-SERVICE-SIGNATURE' }: SigningOptions): string {
  return headerName(signatureHeader);
}

function serialize(event: object): string {
  if (typeof event !== 'object' || event === null || ArrayBuffer.isView(event)) {
    const got = ArrayBuffer.isView(event) ? 'bytes' : show(event);
    throw new ConfigurationError(`event is ${got}. Pass an event object, or a body as a string.`);
  }
  if (isThenable(event)) {
    throw new ConfigurationError('event is a promise. Await it first.');
  }
  try {
    const text = JSON.stringify(event);
    if (text !== undefined) return text;
  } catch {
    // Reported below, with a better message than that of JSON.stringify().
  }
  throw new ConfigurationError('event cannot be serialized as JSON. Remove circular references and bigints.');
}
