// Station 2: bytes -> the key that signed them.
import type { IncomingHttpHeaders } from 'node:http';
import { ConfigurationError, Rejection } from '../errors.js';
import { type BodyEncoding, encodingOf } from '../http/encoded-body.js';
import type { FreshKeys, KeysOf } from '../options/keys.js';
import type { Configuration } from '../options/options.js';
import { isSignature, type SigningKey, verify } from '../signature.js';
import { withDeadline } from '../time.js';

/** Which key signed the bytes. */
export interface Proof {
  readonly keyIndex: number;
  readonly key: SigningKey;
  /** All keys that were tried. */
  readonly keys: readonly SigningKey[];
}

const OUTDATED =
  'None of the loaded keys made this signature, and they can be loaded again only when refreshOnMismatch is over. Usual causes: a key that has just been rotated; another account’s key; a forged delivery.';
const MISMATCH =
  'None of the keys made this signature. Usual causes: another account’s private key, or an old one; a proxy that changed the body; a forged delivery.';
const COMPRESSED = (name: string) =>
  `The body is compressed (${name}), and the signature is over the plain bytes. Turn this off where requests are forwarded, or decompress the body before the receiver.`;
/** The likely cause, if the body is not as it was signed. */
const ENCODED: Readonly<Record<BodyEncoding, string>> = {
  base64:
    'The body is base64, and the signature is over the decoded bytes. Decode it before the receiver: Buffer.from(event.body, event.isBase64Encoded ? "base64" : "utf8").',
  gzip: COMPRESSED('gzip'),
  zlib: COMPRESSED('zlib'),
  zstd: COMPRESSED('zstd'),
  'JSON string':
    'The body is a JSON string with the event in it. Pass the string itself, without JSON.stringify().',
};
/** Names that look like those of signature headers, and are safe in a log line. */
const SIMILAR = /^(?=.*(?:sign|hmac|digest))[a-z0-9_-]{1,64}$/;
const MAX_SIMILAR = 5;
const NOT_POST =
  'The request is not a POST, and deliveries are POST. Mount the receiver with app.post(), not with app.use() or app.all().';

/** The signature, if the header has the shape of one. It is checked before the body is read, so that strangers cannot fill memory. */
export function findSignature(
  headers: IncomingHttpHeaders,
  name: string,
  source: { readonly method?: string | undefined; readonly request?: { readonly method: string } } = {},
): string | Rejection {
  const value = headers[name];
  if (value === undefined || value.length === 0) {
    const method = source.method ?? source.request?.method ?? 'POST';
    const hint = method === 'POST' ? missing(headers, name) : NOT_POST;
    return new Rejection('SIGNATURE_MISSING', { hint });
  }
  // Two headers of one name arrive joined by a comma, so this refuses them too.
  return isSignature(value)
    ? value
    : new Rejection('SIGNATURE_MALFORMED', {
        hint: 'The signature is not exactly 64 lower-case hexadecimal digits.',
      });
}

/** Names the headers that look like the expected one, never their values. */
function missing(headers: IncomingHttpHeaders, name: string): string {
  const expected = `The header ${name} is missing or empty.`;
  const similar = Object.keys(headers).filter((other) => other !== name && SIMILAR.test(other));
  if (similar.length === 0) return expected;
  const came = similar.slice(0, MAX_SIMILAR).join(', ');
  return `${expected} These came: ${came}. If one of them carries the signature, name it in the option signatureHeader.`;
}

/**
 * Tries every key, in constant time. If none matches and the keys can be reloaded, tries the reloaded ones.
 * Returns a promise only if keys have to be loaded.
 */
export function checkSignature(
  body: SignedBody,
  signature: string,
  config: Pick<Configuration, 'keys' | 'storeTimeout'>,
): Proof | Rejection | Promise<Proof | Rejection> {
  const { keys, storeTimeout } = config;
  return typeof keys === 'function'
    ? checkWithLoadedKeys(body, signature, keys, storeTimeout)
    : prove(body.bytes, signature, keys);
}

async function checkWithLoadedKeys(
  body: SignedBody,
  signature: string,
  keysOf: KeysOf,
  timeout: number,
): Promise<Proof | Rejection> {
  const { refresh } = keysOf;
  const askedAt = performance.now();
  const result = await proveWith(() => keysOf(body.headers), body, signature, timeout);
  const isMismatch = result instanceof Rejection && result.code === 'SIGNATURE_MISMATCH';
  return refresh && isMismatch ? proveWith(() => refresh(askedAt), body, signature, timeout) : result;
}

type Loaded = readonly SigningKey[] | FreshKeys;
const LATE = Symbol('late');

interface SignedBody {
  readonly bytes: Buffer;
  readonly headers: IncomingHttpHeaders;
}

async function proveWith(
  load: () => Loaded | Promise<Loaded>,
  { bytes }: SignedBody,
  signature: string,
  timeout: number,
): Promise<Proof | Rejection> {
  try {
    const loading = load();
    const loaded =
      'then' in loading ? await withDeadline<Loaded | typeof LATE>(loading, timeout, () => LATE) : loading;
    return loaded === LATE ? unavailable('The key function took too long.') : prove(bytes, signature, loaded);
  } catch (cause) {
    // Our own message never quotes the key; any other message might.
    return unavailable(ConfigurationError.is(cause) ? cause.message : 'The key function failed.', cause);
  }
}

function prove(bytes: Buffer, signature: string, loaded: Loaded): Proof | Rejection {
  const keys = 'retryAfterMs' in loaded ? loaded.keys : loaded;
  const keyIndex = verify(bytes, signature, keys);
  const key = keys[keyIndex];
  if (key) return { keyIndex, key, keys };
  if ('retryAfterMs' in loaded && loaded.retryAfterMs !== undefined) {
    return new Rejection('KEY_UNAVAILABLE', {
      hint: OUTDATED,
      retryAfterMs: loaded.retryAfterMs,
      unproven: true,
    });
  }
  const encoding = encodingOf(bytes);
  return new Rejection('SIGNATURE_MISMATCH', { hint: encoding ? ENCODED[encoding] : MISMATCH });
}

function unavailable(hint: string, cause?: unknown): Rejection {
  return new Rejection('KEY_UNAVAILABLE', { hint, cause });
}
