// The steps of a claim in MySQL and MariaDB: each writes, and then reads back whose token the row has.

import type { Claim } from '../../claims/idempotency-store.js';
import { newToken } from '../../claims/token.js';
import { StoreError } from '../../errors.js';
import { inexactKey, parseTable } from '../postgres/sql.js';
import { hasCode } from './conflicts.js';
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
import { type MysqlSql, mysqlSqlFor, PRUNE_BATCH, quoted, savepoint } from './mysql-sql.js';

const MAX_KEY = 1_024;
const MAX_FINGERPRINT = 256;
/** MySQL counts dates to the year 9999. */
const MAX_MICROSECONDS = 4e15;

/** The savepoint is not known: another transaction has begun since, or none has. */
export const NO_SAVEPOINT: ReadonlySet<unknown> = new Set(['ER_SP_DOES_NOT_EXIST', 1305, '1305']);
/** MySQL prepares no savepoints, so a client that prepares every statement cannot set one. */
export const NOT_PREPARED: ReadonlySet<unknown> = new Set(['ER_UNSUPPORTED_PS', 1295, '1295']);

export class MysqlRows implements EventRows {
  readonly #sql: MysqlSql;
  readonly #withoutSavepoint = new WeakSet<RunStatement>();

  /** @throws {ConfigurationError} if the table is not `name` or `schema.name` of letters, digits and underscores */
  constructor(name: unknown) {
    this.#sql = mysqlSqlFor(quoted(parseTable(name)));
  }

  migrate(): readonly string[] {
    return [this.#sql.migrate];
  }

  async ping(run: RunStatement): Promise<void> {
    const [row] = await run(this.#sql.ping, []);
    if (row?.read_only !== '0' && row?.read_only !== 'OFF')
      throw new StoreError('This MySQL is read-only, so no event can be claimed. Connect to the primary.');
    if (row.ids !== '2') throw inexactKey(this.#sql.exactKey);
  }

  async prune(run: RunStatement, retentionMs: number) {
    const values = [microseconds(retentionMs)];
    const [row] = await run(this.#sql.countDue, values);
    await run(this.#sql.prune, values);
    const pruned = Number(row?.due);
    return { pruned, more: pruned === PRUNE_BATCH };
  }

  async claim(run: RunStatement, parameters: ClaimParameters): Promise<Answer> {
    const row = await this.#claim(run, parameters);
    if (row && row.autocommit !== '1' && row.autocommit !== 'ON')
      throw new StoreError(
        'autocommit is off in this session of MySQL, so a claim would be lost. Turn it on.',
      );
    return answerOf(row);
  }

  async #claim(run: RunStatement, parameters: ClaimParameters, read = this.#sql.read) {
    const values = valuesOf(parameters);
    // A row that was there may have been pruned before it is read: then the event is new.
    for (const last of [false, true]) {
      await run(this.#sql.insert, values);
      const row = await this.#read(run, parameters, read);
      if (!row) continue;
      checkKey(row.stored, hex(parameters.key).toUpperCase(), this.#sql.exactKey);
      if (row.mine === 'yes' || row.free !== 'yes') return row;
      await run(this.#sql.takeOver, values);
      const taken = await this.#read(run, parameters, read);
      if (taken || last) return taken;
    }
    // MySQL reads by bytes, and finds duplicates by the collation of the column.
    const [compared] = await run(this.#sql.ping, []);
    if (compared?.ids === '1') throw inexactKey(this.#sql.exactKey);
    return undefined;
  }

  async renew(run: RunStatement, owner: Owner, leaseMs: number, keepMs: number): Promise<boolean> {
    const times = [microseconds(leaseMs), microseconds(keepMs)];
    await run(this.#sql.renew, [...idOf(owner), ...times]);
    const row = await this.#read(run, owner);
    return row?.mine === 'yes' && row.completed === 'no';
  }

  async complete(run: RunStatement, owner: Owner, keepMs: number): Promise<boolean> {
    return (await this.#complete(run, owner, keepMs)) !== undefined;
  }

  /** @returns the row, if it is the owner's and completed */
  async #complete(run: RunStatement, owner: Owner, keepMs: number, read = this.#sql.read) {
    await run(this.#sql.complete, [...idOf(owner), microseconds(keepMs)]);
    const row = await this.#read(run, owner, read);
    return row?.mine === 'yes' && row.completed === 'yes' ? row : undefined;
  }

  async release(run: RunStatement, owner: Owner, keepMs: number, finished: readonly string[]) {
    return (await this.#release(run, owner, { keepMs, finished })) !== undefined;
  }

  async forget(run: RunStatement, owner: Owner): Promise<boolean> {
    const released = await this.#release(run, owner, { keepMs: 0, finished: [] });
    if (released) await run(this.#sql.forget, idOf(released));
    return released !== undefined;
  }

  /** A token of its own tells this release from every other. @returns who has the row then, unless the claim was lost */
  async #release(
    run: RunStatement,
    owner: Owner,
    { keepMs, finished }: { readonly keepMs: number; readonly finished: readonly string[] },
  ): Promise<Owner | undefined> {
    const released = { key: owner.key, token: `-${newToken('hex')}` };
    const values = [microseconds(keepMs), hex(JSON.stringify(finished)), released.token];
    await run(this.#sql.release, [...idOf(owner), ...values]);
    return (await this.#read(run, released))?.mine === 'yes' ? released : undefined;
  }

  async claimInTransaction(run: RunStatement, parameters: ClaimParameters): Promise<Answer> {
    await run(this.#sql.waitASecond, []);
    let row: Row | undefined;
    try {
      row = await this.#claim(
        run,
        parameters,
        this.#sql.readWithLetter(parameters.letterTable, 'as they were'),
      );
    } finally {
      await run(this.#sql.waitAsBefore, []);
    }
    const answer = answerOf(row);
    if (answer.status === 'claimed') await this.#setSavepoint(run, parameters);
    return answer;
  }

  async #setSavepoint(run: RunStatement, owner: Owner): Promise<void> {
    try {
      await run(savepoint('SAVEPOINT', owner.token), []);
    } catch (error) {
      if (!hasCode(error, NOT_PREPARED)) throw error;
      this.#withoutSavepoint.add(run);
    }
  }

  async renewTransaction(run: RunStatement): Promise<void> {
    await run(this.#sql.alive, []);
  }

  async isExecuting(run: RunStatement, session: string | undefined): Promise<boolean> {
    return (await run(this.#sql.executing, [session])).length > 0;
  }

  async completeInTransaction(
    run: RunStatement,
    owner: Owner,
    keepMs: number,
    letterTable: string | undefined,
  ): Promise<Pick<Claim, 'kept'> | undefined> {
    try {
      if (!this.#withoutSavepoint.has(run)) await run(savepoint('RELEASE SAVEPOINT', owner.token), []);
    } catch (error) {
      if (hasCode(error, NO_SAVEPOINT)) return undefined;
      throw error;
    }
    const read = this.#sql.readWithLetter(letterTable, 'as they are');
    const row = await this.#complete(run, owner, keepMs, read);
    return row && readKept(row.kept);
  }

  async isCompleted(run: RunStatement, owner: Owner): Promise<boolean> {
    const row = await this.#read(run, owner);
    return row?.mine === 'yes' && row.completed === 'yes';
  }

  async #read(run: RunStatement, owner: Owner, read = this.#sql.read): Promise<Row | undefined> {
    return (await run(read, idOf(owner)))[0];
  }
}

function answerOf(row: Row | undefined): Answer {
  if (!row) return readAnswer(undefined);
  const status = row.mine === 'yes' ? 'claimed' : row.completed === 'yes' ? 'completed' : 'in_progress';
  const { attempt, finished, fingerprint, lease_left, kept, session } = row;
  return readAnswer({
    ...{ status, attempt, finished: unhex(finished), fingerprint: unhex(fingerprint) },
    lease_left: Number(lease_left) / 1_000,
    ...{ kept, session },
  });
}

function idOf({ key, token }: Owner): [string, string] {
  return [hex(key), token];
}

function valuesOf(parameters: ClaimParameters): unknown[] {
  const { key, fingerprint, leaseMs, keepMs } = parameters;
  refuseLong('The key of an event', key, MAX_KEY);
  refuseLong('A fingerprint', fingerprint, MAX_FINGERPRINT);
  return [...idOf(parameters), hex(fingerprint), microseconds(leaseMs), microseconds(keepMs)];
}

/** MySQL cuts what is too long where it is not strict, and two events would become one. */
function refuseLong(what: string, text: string, most: number): void {
  const bytes = Buffer.from(text);
  // Halves of surrogate pairs all become the same character.
  if (bytes.length > most || bytes.toString() !== text)
    throw new StoreError(`${what} has ${bytes.length} bytes; the table takes ${most}, of well-formed text.`);
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex');
}

function unhex(text: unknown): string {
  return Buffer.from(String(text), 'hex').toString();
}

function microseconds(ms: number): number {
  return Math.min(Math.max(Math.round(ms * 1_000), 0), MAX_MICROSECONDS);
}
