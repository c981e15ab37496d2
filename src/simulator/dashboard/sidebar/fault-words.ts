// What each kind of fault does to an attempt, in one line.
import type { FaultKind } from '../live/wire.js';

const WORDS: Readonly<Record<FaultKind, string>> = {
  duplicate: 'Sent twice, the same bytes.',
  reorder: 'Held back, so that later ones overtake it.',
  delay: 'Sent later.',
  truncate_body: 'The body breaks off in the middle.',
  tamper_body: 'One digit changed after signing.',
  reserialize_body: 'The same JSON in other bytes.',
  wrong_key: 'Signed with another key.',
  missing_signature: 'No signature header.',
  uppercase_signature: 'The digits are upper case.',
  slow_body: 'The body trickles in.',
  reset_connection: 'The connection breaks off.',
  drop: 'Never reaches the endpoint.',
};

const words: ReadonlyMap<string, string> = new Map(Object.entries(WORDS));

export function faultWords(kind: string): string | undefined {
  return words.get(kind);
}
