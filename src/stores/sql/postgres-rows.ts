// The steps of a claim in Postgres for any client, with the statements of `postgresStore`.

import type { Claim } from '../../claims/idempotency-store.js';
import { MAX_TIMER_MS } from '../../options/duration.js';
import * as sql from '../postgres/sql.js';
import type { Row, RunStatement } from './database.js';
import {
  type Answer,
  type ClaimParameters,
  checkKey,
  type EventRows,
  type Owner,
  readAnswer,
  readKept,
} from './event-rows.js';
import { SqlStatement } from './placeholders.js';

const PRUNE_BATCH = 1_000;

const WRITTEN = "RETURNING 'yes' AS written";

const ANSWER = `
RETURNING ${sql.STORED_KEY}, CASE WHEN token = $2::uuid THEN 'claimed' WHEN lease_ends = 'infinity' THEN 'completed' ELSE 'in_progress' END
    AS status, attempt::text AS attempt, finished, fingerprint,
  ((date_part('epoch', lease_ends) - date_part('epoch', ${sql.NOW})) * 1000)::text AS lease_left`;

/** Such a transaction sees letters as they were when it began, so one that was kept since is looked for after the commit. */
export const SEES_THE_PAST = "current_setting('transaction_isolation') NOT LIKE 'read %'";

const completed = (table: string) =>
  `SELECT 'yes' AS completed FROM ${table} WHERE key = $1 AND token = $2::uuid AND lease_ends = 'infinity'`;

const countPruned = (table: string) =>
  `WITH pruned AS (${sql.prune(table)} RETURNING key) SELECT count(*)::text AS pruned FROM pruned`;

export class PostgresRows implements EventRows {
  readonly #table: string;
  readonly #migrate: string;
  /** Those in a transaction, by what they do and the tables of letters that they ask. */
  readonly #asking = new Map<string, SqlStatement>();
  readonly #statements: ReturnType<typeof statementsFor>;

  /** @throws {ConfigurationError} if the table is not `name` or `schema.name` of letters, digits and underscores */
  constructor(name: unknown) {
    const { table, index } = sql.parseTable(name);
    this.#table = table;
    this.#migrate = asOneStatement(sql.migrate(table, index('claimed_at')));
    this.#statements = statementsFor(table);
  }

  migrate(): readonly string[] {
    return [this.#migrate];
  }

  async ping(run: RunStatement): Promise<void> {
    const [row] = await run(this.#statements.ping, []);
    sql.checkPing(row, sql.exactKey(this.#table));
  }

  async prune(run: RunStatement, retentionMs: number) {
    const [row] = await run(this.#statements.prune, [retentionMs, PRUNE_BATCH]);
    const pruned = Number(row?.pruned);
    return { pruned, more: pruned === PRUNE_BATCH };
  }

  async claim(run: RunStatement, parameters: ClaimParameters): Promise<Answer> {
    const values = valuesOf(parameters);
    // Most claims are the first of their event. A plain insert costs less than the statement that can take over.
    if (wrote(await run(this.#statements.claimNew, values)))
      return { status: 'claimed', attempt: 1, finished: [] };
    return this.#answer(await run(this.#statements.claim, values), parameters);
  }

  #answer([row]: readonly Row[], { key }: Owner): Answer {
    if (row) checkKey(row.key, key, sql.exactKey(this.#table));
    return readAnswer(row);
  }

  async renew(run: RunStatement, { key, token }: Owner, leaseMs: number, keepMs: number): Promise<boolean> {
    return wrote(await run(this.#statements.renew, [key, token, leaseMs, keepMs]));
  }

  async complete(run: RunStatement, { key, token }: Owner, keepMs: number): Promise<boolean> {
    return wrote(await run(this.#statements.complete, [key, token, keepMs]));
  }

  async release(run: RunStatement, { key, token }: Owner, keepMs: number, finished: readonly string[]) {
    return wrote(await run(this.#statements.release, [key, token, keepMs, JSON.stringify(finished)]));
  }

  async forget(run: RunStatement, { key, token }: Owner): Promise<boolean> {
    return wrote(await run(this.#statements.forget, [key, token]));
  }

  async claimInTransaction(run: RunStatement, parameters: ClaimParameters): Promise<Answer> {
    await run(this.#statements.setTimeouts, [idleMs(parameters.leaseMs)]);
    const statement = this.#withLetter(
      `${sql.upsert(this.#table)}${ANSWER},${sql.RESTORED}, ${sql.SESSION}`,
      parameters.letterTable,
    );
    return this.#answer(await run(statement, valuesOf(parameters)), parameters);
  }

  /** Looks for a letter of the event too, or says when there may be one. */
  #withLetter(text: string, letterTable: string | undefined, may = ''): SqlStatement {
    const asking = letterTable ? `${text},\n  (${sql.hasLetter(letterTable)}${may})::text AS kept` : text;
    const statement = this.#asking.get(asking) ?? new SqlStatement('postgres', asking);
    this.#asking.set(asking, statement);
    return statement;
  }

  async renewTransaction(run: RunStatement, leaseMs: number): Promise<void> {
    await run(this.#statements.renewTransaction, [idleMs(leaseMs)]);
  }

  async isExecuting(run: RunStatement, session: string | undefined): Promise<boolean> {
    return wrote(await run(this.#statements.executing, [session]));
  }

  async completeInTransaction(
    run: RunStatement,
    { key, token }: Owner,
    keepMs: number,
    letterTable: string | undefined,
  ): Promise<Pick<Claim, 'kept'> | undefined> {
    const completing = `${sql.completeInTransaction(this.#table)} ${WRITTEN}`;
    const statement = this.#withLetter(completing, letterTable, ` OR ${SEES_THE_PAST}`);
    const [row] = await run(statement, [key, token, keepMs]);
    return row && readKept(row.kept);
  }

  async isCompleted(run: RunStatement, { key, token }: Owner): Promise<boolean> {
    return wrote(await run(this.#statements.completed, [key, token]));
  }
}

function statementsFor(table: string) {
  const statement = (text: string) => new SqlStatement('postgres', text);
  return {
    claimNew: statement(`${sql.claimNew(table)} ${WRITTEN}`),
    claim: statement(`${sql.upsert(table)}${ANSWER}`),
    renew: statement(`${sql.renew(table)} ${WRITTEN}`),
    complete: statement(`${sql.complete(table)} ${WRITTEN}`),
    release: statement(`${sql.release(table)} ${WRITTEN}`),
    forget: statement(`${sql.forget(table)} ${WRITTEN}`),
    prune: statement(countPruned(table)),
    ping: statement(sql.ping(table)),
    setTimeouts: statement(sql.setTimeouts('$1')),
    renewTransaction: statement(sql.renewTransaction),
    executing: statement(sql.executing),
    completed: statement(completed(table)),
  };
}

/** The statements of a migration as one, which every client can send, in a transaction of its own. */
export function asOneStatement(migration: string): string {
  return `DO $$BEGIN${migration.replace('SELECT pg_advisory_xact_lock', 'PERFORM pg_advisory_xact_lock')}\nEND$$`;
}

function valuesOf({ key, token, fingerprint, leaseMs, keepMs }: ClaimParameters): unknown[] {
  return [key, token, fingerprint, leaseMs, keepMs];
}

function wrote(rows: readonly unknown[]): boolean {
  return rows.length > 0;
}

/** Postgres takes no longer time than a timer of Node does. */
function idleMs(leaseMs: number): number {
  return Math.min(Math.max(Math.ceil(leaseMs), 1), MAX_TIMER_MS);
}
