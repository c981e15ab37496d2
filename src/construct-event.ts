// Checks and decodes a delivery without a request, for code that is not middleware.
import { ConfigurationError, Rejection, SignatureError } from './errors.js';
import { declareEvents, type EventSchemas, type UnknownEvent, type WebhookEvent } from './events/event.js';
import { provideSchemas } from './events/load-schemas.js';
import * as schemas from './events/schemas.js';
import { ownEntries } from './options/option-checks.js';
import { decodeEvent } from './receiver/decode-event.js';
import { asBytes, isSignature, type PrivateKey, signingKeys, verify } from './signature.js';

export interface ConstructEventOptions<Events extends EventSchemas = {}> {
  /** The body exactly as it was received; text is taken as UTF-8. */
  readonly rawBody: string | Uint8Array;
  /** The value of the signature header. */
  readonly signature: unknown;
  /** One key, or several, any of which may have signed. */
  readonly privateKey: PrivateKey | readonly PrivateKey[];
  /** Schemas of further events, as in `receiver()`. */
  readonly events?: Events;
}

/**
 * Verifies a delivery, and returns its event. It does not protect against replays: remember the event's id, or use
 * `receiver()`.
 *
 * @throws {SignatureError} the signature is missing, malformed, or made with none of the keys
 * @throws {BodyError} the body is not JSON in UTF-8
 * @throws {EventError} the body is not an event, or the payload of a declared one does not match its schema
 * @throws {HandlerError} a schema threw; that is its `cause`
 * @throws {ConfigurationError} for unusable keys or schemas, or a schema that validates asynchronously
 * @example
 * const event = constructEvent({ rawBody, signature: headers['x-service-signature'], privateKey });
 * if (isKnown(event)) console.log(event.payload.transaction.order_id);
 */
export function constructEvent<const Events extends EventSchemas = {}>(
  options: ConstructEventOptions<Events>,
): WebhookEvent<Events> | UnknownEvent {
  const { rawBody, signature, privateKey } = options;
  const bytes = asBytes(rawBody);
  const keys = signingKeys(privateKey);
  provideSchemas(schemas);
  const events = declareEvents(ownEntries(options.events, 'events', 'schemas by event name'));
  if (signature === undefined || signature === null || signature === '')
    throw new SignatureError('SIGNATURE_MISSING');
  if (!isSignature(signature)) throw new SignatureError('SIGNATURE_MALFORMED');
  const key = keys[verify(bytes, signature, keys)];
  if (!key) throw new SignatureError('SIGNATURE_MISMATCH');
  const decoded = decodeEvent(bytes, key, { events, sandbox: 'accept' });
  if ('then' in decoded) {
    decoded.catch(() => {});
    throw new ConfigurationError(
      'A schema under events validates asynchronously. Use receiver().receive() for it.',
    );
  }
  const rejection = decoded instanceof Rejection ? decoded : decoded.rejection;
  if (rejection) throw rejection.toError();
  return (decoded as { event: unknown }).event as WebhookEvent<Events> | UnknownEvent;
}
