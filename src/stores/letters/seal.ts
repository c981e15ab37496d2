// Encrypts dead letters with AES-256-GCM: without a key nobody can read or forge what is stored.

import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { NewDeadLetter, ProcessedEvent } from '../../contracts/dead-letter-store.js';
import { ConfigurationError, type Issue } from '../../errors.js';
import { asBytes } from '../../signature.js';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** The first byte says whether the others are encrypted. */
const PLAIN = 0;
const SEALED = 1;
/** Random for each encryption: one key is good for four billion of them. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCE_AT = 1;
const TAG_AT = NONCE_AT + NONCE_BYTES;
const TEXT_AT = TAG_AT + TAG_BYTES;

/** The context that sealed bytes are bound to: they only open with exactly the same texts. */
type SealedFor = readonly string[];

class Seal {
  readonly #keys: readonly KeyObject[];

  /** @param keys the first one seals, and any can open; without keys, bytes are stored unchanged */
  constructor(keys: readonly KeyObject[]) {
    this.#keys = keys;
  }

  seal(bytes: Uint8Array, boundTo: SealedFor): Buffer {
    const [key] = this.#keys;
    if (!key) return Buffer.concat([Buffer.of(PLAIN), bytes]);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(additionalData(boundTo));
    const text = [cipher.update(bytes), cipher.final()];
    return Buffer.concat([Buffer.of(SEALED), nonce, cipher.getAuthTag(), ...text]);
  }

  /** A copy; undefined if none of the keys sealed it for this context. With keys, plain bytes are refused too. */
  open(sealed: Uint8Array, boundTo: SealedFor): Buffer | undefined {
    if (this.#keys.length === 0)
      return sealed[0] === PLAIN ? Buffer.from(sealed.subarray(NONCE_AT)) : undefined;
    if (sealed[0] !== SEALED || sealed.length < TEXT_AT) return undefined;
    const data = additionalData(boundTo);
    for (const key of this.#keys) {
      const bytes = openWith(key, sealed, data);
      if (bytes) return bytes;
    }
    return undefined;
  }
}

function openWith(key: KeyObject, sealed: Uint8Array, data: Buffer): Buffer | undefined {
  const nonce = sealed.subarray(NONCE_AT, TAG_AT);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(data);
  decipher.setAuthTag(sealed.subarray(TAG_AT, TEXT_AT));
  const bytes = decipher.update(sealed.subarray(TEXT_AT));
  try {
    return Buffer.concat([bytes, decipher.final()]);
  } catch {
    return undefined;
  }
}

/** JSON, because no two lists of texts are the same JSON. */
function additionalData(boundTo: SealedFor): Buffer {
  return Buffer.from(JSON.stringify(boundTo));
}

const MAKE_KEY = `node -e "console.log(require('node:crypto').randomBytes(32).toString('base64'))"`;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * @param encryptionKeys 32 bytes each, as they are or as a base64 string; undefined: nothing is sealed
 * @throws {ConfigurationError} if it is not an array of keys; the message never quotes a key
 */
export function sealWith(encryptionKeys: unknown): Seal {
  if (encryptionKeys === undefined) return new Seal([]);
  if (!Array.isArray(encryptionKeys) || encryptionKeys.length === 0) {
    const what = Array.isArray(encryptionKeys) ? 'an empty array' : 'not an array';
    throw new ConfigurationError(
      `encryptionKeys is ${what}. Pass an array of keys, or leave it out to store letters unencrypted.`,
    );
  }
  // Array.from visits holes too: a missing key must not turn off encryption.
  return new Seal(Array.from(encryptionKeys, (key, index) => readKey(key, index)));
}

function readKey(given: unknown, index: number): KeyObject {
  const bytes = typeof given === 'string' ? fromBase64(given, index) : given;
  if (!ArrayBuffer.isView(bytes)) {
    const what = given === undefined || given === null ? String(given) : `of type ${typeof given}`;
    throw new ConfigurationError(
      `encryptionKeys[${index}] is ${what}. Pass ${KEY_BYTES} bytes, or their base64 string. Make a key: ${MAKE_KEY}`,
    );
  }
  if (bytes.byteLength !== KEY_BYTES) {
    throw new ConfigurationError(
      `encryptionKeys[${index}] has ${bytes.byteLength} bytes instead of ${KEY_BYTES}. Make a key: ${MAKE_KEY}`,
    );
  }
  return createSecretKey(asBytes(bytes));
}

/** Node's decoder skips invalid characters, which would give another key. */
function fromBase64(text: string, index: number): Buffer {
  if (text.trim() !== text)
    throw new ConfigurationError(
      `encryptionKeys[${index}] begins or ends with white space. Trim it: process.env.LETTER_KEY.trim()`,
    );
  if (!BASE64.test(text))
    throw new ConfigurationError(`encryptionKeys[${index}] is not base64 text. Make a key: ${MAKE_KEY}`);
  return Buffer.from(text, 'base64');
}

/** What stays readable, and does not change as long as the letter exists. */
export type LetterIdentity = Pick<
  NewDeadLetter,
  'id' | 'key' | 'fingerprint' | 'namespace' | 'eventName' | 'eventId' | 'sandbox'
>;

export interface SealedParts {
  /** The bytes of the event. */
  readonly body: Uint8Array;
  /** Headers, and which private key signed the bytes, as JSON. */
  readonly head: Uint8Array;
  /** With the cause. Sealed, because paths can hold what a customer wrote, such as a name in `metadata`. */
  readonly issues: Uint8Array;
}

type Head = Pick<NewDeadLetter, 'headers' | 'keyIndex' | 'keyId' | 'signaturePrefix'>;

type Why = Pick<NewDeadLetter, 'issues' | 'cause'>;

type OpenedParts = Head & Why & Pick<NewDeadLetter, 'rawBody'>;

/** How the cause is stored: an earlier version reads it as one more issue. No issue of an event has the last field. */
type StoredIssue = Issue & { readonly isCause?: true };

/**
 * The bytes are bound to everything that identifies the letter. Headers and issues change with an attempt, when only the
 * store knows the id of the letter, so they are bound to key and fingerprint, which the bytes bind to the id. Reason, code,
 * attempts and times stay readable, for queries. Someone who can write to the store can change those, delete a letter, or
 * restore an old one, but cannot make an event with other bytes or another name.
 */
export class LetterSeal {
  readonly #seal: Seal;

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  close(letter: LetterIdentity & OpenedParts): SealedParts {
    const { headers, keyIndex, keyId, signaturePrefix } = letter;
    const head = JSON.stringify({ headers, keyIndex, keyId, signaturePrefix });
    return {
      body: this.closeBody(letter),
      head: this.#seal.seal(Buffer.from(head), ofEvent('head', letter)),
      issues: this.closeWhy(letter, letter),
    };
  }

  closeBody(letter: LetterIdentity & Pick<OpenedParts, 'rawBody'>): Buffer {
    return this.#seal.seal(letter.rawBody, ofLetter(letter));
  }

  closeWhy({ issues, cause }: Why, event: ProcessedEvent): Buffer {
    const stored: StoredIssue[] = issues.map(({ path, message }) => ({ path, message }));
    if (cause !== undefined) stored.push({ path: 'cause', message: cause, isCause: true });
    return this.#seal.seal(Buffer.from(JSON.stringify(stored)), ofEvent('issues', event));
  }

  /** Undefined if a part, or what it is bound to, has changed. */
  open(letter: LetterIdentity, parts: SealedParts): OpenedParts | undefined {
    const rawBody = this.#seal.open(parts.body, ofLetter(letter));
    const head = this.openHead(parts.head, letter);
    const why = this.openWhy(parts.issues, letter);
    return rawBody && head && why ? { rawBody, ...head, ...why } : undefined;
  }

  openHead(sealed: Uint8Array, event: ProcessedEvent): Head | undefined {
    const bytes = this.#seal.open(sealed, ofEvent('head', event));
    const { headers, keyIndex, keyId, signaturePrefix } = (bytes && parse(bytes)) ?? {};
    if (typeof headers !== 'object' || headers === null || !Number.isSafeInteger(keyIndex)) return undefined;
    return {
      headers: headers as Readonly<Record<string, string>>,
      keyIndex: keyIndex as number,
      keyId: typeof keyId === 'string' ? keyId : undefined,
      signaturePrefix: typeof signaturePrefix === 'string' ? signaturePrefix : undefined,
    };
  }

  openWhy(sealed: Uint8Array, event: ProcessedEvent): Why | undefined {
    const bytes = this.#seal.open(sealed, ofEvent('issues', event));
    const stored: unknown = bytes && parse(bytes);
    if (!Array.isArray(stored)) return undefined;
    const isCause = (entry: Partial<StoredIssue> | null) => entry?.isCause === true;
    const cause: unknown = stored.find(isCause)?.message;
    return {
      issues: stored.filter((entry) => !isCause(entry)),
      cause: typeof cause === 'string' ? cause : undefined,
    };
  }
}

function ofLetter(letter: LetterIdentity): string[] {
  const { id, key, fingerprint, namespace, eventName, eventId, sandbox } = letter;
  return ['body', id, key, fingerprint, namespace, eventName, eventId, String(sandbox)];
}

function ofEvent(part: 'head' | 'issues', { key, fingerprint }: ProcessedEvent): string[] {
  return [part, key, fingerprint];
}

/** Without encryption, someone may have changed what is stored to anything. */
function parse(bytes: Buffer): Partial<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(bytes.toString()) ?? undefined;
  } catch {
    return undefined;
  }
}
