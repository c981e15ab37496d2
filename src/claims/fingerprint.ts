// Fingerprints of a delivery's bytes: what a store keeps to recognize the same bytes again.
import { hash } from 'node:crypto';
import { type SigningKey, signWith } from '../signature.js';

export interface Fingerprint {
  /** At most 64 characters, for the store to keep. */
  readonly text: string;
  /** The first digits of the signature that the bytes came with; undefined where it is not known. */
  readonly signaturePrefix?: string | undefined;
  /** Whether a stored fingerprint is that of these bytes. */
  matches(stored: string): boolean;
}

/** Too short to be used as a signature, and long enough to tell the bytes of one event apart. */
const DIGITS = 12;

/** The first digits of the proven signature, which cost nothing to compute. */
export class SignatureFingerprint implements Fingerprint {
  readonly text: string;
  readonly #bytes: Uint8Array;
  readonly #keys: readonly SigningKey[];

  /** @param keys any of which may have signed the delivery whose fingerprint was stored */
  constructor(signature: string, bytes: Uint8Array, keys: readonly SigningKey[]) {
    this.text = signature.slice(0, DIGITS);
    this.#bytes = bytes;
    this.#keys = keys;
  }

  matches(stored: string): boolean {
    if (stored === this.text) return true;
    // A user's own store may return any type.
    if (typeof stored !== 'string') return false;
    // Version 0.1 stored a digest.
    if (stored.length !== DIGITS) return stored === digestOf(this.#bytes);
    return this.#keys.some((key) => signWith(this.#bytes, key).startsWith(stored));
  }

  get signaturePrefix(): string | undefined {
    return this.text === '' ? undefined : this.text;
  }
}

/** SHA-256, for bytes that come without their signature. */
export class DigestFingerprint implements Fingerprint {
  readonly text: string;

  constructor(bytes: Uint8Array) {
    this.text = digestOf(bytes);
  }

  matches(stored: string): boolean {
    return stored === this.text;
  }
}

/** For bytes that were proven earlier, perhaps with a key that is no longer configured. */
export class KeptFingerprint implements Fingerprint {
  readonly text: string;
  readonly #signed: SignatureFingerprint;

  /** @param signature that they came with, or its first digits, as far as they are known */
  constructor(signature: string, bytes: Uint8Array, keys: readonly SigningKey[]) {
    this.text = digestOf(bytes);
    this.#signed = new SignatureFingerprint(signature, bytes, keys);
  }

  get signaturePrefix(): string | undefined {
    return this.#signed.signaturePrefix;
  }

  /** Whether the same bytes were processed, by a delivery or a replay, whichever known key signed them. */
  matches(stored: string): boolean {
    return this.#signed.matches(stored);
  }
}

/** SHA-256 in hexadecimal digits. */
export function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}
