// The steps of a claim that each dialect of SQL implements, and how their answers are read.

import type { Claim, ClaimRequest, ClaimResult } from '../../contracts/idempotency-store.js';
import { newToken, type Owner } from '../../contracts/token.js';
import { StoreError } from '../../errors.js';
import type { Row, RunSql } from './connections.js';
import type { OnceDialect, OnceRow } from './once.js';
import type { Statement } from './statement.js';

/** Who asks for a claim, and for how long. */
export interface ClaimParameters extends Owner {
  readonly fingerprint: string;
  readonly leaseMs: number;
  readonly keepMs: number;
}

export function claimParameters(
  key: string,
  { leaseMs, fingerprint }: ClaimRequest,
  retentionMs: number,
): ClaimParameters {
  return { key, token: newToken(), fingerprint, leaseMs, keepMs: Math.max(leaseMs, retentionMs) };
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

export type Granted = { readonly status: 'claimed' } & Pick<Claim, 'attempt' | 'finished'>;

export type Answer = Granted | Exclude<ClaimResult, { status: 'claimed' }>;

/** A row of `once` that a claim must find committed. */
export type WrittenRow = Pick<OnceRow, 'key' | 'token'>;

/** What `complete()` asks for. */
export interface CompletionParameters extends Owner {
  readonly keepMs: number;
  /** Of `once`: they have to be committed. */
  readonly rows: readonly WrittenRow[];
  /** Of the bytes whose writes an earlier attempt had committed: the event is completed with those. */
  readonly fingerprint: string | undefined;
}

/** The steps of the engine, in one dialect of SQL. */
export interface Dialect extends OnceDialect {
  /** Creates the table and its index unless they exist. */
  readonly migration: string;
  /** @throws unless the server accepts writes, and its table distinguishes ids exactly */
  ping(run: RunSql): Promise<void>;
  /** Deletes a batch. @returns how many rows, and whether there may be more */
  prune(run: RunSql, retentionMs: number): Promise<{ readonly pruned: number; readonly more: boolean }>;
  /** @param isKnown whether there was a row of the key a moment ago */
  claim(run: RunSql, parameters: ClaimParameters, isKnown?: boolean): Promise<Answer>;
  /** Claims those that are new, and waits for no locked row. @returns the tokens that it has written */
  claimTogether(run: RunSql, calls: readonly ClaimParameters[]): Promise<ReadonlySet<string>>;
  renew(run: RunSql, owner: Owner, leaseMs: number, keepMs: number): Promise<boolean>;
  complete(run: RunSql, owner: Owner, keepMs: number): Promise<boolean>;
  /** Completes those whose rows are all committed, and waits for no locked row. @returns the tokens that are completed now */
  completeTogether(run: RunSql, calls: readonly CompletionParameters[]): Promise<ReadonlySet<string>>;
  /**
   * Completes the event if all rows are committed.
   *
   * @returns the keys of rows that are not committed: then nothing has changed
   */
  completeAfter(run: RunSql, call: CompletionParameters): Promise<boolean | readonly string[]>;
  release(run: RunSql, owner: Owner, keepMs: number, finished: readonly string[]): Promise<boolean>;
  /** Releases a lock. */
  forget(run: RunSql, owner: Owner): Promise<boolean>;
  /** Forgets an event and its rows of `once`. @returns milliseconds while it is in progress, else the keys of what was forgotten */
  forgetEvent(run: RunSql, key: string): Promise<number | readonly string[]>;
  /** The fingerprint of an event that is completed. */
  completedWith(run: RunSql, key: string): Promise<string | undefined>;
}

/** What several calls need, in one text, which every client sends alike. @returns the tokens that it answers with */
export async function together(
  run: RunSql,
  statement: Statement,
  calls: readonly (Owner & Partial<CompletionParameters> & { readonly leaseMs?: number })[],
  { text = (given: string) => given, ms = (given: number) => given } = {},
): Promise<ReadonlySet<string>> {
  const lines = calls.map(({ key, token, fingerprint, leaseMs = 0, keepMs = 0, rows }) => {
    const [r, f] = [rows?.map((row) => ({ k: row.key, t: row.token })), fingerprint && text(fingerprint)];
    return { one: 1, k: text(key), t: token, f, l: ms(leaseMs), m: ms(keepMs), r };
  });
  const { rows: written } = await run(statement, [JSON.stringify(lines)]);
  // Postgres writes them with hyphens.
  return new Set(written.map(({ token }) => String(token).replaceAll('-', '')));
}

/**
 * A row as all dialects return it: all of it text, since clients read other types differently. No column that is read has an
 * underscore in its name, since some clients turn such names into camelCase.
 */
export function readAnswer(row: Row | undefined): Answer {
  if (!row) throw noRow();
  const { status, attempt, finished, fingerprint, remaining } = row;
  if (status === 'claimed') {
    const number = Number(attempt);
    if (Number.isSafeInteger(number) && number > 0)
      return { status, attempt: number, finished: JSON.parse(String(finished)) };
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

export function noRow(): StoreError {
  return new StoreError(
    'The database answered a claim without a row. Check that query() resolves with the rows, and the table for triggers and rules.',
  );
}

export function unreadable(): StoreError {
  return new StoreError(
    'The database answered with a row that the store cannot read. Check that query() resolves with unchanged rows, e.g. without nestTables.',
  );
}
