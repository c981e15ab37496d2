// What a fault did to the signature of an attempt, or to the bytes under it.
import type { FaultKind } from '../live/wire.js';

const DAMAGE: ReadonlyMap<FaultKind, string> = new Map([
  ['wrong_key', 'On purpose, another key made this signature. Your endpoint should answer 401.'],
  ['missing_signature', 'On purpose, the signature was left out. Your endpoint should answer 401.'],
  ['uppercase_signature', 'On purpose, the digits are upper case. Your endpoint should answer 401.'],
  [
    'tamper_body',
    'On purpose, the body was changed after it had been signed. Your endpoint should answer 401.',
  ],
  [
    'reserialize_body',
    'On purpose, the body was parsed and printed again after it had been signed: the same JSON in other bytes. Your endpoint should answer 401.',
  ],
  ['truncate_body', 'On purpose, the body breaks off; the signature is over the whole of it.'],
  ['reset_connection', 'On purpose, the connection broke off; the signature is over the whole body.'],
]);

export function signatureFault(kind: FaultKind | null): string | undefined {
  return kind === null ? undefined : DAMAGE.get(kind);
}
