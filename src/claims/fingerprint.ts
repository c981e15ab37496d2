// Fingerprints of a delivery's bytes: a store keeps one to recognize the same bytes later.
import { hash } from 'node:crypto';
import { type SigningKey, signWith } from '../signature.js';

export interface Fingerprint {
  /** At most 64 characters, for the store to keep. */
  readonly text: string;
  /** The first digits of the signature that came with the bytes; undefined if it is not known. */
  readonly signaturePrefix?: string | undefined;
  /** Whether a stored fingerprint is that of these bytes. */
  matches(stored: string): boolean;
}

/** Too few to be used as a signature, and enough to tell the bytes of one event apart. */
const DIGITS = 12;

/** The first digits of the verified signature, which cost nothing to compute. */
export class SignatureFingerprint implements Fingerprint {
  readonly text: string;
  readonly signaturePrefix: string | undefined;
  readonly #bytes: Uint8Array;
  readonly #keys: readonly SigningKey[];

  /** @param keys any of which may have signed the delivery whose fingerprint was stored */
  constructor(signature: string, bytes: Uint8Array, keys: readonly SigningKey[], text?: string) {
    const prefix = signature.slice(0, DIGITS);
    this.text = text ?? prefix;
    this.signaturePrefix = prefix || undefined;
    this.#bytes = bytes;
    this.#keys = keys;
  }

  matches(stored: string): boolean {
    // A user's own store may return any type.
    if (typeof stored !== 'string') return false;
    if (stored === this.text || stored === this.signaturePrefix) return true;
    // Replays and jobs store a digest.
    if (stored.length !== DIGITS) return stored === digestOf(this.#bytes);
    return this.#keys.some((key) => signWith(this.#bytes, key).startsWith(stored));
  }
}

/** SHA-256, for bytes whose signature is not known, or was verified earlier, perhaps with a key that is no longer configured. */
export class DigestFingerprint extends SignatureFingerprint {
  /** @param signature the one that came with the bytes, or its first digits */
  constructor(bytes: Uint8Array, signature = '', keys: readonly SigningKey[] = []) {
    super(signature, bytes, keys, digestOf(bytes));
  }
}

/** SHA-256 in hexadecimal digits. */
export function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}
