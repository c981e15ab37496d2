// Dead letters in databases that return the rows a statement has changed: Postgres and SQLite.
import type { Discarded, ProcessedEvent } from '../../contracts/dead-letter-store.js';
import { StoreError } from '../../errors.js';
import type { Connections } from '../sql/connections.js';
import { PRUNE_BATCH, Statement } from '../sql/statement.js';
import { type LetterDialect, readRow, SqlLetterRows, selected, textOf, valuesOf } from './sql-rows.js';
import type { FullRow, NewRow, RowChange } from './stored-letters.js';

/** The further fragments in which these databases differ. */
export interface ReturningDialect extends LetterDialect {
  /** The current time, to the millisecond. */
  readonly now: string;
  /** The function that returns the larger of two numbers. */
  readonly greatest: string;
  /** Makes a subquery skip rows that another process is deleting. */
  readonly skipLocked: string;
  /** A parameter that is a boolean. */
  boolean(parameter: number): string;
  /** A condition: the key equals a parameter exactly, even if the column has a case-insensitive collation. */
  sameKey(parameter: number): string;
}

const RENEWED = ['arrival', 'id', 'event_name', 'namespace', 'event_id', 'sandbox', 'body', 'kept_at'];

function letterStatements(dialect: ReturningDialect) {
  const { table, now, greatest, skipLocked, expired, boolean, number, sameKey, select } = dialect;
  // Neither a tombstone nor expired.
  const alive = `discarded_at IS NULL AND NOT ${expired()}`;
  const find = `SELECT ${selected(dialect)}, ${select('body')} AS body FROM ${table} WHERE id = $2 AND ${alive}`;
  const remove = `
DELETE FROM ${table}
WHERE key = $2 AND ${sameKey(2)} AND (fingerprint = $3 OR reason IN ('failed', 'unfinished')) AND ${alive}`;
  // The row of an expired letter may still exist. It then becomes the new letter, in a new place.
  const keep = `
INSERT INTO ${table} AS l
  (id, key, fingerprint, namespace, event_name, event_id, sandbox, reason, code, attempts, issues, head, body)
VALUES ($2, $3, $4, $5, $6, $7, ${boolean(8)}, $9, $10, ${number(11)}, $12::bytea, $13::bytea, $14::bytea)
ON CONFLICT (key, fingerprint) WHERE discarded_at IS NULL DO UPDATE SET
  ${RENEWED.map((column) => `${column} = CASE WHEN ${expired('l.')} THEN excluded.${column} ELSE l.${column} END`).join(',\n  ')},
  attempts = CASE WHEN ${expired('l.')} THEN excluded.attempts ELSE ${greatest}(l.attempts + 1, excluded.attempts) END,
  reason = excluded.reason, code = excluded.code, issues = excluded.issues, head = excluded.head
RETURNING id`;
  const replaceBody = `UPDATE ${table} SET body = $3::bytea WHERE id = $2 AND ${alive}`;
  const update = `
UPDATE ${table} SET reason = $3, code = $4, issues = $5::bytea, attempts = COALESCE(${number(6)}, attempts)
WHERE id = $2 AND ${alive}`;
  const discard = `
UPDATE ${table} SET head = NULL, body = NULL, discarded_by = $3, discarded_because = $4, discarded_at = ${now}
WHERE id = $2 AND ${alive}`;
  const prune = `
DELETE FROM ${table} WHERE arrival IN (
  SELECT arrival FROM ${table} WHERE ${expired()}
  ORDER BY COALESCE(discarded_at, kept_at) LIMIT ${number(2)} ${skipLocked}
)`;
  return {
    keep: new Statement(keep),
    replaceBody: new Statement(replaceBody),
    find: new Statement(find),
    update: new Statement(update),
    remove: new Statement(remove),
    discard: new Statement(discard),
    prune: new Statement(prune),
  };
}

export class ReturningLetterRows extends SqlLetterRows {
  readonly #sql: ReturnType<typeof letterStatements>;

  constructor(connections: Connections, dialect: ReturningDialect, retentionMs: number) {
    super(connections, dialect, retentionMs);
    this.#sql = letterStatements(dialect);
  }

  async keep(row: NewRow): Promise<string> {
    const [kept] = (await this.run(this.#sql.keep, valuesOf(row))).rows;
    if (kept) return textOf(kept.id);
    throw new StoreError(
      'The database wrote a dead letter and returned no row. Check the table for rules and triggers.',
    );
  }

  replaceBody(id: string, body: Buffer): Promise<unknown> {
    return this.run(this.#sql.replaceBody, [id, body]);
  }

  async find(id: string): Promise<FullRow | undefined> {
    const [row] = (await this.run(this.#sql.find, [id])).rows;
    return row && readRow(row, this.dialect);
  }

  async update(id: string, { reason, code, issues, attempts }: RowChange): Promise<boolean> {
    return (await this.run(this.#sql.update, [id, reason, code, issues, attempts])).count === 1;
  }

  async remove({ key, fingerprint }: ProcessedEvent): Promise<number> {
    return (await this.run(this.#sql.remove, [key, fingerprint])).count;
  }

  async discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    return (await this.run(this.#sql.discard, [id, by, because])).count === 1;
  }

  async prune() {
    const { count: pruned } = await this.run(this.#sql.prune, [PRUNE_BATCH]);
    return { pruned, more: pruned === PRUNE_BATCH };
  }
}
