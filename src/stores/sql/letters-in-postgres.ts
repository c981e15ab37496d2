// Dead letters in Postgres, through a pool of `pg` or any other client.
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
import { PLAIN, readGroup, readRow } from './letter-answers.js';
import { SEES_THE_PAST } from './postgres.js';
import type { Connections, Reply } from './session.js';
import { Statement } from './statement.js';

const PRUNE_BATCH = 1_000;

export class LettersInPostgres implements LetterRows {
  readonly table: string;
  readonly retentionMs: number;
  readonly database: object;
  readonly #connections: Connections;
  readonly #sql: LetterSql;
  readonly #findWithin: Statement;

  constructor(connections: Connections, table: string, retentionMs: number) {
    this.#connections = connections;
    this.#sql = letterSqlFor(table);
    this.table = this.#sql.table;
    this.retentionMs = retentionMs;
    this.database = connections.client;
    this.#findWithin = new Statement(`${this.#sql.find.text} AND NOT (${SEES_THE_PAST})`);
  }

  async keep(row: NewRow): Promise<string> {
    const { rows } = await this.#run('keep', row);
    const [kept] = rows;
    if (!kept)
      throw new StoreError(
        'Postgres kept a dead letter without a row. Check the table for rules and triggers.',
      );
    return PLAIN.text(kept.id);
  }

  async find(id: string, transaction?: unknown): Promise<FullRow | undefined> {
    const within = transaction === undefined ? undefined : this.#connections.within(transaction);
    const seen = await within?.(this.#findWithin, [this.retentionMs, id]);
    const row = seen?.rows[0] ?? (await this.#run('find', [id])).rows[0];
    return row && readRow(row, PLAIN);
  }

  async update(id: string, { reason, code, issues, attempts }: RowChange): Promise<boolean> {
    const { count } = await this.#run('update', [id, reason, code ?? null, issues, attempts ?? null]);
    return count === 1;
  }

  async list(
    query: DeadLetterQuery,
    page: { readonly limit: number; readonly after: string },
  ): Promise<readonly LetterRow[]> {
    const { rows } = await this.#ask(this.#sql.list(query, this.retentionMs, page));
    return rows.map((row) => readRow(row, PLAIN));
  }

  async count(query: DeadLetterQuery): Promise<number> {
    const { rows } = await this.#ask(this.#sql.count(query, this.retentionMs));
    return Number(rows[0]?.letters ?? 0);
  }

  async countGroups(query: DeadLetterQuery, names: number): Promise<readonly GroupRow[]> {
    const { rows } = await this.#ask(this.#sql.countGroups(query, this.retentionMs, names));
    return rows.map((row) => readGroup(row, PLAIN));
  }

  async remove({ key, fingerprint }: ProcessedEvent, transaction: unknown): Promise<number> {
    if (transaction === undefined) return (await this.#run('remove', [key, fingerprint])).count;
    const run = this.#connections.within(transaction);
    return (await run(this.#sql.removeWithin, [this.retentionMs, key, fingerprint])).count;
  }

  async discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    return (await this.#run('discard', [id, by, because])).count === 1;
  }

  migrate(): Promise<void> {
    return this.#connections.migrate(this.#sql.migrate);
  }

  async prune(): Promise<number> {
    for (let pruned = 0; ; ) {
      const { count: deleted } = await this.#run('prune', [PRUNE_BATCH]);
      pruned += deleted;
      if (deleted < PRUNE_BATCH) return pruned;
    }
  }

  #run(
    statement: 'keep' | 'find' | 'update' | 'remove' | 'discard' | 'prune',
    parameters: readonly unknown[],
  ): Promise<Reply> {
    return this.#connections.run(this.#sql[statement], [this.retentionMs, ...parameters]);
  }

  #ask({ text, values }: Question): Promise<Reply> {
    return this.#connections.run(new Statement(text, { prepared: false }), values);
  }
}
