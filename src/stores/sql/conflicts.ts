// Recognizes database errors as clients and ORMs wrap them, and retries conflicts.
import { setTimeout as pause } from 'node:timers/promises';
import { StoreError } from '../../errors.js';
import type { Row } from './connections.js';

const MAX_TRIES = 3;
/** Where ORMs put what the driver threw. */
const INSIDE = ['cause', 'driverError', 'original', 'parent', 'meta', 'driverAdapterError'] as const;
const CODES = ['code', 'errno', 'sqlState', 'originalCode'] as const;
const MAX_WRAPPED = 5;

/** Serialization failures and deadlocks in Postgres, MySQL and MariaDB: the whole transaction is rolled back. */
const CONFLICTS: ReadonlySet<unknown> = new Set([
  '40001',
  '40P01',
  'ER_LOCK_DEADLOCK',
  1213,
  '1213',
  'ER_CHECKREAD',
  1020,
  '1020',
]);
/** The name of a prepared statement is unknown or taken: a pooler has switched the server connection. */
const UNPREPARED: ReadonlySet<unknown> = new Set(['26000', '42P05']);
/** Where Postgres refuses a prepared statement because a migration has changed a type. It shares its code with other errors. */
const REVALIDATION = 'RevalidateCachedQuery';
/** The wait for a lock timed out. In MySQL only the statement is rolled back. */
const LOCK_TIMEOUTS: ReadonlySet<unknown> = new Set(['55P03', 'ER_LOCK_WAIT_TIMEOUT', 1205, '1205']);
/** The savepoint does not exist: MySQL keeps none outside of a transaction. */
export const NO_SAVEPOINT: ReadonlySet<unknown> = new Set(['ER_SP_DOES_NOT_EXIST', 1305, '1305']);
/** The table does not exist, so the statement has changed nothing. */
const MISSING_TABLE: ReadonlySet<unknown> = new Set(['42P01', 'ER_NO_SUCH_TABLE', 1146, '1146', '42S02']);

/**
 * Nothing that such a session writes is committed.
 * @param row of a session of MySQL
 */
export function refuseWithoutAutocommit(row: Row | undefined): void {
  if (row?.autocommit === '0' || row?.autocommit === 'OFF')
    throw new StoreError(
      'autocommit is off in a session of MySQL, so claims would be lost. Turn it on for every connection of client.',
    );
}

export function isMissingTable(error: unknown): boolean {
  return (
    hasCode(error, MISSING_TABLE) || saysInside(error, 'no such table') || saysInside(error, NO_UNIQUE_INDEX)
  );
}

/** Without transactions, as in D1, a process that was killed leaves a table of SQLite without its indexes. */
const NO_UNIQUE_INDEX = 'ON CONFLICT clause does not match any PRIMARY KEY or UNIQUE constraint';

export function isUnprepared(error: unknown): boolean {
  return hasCode(error, UNPREPARED) || holdsFor(error, ({ routine }) => routine === REVALIDATION);
}

export function isLockTimeout(error: unknown): boolean {
  return hasCode(error, LOCK_TIMEOUTS);
}

/** Another connection has the lock of a SQLite file. node:sqlite tells it by a number. */
export function isBusy(error: unknown): boolean {
  return holdsFor(
    error,
    ({ code, errcode }) =>
      /^SQLITE_(?:BUSY|LOCKED)/.test(String(code)) ||
      (typeof errcode === 'number' && [5, 6].includes(errcode & 0xff)),
  );
}

/** SQLite has one code for many errors. */
export function saysInside(error: unknown, text: string): boolean {
  return holdsFor(error, ({ message }) => String(message).includes(text));
}

/** Whether the error, or one that it wraps, has one of these codes. */
export function hasCode(error: unknown, codes: ReadonlySet<unknown>): boolean {
  return holdsFor(error, (fields) => CODES.some((name) => codes.has(fields[name])));
}

type ErrorFields = Readonly<Record<string, unknown>>;

function holdsFor(error: unknown, test: (fields: ErrorFields) => boolean, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > MAX_WRAPPED) return false;
  const fields = error as ErrorFields;
  return test(fields) || INSIDE.some((name) => holdsFor(fields[name], test, depth + 1));
}

/** Retries work that failed without any change, for reasons that pass. */
export async function withRetry<Value>(work: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === MAX_TRIES || !(hasCode(error, CONFLICTS) || isUnprepared(error))) throw error;
      await pause(Math.random() * 20 * 2 ** attempt);
    }
  }
}
