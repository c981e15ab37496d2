// An inbox in two SQL tables, which it creates when they are missing.
import { ConfigurationError, StoreError } from '../../errors.js';
import { anything, type OptionRule, type OptionValues } from '../../options/define-options.js';
import { withDeadline } from '../../time.js';
import { type SqlLetterRows, storedInSql } from '../letters/sql-rows.js';
import { hasCode, isMissingTable } from '../sql/conflicts.js';
import type { Connections } from '../sql/connections.js';
import type { Dialect } from '../sql/dialect.js';
import { sqlEngine, type TableStore } from '../sql/engine.js';
import { INBOX_RULES, type InboxOf, type InboxOptions, prunedInbox } from './pruned.js';

export interface TableOptions extends InboxOptions {
  /** The table of event ids: `name` or `schema.name`. @default 'webhook_event' */
  readonly eventTable?: string | undefined;
  /** The table of dead letters: `name` or `schema.name`. @default 'dead_letter' */
  readonly deadLetterTable?: string | undefined;
}

export const TABLE_RULES: typeof INBOX_RULES & {
  readonly eventTable: OptionRule<string>;
  readonly deadLetterTable: OptionRule<string>;
} = { eventTable: anything('webhook_event'), deadLetterTable: anything('dead_letter'), ...INBOX_RULES };

/** Where the tables are, and their dialect of SQL. */
interface Database {
  readonly connections: Connections;
  /** Checks the name of a table. */
  readonly parse: (name: unknown, option: string) => unknown;
  readonly Dialect: new (table: unknown) => Dialect;
  readonly Rows: new (connections: Connections, table: unknown, retentionMs: number) => SqlLetterRows;
  /** The ending of its files in docs/sql. */
  readonly files: '.sql' | '.mysql.sql' | '.sqlite.sql';
}

/** @throws {ConfigurationError} for an invalid option */
export function inboxInTables<Extra extends object>(
  { connections, parse, Dialect, Rows, files }: Database,
  { eventTable, deadLetterTable, retention, encryptionKeys, prune }: OptionValues<typeof TABLE_RULES>,
): InboxOf<TableStore<Extra>, ReturnType<typeof storedInSql>> {
  parse(eventTable, 'eventTable');
  parse(deadLetterTable, 'deadLetterTable');
  if (eventTable === deadLetterTable)
    throw new ConfigurationError(
      `eventTable and deadLetterTable are both "${eventTable}". Give each its own table.`,
    );
  const inTurn = oneByOne();
  const creating = (table: string, file: string, migrate: () => Promise<void>) =>
    creatingTable(connections, inTurn, migrate, table, file + files);
  const store: TableStore<object> = sqlEngine({
    connections: creating(eventTable, 'webhook-event', () => store.migrate()),
    dialect: new Dialect(eventTable),
    retentionMs: retention,
  });
  const rows: SqlLetterRows = new Rows(
    creating(deadLetterTable, 'dead-letter', () => rows.migrate()),
    deadLetterTable,
    retention,
  );
  const deadLetters = storedInSql(rows, encryptionKeys);
  return prunedInbox(store as TableStore<Extra>, deadLetters, [store, deadLetters], prune);
}

/** The role may not create tables there, or there is no such schema. */
const NOT_CREATED: ReadonlySet<unknown> = new Set([
  '42501',
  '3F000',
  'ER_TABLEACCESS_DENIED_ERROR',
  1142,
  '1142',
  'ER_DBACCESS_DENIED_ERROR',
  1044,
  '1044',
]);

/** Not the end of a claim: in a table that somebody has just dropped it would find its claim lost, and the event would run again. */
const MAY_CREATE = /\b(?:INSERT|DELETE)\b|^\s*SELECT\b/;

type InTurn = (work: () => Promise<void>) => Promise<void>;

/** Whoever is before may never end: its connection is silent, or its request in a Worker is over. */
const TURN_MS = 1_000;

/** One table after the other: some clients of SQLite have one connection for all transactions. */
function oneByOne(): InTurn {
  let last = Promise.resolve();
  return (work) => {
    last = withDeadline(last, TURN_MS, () => {}).then(work, work);
    return last;
  };
}

/**
 * A statement that finds no table creates it, and runs once more: it has changed nothing. Not inside a transaction of the user,
 * which CREATE TABLE would commit in MySQL; and none of those comes before the claim that creates the table.
 */
function creatingTable(
  connections: Connections,
  inTurn: InTurn,
  migrate: () => Promise<void>,
  table: string,
  file: string,
): Connections {
  let created = 0;
  const create = async () => {
    try {
      await migrate();
      created += 1;
    } catch (cause) {
      if (!hasCode(cause, NOT_CREATED)) throw cause;
      throw new StoreError(
        `The table ${table} does not exist, and cannot be created by this role. Run docs/sql/${file} as a role that may create it, ` +
          'and grant this one SELECT, INSERT, UPDATE and DELETE.',
        { cause },
      );
    }
  };
  const withTable = async <Value>(work: () => Promise<Value>, mayCreate = true): Promise<Value> => {
    const before = created;
    try {
      return await work();
    } catch (error) {
      if (!mayCreate || !isMissingTable(error)) throw error;
    }
    // Those that find no table at the same time wait for the first of them.
    await inTurn(async () => {
      if (created === before) await create();
    });
    return work();
  };
  return {
    run: (statement, parameters) =>
      withTable(() => connections.run(statement, parameters), MAY_CREATE.test(statement.text)),
    ping: (check) => withTable(() => connections.ping(check)),
    within: (transaction) => connections.within(transaction),
    confirmSeparate: (transaction) => connections.confirmSeparate?.(transaction),
    transaction: connections.transaction?.bind(connections),
    once: connections.once,
    migrate: (statements) => connections.migrate(statements),
  };
}
