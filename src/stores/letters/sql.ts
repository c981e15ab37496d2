// Dead letters in Postgres, MySQL or SQLite, through any client or ORM.

import type { DeadLetterStore } from '../../contracts/dead-letter-store.js';
import { anything, defineOptions, type OptionRule } from '../../options/define-options.js';
import { AnyConnections, DATABASE_RULES, type SqlDatabase } from '../sql/any-connections.js';
import type { TransactionOf } from '../sql/transaction-of.js';
import { MysqlLetterRows } from './mysql.js';
import { PostgresLetterRows } from './postgres.js';
import { storedInSql } from './sql-rows.js';
import { SqliteLetterRows } from './sqlite.js';
import { LETTER_RULES, type LetterOptions } from './stored-letters.js';

export interface SqlDeadLettersOptions<Client extends object = object, Transaction = TransactionOf<Client>>
  extends SqlDatabase<Client, Transaction>,
    LetterOptions {
  /** `name` or `schema.name`. @default 'dead_letter' */
  readonly table?: string | undefined;
}

export interface SqlDeadLetters extends DeadLetterStore {
  /** Creates the table and its indexes unless they exist. Any number of processes may call it at once. */
  migrate(): Promise<void>;
  /** Deletes expired letters and tombstones, a thousand at a time, and resolves with their number. */
  prune(): Promise<number>;
}

const ROWS = { postgres: PostgresLetterRows, mysql: MysqlLetterRows, sqlite: SqliteLetterRows };

/**
 * Dead letters that any number of processes share. With `dialect: 'postgres'` its table is that of `postgresDeadLetters()`.
 *
 * @throws {ConfigurationError} if dialect, client or query is not one, the name of the table needs quotes, a key does not have
 *   32 bytes, or retention is not a duration
 * @example
 * const deadLetters = sqlDeadLetters({
 *   dialect: 'mysql',
 *   client: pool,                                                            // createPool() of mysql2/promise
 *   query: async (client, sql, values) => (await client.execute(sql, values))[0],
 *   encryptionKeys: [process.env.LETTER_KEY ?? ''],
 * });
 * await deadLetters.migrate();
 */
export function sqlDeadLetters<Client extends object, Transaction = TransactionOf<Client>>(
  options: SqlDeadLettersOptions<Client, Transaction>,
): SqlDeadLetters {
  const { table, encryptionKeys, retention, ...database } = SQL_LETTERS.read(options);
  const connections = new AnyConnections(database);
  const rows = new ROWS[connections.dialect](connections, table, retention);
  return storedInSql(rows, encryptionKeys);
}

const SQL_LETTERS = defineOptions({
  ...DATABASE_RULES,
  table: anything('dead_letter'),
  ...LETTER_RULES,
} satisfies Record<keyof SqlDeadLettersOptions, OptionRule<unknown>>);
