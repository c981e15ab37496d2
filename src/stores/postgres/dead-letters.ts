// Keeps dead letters in Postgres: one row for each, removed by the commit that processes its event.
import type { DeadLetterStore } from '../../claims/dead-letter-store.js';
import type { LetterOptions } from '../../dead-letters/stored-letters.js';
import { refuseUnknownOptions } from '../../errors.js';
import { retentionMs } from '../../options/duration.js';
import { storedInSql } from '../sql/letter-rows.js';
import { PgConnections, type PostgresPool } from '../sql/pg-session.js';
import { PostgresLetterRows } from '../sql/postgres-letters.js';

export interface PostgresDeadLettersOptions extends LetterOptions {
  /** A pool of `pg`. The store neither opens nor ends it. That of a transactional `postgresStore` removes letters in its commits. */
  readonly pool: PostgresPool;
  /** `name` or `schema.name`. @default 'dead_letter' */
  readonly table?: string | undefined;
}

export interface PostgresDeadLetters extends DeadLetterStore {
  /** Creates the table and its indexes unless they exist. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /** Deletes letters and tombstones whose retention is over, a thousand at a time, and resolves with their number. */
  prune(): Promise<number>;
}

/**
 * Dead letters that any number of processes share.
 *
 * @throws {ConfigurationError} if pool is not a pool, the name of the table needs quotes, a key does not have 32 bytes, or
 *   retention is not a duration
 * @example
 * const deadLetters = postgresDeadLetters({ pool, encryptionKeys: [process.env.LETTER_KEY ?? ''], retention: '90d' });
 * await deadLetters.migrate();
 * const hooks = receiver({ store: postgresStore({ pool, transactional: true, retention: '90d' }), deadLetters });
 */
export function postgresDeadLetters(options: PostgresDeadLettersOptions): PostgresDeadLetters {
  const { pool, table = 'dead_letter', encryptionKeys, retention } = options ?? {};
  refuseUnknownOptions(options ?? {}, ['pool', 'table', 'encryptionKeys', 'retention']);
  const rows = new PostgresLetterRows(new PgConnections(pool), table, retentionMs(retention));
  return storedInSql(rows, encryptionKeys);
}
