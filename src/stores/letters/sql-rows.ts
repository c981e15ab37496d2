// Dead letters in a SQL table: what the dialects share, and how rows of any client are read.
import type {
  DeadLetterGroup,
  DeadLetterQuery,
  DeadLetterReason,
  Discarded,
} from '../../contracts/dead-letter-store.js';
import { FURTHER_NAMES, type ProcessedEvent } from '../../contracts/dead-letter-store.js';
import type { ErrorCode } from '../../errors.js';
import type { Connections, Reply, Row } from '../sql/connections.js';
import { readCount, unreadable } from '../sql/dialect.js';
import { Statement } from '../sql/statement.js';
import {
  type FullRow,
  type LetterRows,
  type NewRow,
  type RowChange,
  type RowPage,
  StoredLetters,
} from './stored-letters.js';

/** The fragments in which the dialects differ. Parameters are numbered; the first is the retention in milliseconds. */
export interface LetterDialect {
  /** The quoted name. */
  readonly table: string;
  readonly migration: string;
  /** A condition: the retention has expired. @param row qualifies the columns if another table has the same ones */
  expired(row?: string): string;
  /** A parameter that is text or bytes. */
  bytes(parameter: number): string;
  /** A parameter that is an integer. */
  number(parameter: number): string;
  /** A parameter that is a time, in milliseconds since 1970. */
  time(parameter: number): string;
  /** A condition: the name of the event begins with a parameter. */
  prefix(parameter: number): string;
  /** Selects text or bytes in the form that `text` and `blob` read. */
  select(expression: string): string;
  /** Selects a time as milliseconds since 1970. */
  milliseconds(time: string): string;
  /** Converts a value into what the statements expect. */
  sent(value: unknown): unknown;
  text(value: unknown): string;
  blob(value: unknown): Buffer;
}

/** The columns that are text or bytes, in the order of {@link valuesOf}. */
const COLUMNS = 'id key fingerprint namespace event_name event_id reason code issues head'.split(' ');
const WHY = ['discarded_by', 'discarded_because'];

/** Databases have no dates as late as the last `Date` of JavaScript, and no letter is from before 1970. */
const LAST_MS = Date.UTC(9999, 0);

const TRUE: ReadonlySet<unknown> = new Set([true, 1, 1n, '1', 't', 'true']);

export abstract class SqlLetterRows implements LetterRows {
  readonly retentionMs: number;
  readonly table: string;
  protected readonly connections: Connections;
  protected readonly dialect: LetterDialect;

  constructor(connections: Connections, dialect: LetterDialect, retentionMs: number) {
    this.connections = connections;
    this.dialect = dialect;
    this.retentionMs = retentionMs;
    this.table = dialect.table;
  }

  abstract keep(row: NewRow): Promise<string>;
  abstract replaceBody(id: string, body: Buffer): Promise<unknown>;
  abstract find(id: string): Promise<FullRow | undefined>;
  abstract update(id: string, change: RowChange): Promise<boolean>;
  abstract remove(event: ProcessedEvent): Promise<number>;
  abstract discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean>;
  abstract prune(): Promise<{ readonly pruned: number; readonly more: boolean }>;

  async list(query: DeadLetterQuery, { limit, after }: RowPage) {
    const { text, values } = this.#where(query);
    const { number, table } = this.dialect;
    // The limit is in the SQL itself, because MySQL refuses text as its value.
    const { rows } = await this.#ask(
      `SELECT ${selected(this.dialect)} FROM ${table} WHERE ${text} AND arrival > ${number(values.length + 2)}
ORDER BY arrival LIMIT ${Math.trunc(limit)}`,
      [...values, BigInt(after)],
    );
    const letters = rows.map((row) => readRow(row, this.dialect));
    return { rows: letters, next: letters.length < limit ? undefined : letters.at(-1)?.place };
  }

  async count(query: DeadLetterQuery): Promise<number> {
    const { text, values } = this.#where(query);
    const { rows } = await this.#ask(`SELECT COUNT(*) AS letters FROM ${this.table} WHERE ${text}`, values);
    return readCount(rows[0]?.letters);
  }

  /** @param names at most this many for each reason; letters of further names are one group */
  async countGroups(query: DeadLetterQuery, names: number): Promise<readonly DeadLetterGroup[]> {
    const { text, values } = this.#where(query);
    const { select, milliseconds, number } = this.dialect;
    const shownName = `CASE WHEN place <= ${number(values.length + 2)} THEN event_name END`;
    const { rows } = await this.#ask(
      `SELECT ${select('reason')} AS reason, ${select(shownName)} AS eventname, SUM(letters) AS letters,
  ${milliseconds('MIN(oldest)')} AS oldest
FROM (
  SELECT reason, event_name, COUNT(*) AS letters, MIN(kept_at) AS oldest,
    ROW_NUMBER() OVER (PARTITION BY reason ORDER BY MIN(arrival)) AS place
  FROM ${this.table} WHERE ${text} GROUP BY reason, event_name
) counted GROUP BY 1, 2`,
      [...values, names],
    );
    return rows.map((row) => ({
      reason: this.dialect.text(row.reason) as DeadLetterReason,
      eventName: optional(row.eventname, this.dialect.text) ?? FURTHER_NAMES,
      count: readCount(row.letters),
      oldest: dateOf(row.oldest),
    }));
  }

  migrate(): Promise<void> {
    return this.connections.migrate(this.dialect.migration);
  }

  /** The parameters of a statement, after the retention. */
  protected values(given: readonly unknown[]): unknown[] {
    return [this.retentionMs, ...given].map(this.dialect.sent);
  }

  /** A statement that commits by itself. */
  protected run(statement: Statement, given: readonly unknown[]): Promise<Reply> {
    return this.connections.run(statement, this.values(given));
  }

  /** Planned each time, because the best index depends on the filter. */
  #ask(text: string, values: readonly unknown[]): Promise<Reply> {
    return this.run(new Statement(text, { prepared: false }), values);
  }

  /** @returns the values without the retention, which is `$1` */
  #where(query: DeadLetterQuery): { readonly text: string; readonly values: readonly unknown[] } {
    const { bytes, prefix, time, expired } = this.dialect;
    const values: unknown[] = [query.namespace];
    const next = (value: unknown) => values.push(value) + 1;
    const conditions = [
      `namespace = ${bytes(2)} AND discarded_at IS ${query.discarded ? 'NOT NULL' : 'NULL'} AND NOT ${expired()}`,
    ];
    const { id, reason, eventId, eventName, eventNamePrefix, since } = query;
    for (const [column, value] of Object.entries({ id, reason, event_id: eventId, event_name: eventName }))
      if (value !== undefined) conditions.push(`${column} = ${bytes(next(value))}`);
    if (eventNamePrefix) conditions.push(prefix(next(eventNamePrefix)));
    if (since !== undefined)
      conditions.push(`kept_at >= ${time(next(Math.min(Math.max(since.getTime(), 0), LAST_MS)))}`);
    return { text: conditions.join(' AND '), values };
  }
}

/** @throws {ConfigurationError} if encryptionKeys is not an array of keys of 32 bytes */
export function storedInSql(rows: SqlLetterRows, encryptionKeys: unknown) {
  return Object.assign(new StoredLetters(rows, encryptionKeys), { migrate: () => rows.migrate() });
}

/** In the order of the columns of each table. */
export function valuesOf(row: NewRow): unknown[] {
  const { id, key, fingerprint, namespace, eventName, eventId, sandbox, reason, code, attempts } = row;
  const identity = [id, key, fingerprint, namespace, eventName, eventId, sandbox];
  return [...identity, reason, code, attempts, row.issues, row.head, row.body];
}

/** The columns that {@link readRow} reads. */
export function selected({ select, milliseconds }: Pick<LetterDialect, 'select' | 'milliseconds'>): string {
  const texts = [...COLUMNS, ...WHY].map((column) => `${select(column)} AS ${aliasOf(column)}`);
  const times = ['kept', 'discarded'].map((when) => `${milliseconds(`${when}_at`)} AS ${when}`);
  return ['arrival AS place', ...texts, 'sandbox', 'attempts', ...times].join(', ');
}

/** Some clients turn names with underscores into camelCase, and `key` is a word of SQL. */
function aliasOf(column: string): string {
  return column === 'key' ? 'letterkey' : column.replaceAll('_', '');
}

/** Clients return rows with different types. */
export function readRow(row: Row, { text, blob }: Pick<LetterDialect, 'text' | 'blob'>): FullRow {
  if (row.id === undefined) throw unreadable();
  const by = optional(row.discardedby, text);
  return {
    place: String(row.place),
    id: text(row.id),
    key: text(row.letterkey),
    fingerprint: text(row.fingerprint),
    namespace: text(row.namespace),
    eventName: text(row.eventname),
    eventId: text(row.eventid),
    sandbox: TRUE.has(row.sandbox),
    reason: text(row.reason) as DeadLetterReason,
    code: optional(row.code, text) as ErrorCode | undefined,
    attempts: Number(row.attempts),
    issues: blob(row.issues),
    head: optional(row.head, blob),
    body: optional(row.body, blob),
    keptAt: dateOf(row.kept).getTime(),
    ...(by !== undefined && {
      discarded: { by, because: optional(row.discardedbecause, text) ?? '', at: dateOf(row.discarded) },
    }),
  };
}

/** Rounded, because Postgres computes the milliseconds from seconds as floating-point numbers. */
function dateOf(ms: unknown): Date {
  return new Date(Math.round(Number(ms)));
}

function optional<Value>(value: unknown, read: (value: unknown) => Value): Value | undefined {
  return value === null || value === undefined ? undefined : read(value);
}

export function textOf(value: unknown): string {
  return ArrayBuffer.isView(value) ? bufferOf(value).toString() : String(value);
}

export function bufferOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
