// Random 128-bit tokens: whoever holds one owns a claim.
import { randomFillSync } from 'node:crypto';

const BYTES = 16;
/** Asking for a few random bytes costs as much as for a few thousand: 2 µs, a fifth of a claim. */
const pool = Buffer.allocUnsafe(256 * BYTES);
let used = pool.length;

export function newToken(encoding: 'base64url' | 'hex'): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += BYTES;
  return pool.toString(encoding, used - BYTES, used);
}
