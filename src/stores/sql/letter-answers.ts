// Reads rows of dead letters, which clients return with different types.
import type { DeadLetterReason } from '../../claims/dead-letter-store.js';
import type { FullRow, GroupRow } from '../../dead-letters/stored-letters.js';
import type { ErrorCode } from '../../errors.js';
import type { Row } from './session.js';

const TRUE: ReadonlySet<unknown> = new Set([true, 1, 1n, '1', 't', 'true']);
/** How Postgres writes bytes as text. */
const HEX = /^\\x((?:[\da-f]{2})*)$/i;

/** What a dialect sends for text, and for bytes. */
export interface LetterAnswers {
  text(value: unknown): string;
  bytes(value: unknown): Buffer;
}

export const PLAIN: LetterAnswers = {
  text: (value) => (value instanceof Uint8Array ? asBuffer(value).toString() : String(value)),
  bytes: (value) => {
    if (value instanceof Uint8Array) return asBuffer(value);
    return Buffer.from(HEX.exec(String(value))?.[1] ?? '', 'hex');
  },
};

export const BASE64: LetterAnswers = {
  text: (value) => BASE64.bytes(value).toString(),
  bytes: (value) => Buffer.from(PLAIN.text(value), 'base64'),
};

export function readRow(row: Row, answers: LetterAnswers): FullRow {
  const text = (column: string) => answers.text(row[column]);
  const bytes = (column: string) => orNull(row[column], answers.bytes);
  return {
    place: PLAIN.text(row.place),
    id: text('id'),
    key: text('key'),
    fingerprint: text('fingerprint'),
    namespace: text('namespace'),
    event_name: text('event_name'),
    event_id: text('event_id'),
    sandbox: TRUE.has(row.sandbox),
    reason: text('reason') as DeadLetterReason,
    code: orNull(row.code, answers.text) as ErrorCode | null,
    attempts: Number(row.attempts),
    issues: answers.bytes(row.issues),
    kept_ms: Number(row.kept_ms),
    discarded_ms: orNull(row.discarded_ms, Number),
    discarded_by: orNull(row.discarded_by, answers.text),
    discarded_because: orNull(row.discarded_because, answers.text),
    head: bytes('head'),
    body: bytes('body'),
  };
}

export function readGroup(row: Row, answers: LetterAnswers): GroupRow {
  return {
    reason: answers.text(row.reason) as DeadLetterReason,
    event_name: orNull(row.event_name, answers.text),
    letters: Number(row.letters),
    oldest_ms: Number(row.oldest_ms),
  };
}

function orNull<Value>(value: unknown, read: (value: unknown) => Value): Value | null {
  return value === null || value === undefined ? null : read(value);
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
