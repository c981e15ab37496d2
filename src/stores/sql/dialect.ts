// The steps of a claim that each dialect of SQL implements, and how their answers are read.

import { LETTER_TABLE } from '../../claims/dead-letter-store.js';
import type { Claim, ClaimRequest, ClaimResult, JoinableLetters } from '../../claims/idempotency-store.js';
import { newToken, type Owner } from '../../claims/token.js';
import { StoreError } from '../../errors.js';
import type { Row, RunSql } from './session.js';

/** Who asks for a claim, and for how long. */
export interface ClaimParameters extends Owner {
  readonly fingerprint: string;
  readonly leaseMs: number;
  readonly keepMs: number;
  /** Where the claim looks for dead letters of its event. */
  readonly letterTable: string | undefined;
}

export function claimParameters(
  key: string,
  { leaseMs, fingerprint, deadLetters }: ClaimRequest,
  retentionMs: number,
): ClaimParameters {
  const keepMs = Math.max(leaseMs, retentionMs);
  const letterTable = letterTableOf(deadLetters);
  return { key, token: newToken(), fingerprint, leaseMs, keepMs, letterTable };
}

/** No event has such a key, because it has no namespace. */
export const PING_KEY = 'ping ';
const PING_LEASE_MS = 30_000;

/** Missing rights, policies and read-only sessions show only in a write. @throws unless a claim can be written and read */
export async function tryClaim(run: RunSql, dialect: Dialect): Promise<void> {
  const request = { leaseMs: PING_LEASE_MS, fingerprint: '' } as ClaimRequest;
  const parameters = claimParameters(PING_KEY + newToken(), request, PING_LEASE_MS);
  const { status } = await dialect.claim(run, parameters);
  const renewed = await dialect.renew(run, parameters, PING_LEASE_MS, PING_LEASE_MS);
  if ((await dialect.forget(run, parameters)) && renewed && status === 'claimed') return;
  throw new StoreError(
    'A row that was just written is not found again, so claims are lost. Check row-level security, and the table for triggers and rules.',
  );
}

export type Granted = {
  readonly status: 'claimed';
  /** Identifies the claim's transaction on the server. */
  readonly session?: string;
} & Pick<Claim, 'attempt' | 'finished' | 'kept'>;

export type Answer = Granted | Exclude<ClaimResult, { status: 'claimed' }>;

/** The steps of the engine, in one dialect of SQL. */
export interface Dialect {
  /** Creates the table and its index unless they exist. */
  readonly migration: string;
  /** @throws unless the server accepts writes, and its table distinguishes ids exactly */
  ping(run: RunSql): Promise<void>;
  /** Deletes a batch. @returns how many rows, and whether there may be more */
  prune(run: RunSql, retentionMs: number): Promise<{ readonly pruned: number; readonly more: boolean }>;
  claim(run: RunSql, parameters: ClaimParameters): Promise<Answer>;
  renew(run: RunSql, owner: Owner, leaseMs: number, keepMs: number): Promise<boolean>;
  complete(run: RunSql, owner: Owner, keepMs: number): Promise<boolean>;
  release(run: RunSql, owner: Owner, keepMs: number, finished: readonly string[]): Promise<boolean>;
  /** Releases a lock. */
  forget(run: RunSql, owner: Owner): Promise<boolean>;
  /** The first statement of a transaction. Its claim then waits for at most a second for another transaction. */
  opening(leaseMs: number): string;
  /** Afterwards handlers wait for locks as long as usual. */
  claimInTransaction(run: RunSql, parameters: ClaimParameters): Promise<Answer>;
  /** Keeps the transaction alive on the server, and rejects if it has ended. */
  renewTransaction(run: RunSql, leaseMs: number): Promise<void>;
  /** Asks on any connection whether the server is executing a statement of the transaction `session`. */
  isExecuting(run: RunSql, session: string | undefined): Promise<boolean>;
  /**
   * @param ahead whether the commit is sent before this is answered, so that it must find a mark on the server
   * @returns whether the event has a letter; undefined if a handler has ended the transaction of the claim
   */
  completeInTransaction(
    run: RunSql,
    parameters: ClaimParameters,
    keepMs: number,
    ahead?: boolean,
  ): Promise<Pick<Claim, 'kept'> | undefined>;
  /** The fingerprint of an event that is completed. */
  completedWith(run: RunSql, key: string): Promise<string | undefined>;
  /** Whether the row that says so is committed. */
  isCompleted(run: RunSql, owner: Owner): Promise<boolean>;
}

/**
 * A row as both dialects return it: all of it text, since clients read other types differently. No column that is read has an
 * underscore in its name, since some clients turn such names into camelCase.
 */
export function readAnswer(row: Row | undefined): Answer {
  if (!row)
    throw new StoreError(
      'The database answered a claim without a row. Check that query() resolves with the rows, and the table for triggers and rules.',
    );
  const { status, attempt, finished, fingerprint, remaining, kept, session } = row;
  if (status === 'claimed') {
    const number = Number(attempt);
    if (Number.isSafeInteger(number) && number > 0)
      return {
        status,
        attempt: number,
        finished: JSON.parse(String(finished)),
        ...readKept(kept),
        ...(session !== undefined && { session: String(session) }),
      };
  }
  if (status === 'completed') return { status, fingerprint: String(fingerprint) };
  if (status === 'in_progress') return { status, retryAfterMs: Math.max(Number(remaining) || 0, 1) };
  throw unreadable();
}

/** @throws {StoreError} unless it is a number of rows, as any client returns it */
export function readCount(value: unknown): number {
  const count = Number(value ?? Number.NaN);
  if (Number.isSafeInteger(count)) return count;
  throw unreadable();
}

/** Undefined if the statement did not look for letters. */
export function readKept(kept: unknown): Pick<Claim, 'kept'> {
  return kept === undefined ? {} : { kept: kept !== 'false' };
}

/**
 * @param exactKey the statement that fixes a key column that ignores case
 * @throws {StoreError} unless the row is that of the event, byte by byte
 */
export function checkKey(stored: unknown, key: string, exactKey: string): void {
  if (typeof stored !== 'string') throw unreadable();
  if (stored !== key) throw inexactKey(exactKey);
}

export function inexactKey(exactKey: string): StoreError {
  return new StoreError(`The key column treats the ids of different events as equal. Run: ${exactKey}`);
}

export function unreadable(): StoreError {
  return new StoreError(
    'The database answered with a row that the store cannot read. Check that query() resolves with unchanged rows, e.g. without nestTables.',
  );
}

/** The SQL name of their table. Undefined for a user's own store of letters. */
function letterTableOf(letters: JoinableLetters | undefined): string | undefined {
  return (letters as { readonly [LETTER_TABLE]?: string } | undefined)?.[LETTER_TABLE];
}
