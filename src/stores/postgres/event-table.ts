// The table of one store: how its statements are prepared, and retried where that helps.
import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresPool, PostgresReply, Queryable } from './pool.js';
import type { Sql, Statement } from './sql.js';

const TRIES = 3;
/** A serialization failure, and a deadlock: Postgres undid the work because of concurrent transactions. */
const CONFLICTS: ReadonlySet<unknown> = new Set(['40001', '40P01']);
/** The name of the statement is unknown, or taken: a pooler has switched the connection behind this client. */
const UNPREPARED: ReadonlySet<unknown> = new Set(['26000', '42P05']);

const PRUNE_BATCH = 1_000;

interface Prunable {
  /** Of the retention in milliseconds, and the most rows to delete. */
  readonly prune: Statement;
}

export class EventTable<Statements extends Prunable = Sql> {
  readonly pool: PostgresPool;
  readonly sql: Statements;
  readonly retentionMs: number;
  /** Planning a claim each time would triple its cost on the server. */
  #prepared = true;

  constructor(pool: PostgresPool, sql: Statements, retentionMs: number) {
    this.pool = pool;
    this.sql = sql;
    this.retentionMs = retentionMs;
  }

  async query(client: Queryable, { name, text }: Statement, values: unknown[]): Promise<PostgresReply> {
    try {
      return await client.query(this.#prepared ? { name, text, values } : { text, values });
    } catch (error) {
      if (UNPREPARED.has(sqlState(error))) this.#prepared = false;
      throw error;
    }
  }

  /** A statement that commits by itself, on any client of the pool. */
  run(statement: Statement, values: unknown[]): Promise<PostgresReply> {
    return withRetry(() => this.query(this.pool, statement, values));
  }

  /** Deletes rows whose retention is over, a batch at a time. @returns how many */
  async prune(): Promise<number> {
    for (let pruned = 0; ; ) {
      const { rowCount } = await this.run(this.sql.prune, [this.retentionMs, PRUNE_BATCH]);
      pruned += rowCount ?? 0;
      if ((rowCount ?? 0) < PRUNE_BATCH) return pruned;
    }
  }
}

/** Retries work that changed nothing, if the reason may have passed by then. */
export async function withRetry<Value>(work: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const state = sqlState(error);
      if (attempt === TRIES || !(CONFLICTS.has(state) || UNPREPARED.has(state))) throw error;
      await pause(Math.random() * 20 * 2 ** attempt);
    }
  }
}

export function sqlState(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
