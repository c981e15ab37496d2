// Station 2: bytes -> proven bytes, and the key that proved them.
import type { IncomingHttpHeaders } from 'node:http';
import { ConfigurationError, Fault } from '../errors.js';
import type { Configuration } from '../options.js';
import { isSignature, type SigningKey, verify } from '../signature.js';

/** Which key signed the bytes. */
export interface Proof {
  readonly keyIndex: number;
  readonly key: SigningKey;
}

const RETRY_AFTER_MS = 5_000;

/** The signature, if the header has the shape of one: asked before the body is read, to save strangers' memory. */
export function findSignature(headers: IncomingHttpHeaders, name: string): string | Fault {
  const value = headers[name];
  if (value === undefined || value.length === 0) return new Fault('SIGNATURE_MISSING');
  // Two headers of one name arrive joined by a comma, so this refuses them too.
  return isSignature(value)
    ? value
    : new Fault('SIGNATURE_MALFORMED', {
        hint: 'The signature is not exactly 64 lower-case hexadecimal digits.',
      });
}

/** Tries every key, in constant time. */
export function checkSignature(
  body: { readonly bytes: Buffer; readonly headers: IncomingHttpHeaders },
  signature: string,
  c: Pick<Configuration, 'keys' | 'deadlines'>,
): Proof | Fault | Promise<Proof | Fault> {
  try {
    const keys = c.keys(body.headers);
    if (!(keys instanceof Promise)) return prove(body.bytes, signature, keys);
    const inTime = c.deadlines.store.race<readonly SigningKey[] | undefined>(keys, () => undefined);
    return inTime.then(
      (found) =>
        found ? prove(body.bytes, signature, found) : unavailable('The key function took too long.'),
      failed,
    );
  } catch (error) {
    return failed(error);
  }
}

function prove(bytes: Buffer, signature: string, keys: readonly SigningKey[]): Proof | Fault {
  const keyIndex = verify(bytes, signature, keys);
  const key = keys[keyIndex];
  if (key) return { keyIndex, key };
  return new Fault('SIGNATURE_MISMATCH', {
    hint: 'None of the keys made this signature. Usual causes: another account’s or an old private key; a proxy that changed the body; a delivery that is forged.',
  });
}

/** Our own message says what is wrong with the key and never quotes it; anybody else's might. */
function failed(cause: unknown): Fault {
  return unavailable(cause instanceof ConfigurationError ? cause.message : 'The key function failed.', cause);
}

function unavailable(hint: string, cause?: unknown): Fault {
  return new Fault('KEY_UNAVAILABLE', { hint, retryAfterMs: RETRY_AFTER_MS, cause });
}
