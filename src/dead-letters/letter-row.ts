// A row of dead letters, and the letter that it is.

import {
  type DeadLetter,
  type DeadLetterGroup,
  type DeadLetterReason,
  FURTHER_NAMES,
  type NewDeadLetter,
} from '../claims/dead-letter-store.js';
import type { ErrorCode } from '../errors.js';
import type { LetterIdentity, SealedParts } from './sealed-letter.js';

export interface LetterRow {
  /** In the order of arrival. */
  readonly place: string;
  readonly id: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly namespace: string;
  readonly event_name: string;
  readonly event_id: string;
  readonly sandbox: boolean;
  readonly reason: DeadLetterReason;
  readonly code: ErrorCode | null;
  readonly attempts: number;
  readonly issues: Buffer;
  /** Null for a tombstone. */
  readonly head: Buffer | null;
  readonly kept_ms: number;
  readonly discarded_ms: number | null;
  readonly discarded_by: string | null;
  readonly discarded_because: string | null;
}

/** What is written of a new letter, in the order of the columns. */
export type NewRow = readonly (string | number | boolean | Uint8Array | null)[];

export function newRow(letter: NewDeadLetter, { issues, head, body }: SealedParts): NewRow {
  const { id, key, fingerprint, namespace, eventName, eventId, sandbox, reason, code, attempts } = letter;
  const identity = [id, key, fingerprint, namespace, eventName, eventId, sandbox];
  return [...identity, reason, code ?? null, attempts, issues, head, body];
}

/** With what only `read` gives out; null for a tombstone. */
export interface FullRow extends LetterRow {
  readonly body: Buffer | null;
}

/** The letters of one reason and one name. */
export interface GroupRow {
  readonly reason: DeadLetterReason;
  /** Null for all names beyond the most that are told apart. */
  readonly event_name: string | null;
  readonly letters: number;
  readonly oldest_ms: number;
}

export function groupOf({ reason, event_name, letters, oldest_ms }: GroupRow): DeadLetterGroup {
  return {
    reason,
    eventName: event_name ?? FURTHER_NAMES,
    count: letters,
    oldest: new Date(Math.round(oldest_ms)),
  };
}

export function identityOf(row: LetterRow): LetterIdentity {
  const { id, key, fingerprint, namespace, event_name: eventName, event_id: eventId, sandbox } = row;
  return { id, key, fingerprint, namespace, eventName, eventId, sandbox };
}

export function letterOf(row: LetterRow, sealed: Pick<DeadLetter, 'issues' | 'keyId'>): DeadLetter {
  const { id, reason, namespace, sandbox, attempts, discarded_ms: discardedMs } = row;
  return {
    ...{ id, reason, namespace, eventName: row.event_name, eventId: row.event_id, sandbox, attempts },
    // A database that multiplies seconds does so in binary fractions, which hold few of them exactly.
    keptAt: new Date(Math.round(row.kept_ms)),
    code: row.code ?? undefined,
    issues: sealed.issues,
    keyId: sealed.keyId,
    ...(discardedMs !== null && {
      discarded: {
        by: row.discarded_by ?? '',
        because: row.discarded_because ?? '',
        at: new Date(Math.round(discardedMs)),
      },
    }),
  };
}
