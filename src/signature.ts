// Signs and verifies raw bytes: HMAC-SHA256 in lower-case hex (RFC 2104, RFC 4231).
import { isUtf8 } from 'node:buffer';
import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto';
import { ConfigurationError } from './errors.js';
import { isUtf16Ascii, secretFault } from './misuse.js';

/** A private key as a string or bytes. Bytes that are text are checked as that string. */
export type PrivateKey = string | Uint8Array;

/** A private key, checked and turned into a key object once instead of for each delivery. */
export interface SigningKey {
  readonly secret: KeyObject;
  /** Identifies the key in dead letters: the first digits of its SHA-256, which cannot sign anything. */
  readonly id: string;
  /** Whether it has the documented prefix of sandbox keys. Such a key must never be accepted for a live event. */
  readonly sandbox: boolean;
  /** Whether the simulator made it. */
  readonly simulated: boolean;
}

const SIGNATURE_LENGTH = 64;
/** Of any length: with `{64}` the same test takes three times as long. */
const LOWER_HEX = /^[0-9a-f]+$/;
const KEY_ID_DIGITS = 12;
const KEY_ID = /^[0-9a-f]{12}$/;
const KEY_PREFIX = 'pri_';
const SANDBOX_PREFIX = 'pri_sandbox_';
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;
const QUOTED = /^(["'`])pri_.*\1$|^[“”„‘’‚«»]|[“”‘’«»]$/;
const PREFIX = /^pri_(?:(?:sandbox|live|test)_)?/;
const PREFIX_ALONE = /^pri_(?:(?:sandbox|live|test)_)?$/;
const SEVERAL = /^pri_.*[\s,;|]["']?pri_/;
/** In one line of a .env file, a Docker flag or a URL. */
const ESCAPED_BREAK = /\\[nr]["']?(?:pri_|$)|%0[ad]/i;
const AUTHORIZATION = /^(?:Authorization *: *)?(?:Basic|Bearer) +\S|^Authorization *:/i;
/** Such as the name of the variable. */
const LABELLED = /^[\w. -]+[=: ] *["']?pri_/;
const BASE64 = /^cHJpX[\w+/-]*={0,2}$/;
const UTF_16 = `is UTF-16 text, which > writes in PowerShell. Save the file as UTF-8 without a byte-order mark.`;

/**
 * Whether the text has the shape of a signature. Check this before decoding it: `Buffer.from(text, 'hex')` silently stops at
 * the first character that is not hexadecimal, so a valid signature followed by garbage would pass.
 */
export function isSignature(text: unknown): text is string {
  return typeof text === 'string' && text.length === SIGNATURE_LENGTH && LOWER_HEX.test(text);
}

/** Whether it has the shape of the `id` of a {@link SigningKey}. */
export function isKeyId(value: unknown): value is string {
  return typeof value === 'string' && KEY_ID.test(value);
}

/** Whether it is a valid name of a header, such as `signatureHeader`, in any case. */
export function isHeaderName(name: unknown): name is string {
  return typeof name === 'string' && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

const COPY = 'Copy the private key from the dashboard.';

/**
 * What is wrong with a private key and how to fix it, without quoting it; undefined if nothing is.
 *
 * @param advice how to fix a missing key
 */
export function keyFault(given: unknown, advice = COPY): string | undefined {
  const key = keyText(given);
  if (ArrayBuffer.isView(key)) {
    // HMAC pads a short key with zero bytes, so these are the empty key. Code that wipes its secrets leaves them.
    const bytes = asBytes(key);
    if (!bytes.some(Boolean)) return `has only zero bytes: anyone could sign with it. ${advice}`;
    return isUtf16Ascii(bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')) ? UTF_16 : undefined;
  }
  if (typeof key !== 'string')
    return `is ${key === null ? 'null' : `of type ${typeof key}`}, not text. ${advice}`;
  if (key === '') return `is empty: anyone could sign with it. ${advice}`;
  if (key.trim() === '') return `is blank: anyone could sign with it. ${advice}`;
  if (isUtf16Ascii(key)) return UTF_16;
  if (/[\r\n]$/.test(key)) return "ends with a line break. Trim it: readFileSync(path, 'utf8').trim()";
  if (CONTROL.test(key)) return `has a line break or another control character in it. ${advice}`;
  if (key.replace(/^\ufeff/, '') !== key.trim()) return 'begins or ends with white space. Trim it.';
  if (PREFIX_ALONE.test(key)) return `has nothing after its prefix: anyone could sign with it. ${advice}`;
  if (QUOTED.test(key)) return 'is in quotes. Remove them: they are not part of the key.';
  if (key.endsWith(':'))
    return 'ends with a colon. Remove it: it separates user and password in Basic authentication.';
  return pastedFault(key) ?? secretFault(key, PREFIX, advice);
}

/** What else was copied with the key, or what it was copied from. */
function pastedFault(key: string): string | undefined {
  if (ESCAPED_BREAK.test(key))
    return 'has an escaped line break in it. Remove it, or pass an array if these are several keys.';
  if (SEVERAL.test(key))
    return 'holds several keys. Pass an array; in the environment variable, separate them with commas.';
  if (AUTHORIZATION.test(key))
    return 'is the value of an Authorization header. Pass the private key alone, not encoded.';
  if (LABELLED.test(key)) return 'has other text in front of the key. Remove it.';
  if (BASE64.test(key))
    return 'is in base64, as in the data of a Kubernetes Secret or in Basic authentication. Pass it decoded.';
  return undefined;
}

/**
 * The text of a key that was given as the bytes of text, such as those of a key file: its line break would make every
 * signature wrong. Random bytes are not UTF-8, or contain control characters that text files do not.
 */
function keyText(key: unknown): unknown {
  if (!ArrayBuffer.isView(key)) return key;
  const bytes = asBytes(key);
  if (!isUtf8(bytes)) return key;
  const text = bytes.toString('utf8');
  const isText = text.startsWith(KEY_PREFIX) || !CONTROL.test(text.replace(/[\t\r\n]/g, ''));
  return isText ? text : key;
}

/** @throws {ConfigurationError} for a key that anyone could guess, or that was plainly pasted wrongly. */
export function signingKey(key: PrivateKey, option = 'privateKey'): SigningKey {
  const fault = keyFault(key);
  if (fault) throw new ConfigurationError(`${option} ${fault}`);
  const bytes = asBytes(key);
  const id = hash('sha256', bytes, 'hex').slice(0, KEY_ID_DIGITS);
  const text = String(keyText(key));
  return {
    secret: createSecretKey(bytes),
    id,
    sandbox: isSandboxKey(text),
    simulated: isSimulatorKey(text),
  };
}

/** Whether a key has the prefix of the simulator's keys, which are not secret. */
export function isSimulatorKey(key: string): boolean {
  return /^pri_(?:sandbox_)?sim_/.test(key);
}

/**
 * The keys in the text of an environment variable: one per line, or separated by commas. A key may have a comma in it, so the
 * text is split only if each part has the documented prefix.
 */
export function keysIn(text: string): string[] {
  const parts = text.split(/[,\r\n]/).map((part) => part.trim());
  const keys = parts.filter((part) => part !== '');
  const isList = (keys.length > 1 || text.includes(',')) && keys.length > 0 && keys.every(hasKeyPrefix);
  return isList ? keys : [text];
}

/** Whether a key has the documented prefix of private keys. */
export function hasKeyPrefix(key: string): boolean {
  return key.startsWith(KEY_PREFIX);
}

/** Whether a key has the documented prefix of sandbox keys. */
export function isSandboxKey(key: string): boolean {
  return key.startsWith(SANDBOX_PREFIX);
}

/**
 * The signature of a body: lower-case hexadecimal HMAC-SHA256 of its bytes (spec: Webhook signature).
 *
 * @param rawBody the body exactly as it is sent; text is taken as UTF-8
 * @returns 64 hexadecimal digits
 * @throws {ConfigurationError} for an empty or malformed key, or a body that is not bytes or text
 * @example
 * sign('{"a":1}', 'pri_example') === createHmac('sha256', 'pri_example').update('{"a":1}').digest('hex');
 */
export function sign(rawBody: string | Uint8Array, privateKey: PrivateKey): string {
  return signWith(asBytes(rawBody), signingKey(privateKey));
}

/** Like {@link sign}, with a key that was checked before. */
export function signWith(rawBody: Uint8Array, key: SigningKey): string {
  return createHmac('sha256', key.secret).update(rawBody).digest('hex');
}

/**
 * Which key signed these bytes: its index, or -1. The signature must have passed {@link isSignature}.
 * Always tries every key, so that timing does not reveal which one matched.
 */
export function verify(rawBody: Uint8Array, signature: string, keys: readonly SigningKey[]): number {
  const given = Buffer.from(signature);
  let match = -1;
  keys.forEach((key, index) => {
    const own = Buffer.from(signWith(rawBody, key));
    if (timingSafeEqual(own, given) && match === -1) match = index;
  });
  return match;
}

/**
 * Whether one of the keys signed these bytes, compared in constant time (spec: Webhook signature).
 * A signature that is not exactly 64 lower-case hexadecimal digits is false, whatever its type.
 *
 * @throws {ConfigurationError} for an empty or malformed key, no key, or a body that is not bytes or text
 * @example
 * verifySignature(rawBody, request.headers['x-service-signature'], [newKey, oldKey]);
 */
export function verifySignature(
  rawBody: string | Uint8Array,
  signature: unknown,
  privateKey: PrivateKey | readonly PrivateKey[],
): boolean {
  const bytes = asBytes(rawBody);
  const keys = signingKeys(privateKey);
  return isSignature(signature) && verify(bytes, signature, keys) !== -1;
}

/** @throws {ConfigurationError} when there is no key, or one of them is unusable */
export function signingKeys(
  privateKey: PrivateKey | readonly PrivateKey[],
  option = 'privateKey',
): SigningKey[] {
  if (!Array.isArray(privateKey)) return [signingKey(privateKey as PrivateKey, option)];
  if (privateKey.length === 0)
    throw new ConfigurationError(`${option} is an empty array. Pass at least one key.`);
  return privateKey.map((key, index) =>
    signingKey(key, privateKey.length > 1 ? `${option}[${index}]` : option),
  );
}

/** @throws {ConfigurationError} for a parsed object: encoding it again would give different bytes than were signed. */
export function asBytes(rawBody: string | ArrayBufferView): Buffer {
  if (Buffer.isBuffer(rawBody)) return rawBody;
  // Not by `instanceof`: jsdom and vm have classes of their own.
  if (ArrayBuffer.isView(rawBody)) return Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  if (typeof rawBody === 'string') return Buffer.from(rawBody);
  throw new ConfigurationError(
    `rawBody is ${rawBody === null ? 'null' : `of type ${typeof rawBody}`}. Pass the bytes exactly as they were received, not the parsed body. ` +
      'Its signature cannot be checked after JSON.parse.',
  );
}
