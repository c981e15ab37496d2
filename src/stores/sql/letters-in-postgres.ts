// Dead letters in Postgres through any client, in the table of postgresDeadLetters().
import type { DeadLetterQuery, Discarded, ProcessedEvent } from '../../claims/dead-letter-store.js';
import type {
  FullRow,
  GroupRow,
  LetterRow,
  LetterRows,
  NewRow,
  RowChange,
} from '../../dead-letters/stored-letters.js';
import { StoreError } from '../../errors.js';
import { type LetterSql, letterSqlFor, type Question } from '../postgres/letter-sql.js';
import type { Database, Row } from './database.js';
import { PLAIN, readGroup, readRow } from './letter-answers.js';
import { SqlStatement } from './placeholders.js';
import { asOneStatement, SEES_THE_PAST } from './postgres-rows.js';

const PRUNE_BATCH = 1_000;

export class LettersInPostgres implements LetterRows {
  readonly table: string;
  readonly retentionMs: number;
  readonly database: object;
  readonly #db: Database;
  readonly #sql: LetterSql;
  readonly #statements: Readonly<
    Record<
      'keep' | 'find' | 'findWithin' | 'update' | 'remove' | 'removeWithin' | 'discard' | 'prune',
      SqlStatement
    >
  >;

  constructor(db: Database, table: string, retentionMs: number) {
    this.#db = db;
    this.#sql = letterSqlFor(table);
    this.table = this.#sql.table;
    this.retentionMs = retentionMs;
    this.database = db.client;
    const { keep, find, update, remove, removeWithin, discard, prune } = this.#sql;
    this.#statements = {
      keep: new SqlStatement('postgres', keep.text),
      find: new SqlStatement('postgres', find.text),
      findWithin: new SqlStatement('postgres', `${find.text} AND NOT (${SEES_THE_PAST})`),
      update: counted(update.text),
      remove: counted(remove.text),
      removeWithin: counted(removeWithin.text),
      discard: counted(discard.text),
      prune: counted(prune.text),
    };
  }

  async keep(row: NewRow): Promise<string> {
    const [kept] = await this.#run('keep', row);
    if (!kept)
      throw new StoreError(
        'Postgres kept a dead letter without a row. Check the table for rules and triggers.',
      );
    return PLAIN.text(kept.id);
  }

  async find(id: string, transaction?: unknown): Promise<FullRow | undefined> {
    const { find, findWithin } = this.#statements;
    const values = [this.retentionMs, id];
    const [seen] = transaction === undefined ? [] : await this.#db.within(transaction)(findWithin, values);
    const [row] = seen ? [seen] : await this.#db.run(find, values);
    return row && readRow(row, PLAIN);
  }

  async update(id: string, { reason, code, issues, attempts }: RowChange): Promise<boolean> {
    return changed(await this.#run('update', [id, reason, code, issues, attempts])) === 1;
  }

  async list(
    query: DeadLetterQuery,
    page: { readonly limit: number; readonly after: string },
  ): Promise<readonly LetterRow[]> {
    const rows = await this.#ask(this.#sql.list(query, this.retentionMs, page));
    return rows.map((row) => readRow(row, PLAIN));
  }

  async count(query: DeadLetterQuery): Promise<number> {
    const [counted] = await this.#ask(this.#sql.count(query, this.retentionMs));
    return Number(counted?.letters ?? 0);
  }

  async countGroups(query: DeadLetterQuery, names: number): Promise<readonly GroupRow[]> {
    const rows = await this.#ask(this.#sql.countGroups(query, this.retentionMs, names));
    return rows.map((row) => readGroup(row, PLAIN));
  }

  async remove({ key, fingerprint }: ProcessedEvent, transaction: unknown): Promise<number> {
    const parameters = [this.retentionMs, key, fingerprint];
    const { remove, removeWithin } = this.#statements;
    return changed(
      await (transaction === undefined
        ? this.#db.run(remove, parameters)
        : this.#db.within(transaction)(removeWithin, parameters)),
    );
  }

  async discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    return changed(await this.#run('discard', [id, by, because])) === 1;
  }

  async migrate(): Promise<void> {
    await this.#db.send(this.#db.client, asOneStatement(this.#sql.migrate));
  }

  async prune(): Promise<number> {
    for (let pruned = 0; ; ) {
      const deleted = changed(await this.#run('prune', [PRUNE_BATCH]));
      pruned += deleted;
      if (deleted < PRUNE_BATCH) return pruned;
    }
  }

  #run(
    statement: 'keep' | 'update' | 'discard' | 'prune',
    parameters: readonly unknown[],
  ): Promise<readonly Row[]> {
    return this.#db.run(this.#statements[statement], [this.retentionMs, ...parameters]);
  }

  #ask({ text, values }: Question): Promise<readonly Row[]> {
    return this.#db.run(new SqlStatement('postgres', text), values);
  }
}

/** Not every client tells how many rows a statement changed. */
function counted(text: string): SqlStatement {
  return new SqlStatement(
    'postgres',
    `WITH changed AS (${text} RETURNING 1) SELECT count(*)::int AS changed FROM changed`,
  );
}

function changed([row]: readonly Row[]): number {
  return Number(row?.changed ?? 0);
}
