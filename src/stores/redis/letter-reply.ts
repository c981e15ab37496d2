// What the scripts reply of one letter, and the letter that it is.
import type { DeadLetter, DeadLetterReason } from '../../claims/dead-letter-store.js';
import type { LetterIdentity, LetterSeal } from '../../dead-letters/seal.js';
import type { ErrorCode } from '../../errors.js';
import { invalidReply, text } from './replies.js';

/** A letter or tombstone, as far as it can be told without its bytes. */
export interface StoredLetter {
  readonly identity: LetterIdentity;
  readonly reason: DeadLetterReason;
  readonly code: ErrorCode | undefined;
  readonly attempts: number;
  readonly issues: Buffer;
  /** Undefined for a tombstone. */
  readonly head: Buffer | undefined;
  readonly keptAt: number;
  readonly discarded: { readonly by: string; readonly because: string; readonly at: number } | undefined;
  /** Body when it was found by its id, its place when it was listed. */
  readonly rest: readonly (string | undefined)[];
}

/** Undefined for a letter of which Redis, or somebody, has lost a part that says what it is. */
export function readStored(reply: unknown): StoredLetter | undefined {
  if (!Array.isArray(reply)) throw invalidReply();
  const [id, identity, keptAt, reason, code, issues, attempts, why, age, head, ...rest] = reply.map(text);
  const { key, fingerprint, namespace, eventName, eventId, sandbox } = parse(identity);
  const texts = [id, key, fingerprint, namespace, eventName, eventId];
  if (!texts.every((value) => typeof value === 'string') || reason === undefined) return undefined;
  const { by = '', because = '' } = parse(why);
  return {
    identity: { ...(parse(identity) as unknown as LetterIdentity), id: id ?? '', sandbox: sandbox === true },
    reason: reason as DeadLetterReason,
    code: code === '' ? undefined : (code as ErrorCode | undefined),
    attempts: Number(attempts),
    issues: bytesOf(issues),
    head: head === undefined ? undefined : bytesOf(head),
    keptAt: Number(keptAt),
    discarded: why === undefined ? undefined : { by: String(by), because: String(because), at: Number(age) },
    rest,
  };
}

/** What is stored may have been changed to anything. */
function parse(json: string | undefined): Partial<Record<string, unknown>> {
  try {
    return JSON.parse(json ?? '{}') ?? {};
  } catch {
    return {};
  }
}

/** Commands and replies are text: a client would decode bytes as UTF-8. */
export function bytesOf(base64: string | undefined): Buffer {
  return Buffer.from(base64 ?? '', 'base64');
}

export function letterOf(stored: StoredLetter, seal: LetterSeal): DeadLetter {
  const { id, namespace, eventName, eventId, sandbox } = stored.identity;
  const { reason, code, attempts, head, discarded } = stored;
  return {
    ...{ id, reason, namespace, eventName, eventId, sandbox, attempts },
    keptAt: new Date(stored.keptAt),
    code,
    issues: seal.openIssues(stored.issues, stored.identity) ?? [],
    keyId: head && seal.openHead(head, stored.identity)?.keyId,
    ...(discarded && { discarded: { ...discarded, at: new Date(discarded.at) } }),
  };
}
