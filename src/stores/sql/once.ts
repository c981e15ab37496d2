// `once`: the writes of a handler and a row that says so are in one commit, so that no other attempt writes them again.

import type { HandlerClaim, HandlerEnd, Once, WithOnce } from '../../contracts/idempotency-store.js';
import { ConfigurationError, StoreError } from '../../errors.js';
import { isUnawaited, show } from '../../misuse.js';
import type { Connections, Reply, RunSql } from './connections.js';
import type { Statement } from './statement.js';

/** The row of one call: each call has its own token, or a call after an unknown commit would take the row for its own. */
export interface OnceRow {
  /** The key of the event, a space, and the name of the handler. No key of an event has a space. */
  readonly key: string;
  readonly token: string;
  readonly fingerprint: string;
  readonly keepMs: number;
}

/** The row that the table has now: that of the call, or an earlier one. */
export type FoundRow = Pick<OnceRow, 'token' | 'fingerprint'>;

type Step = readonly [Statement, readonly unknown[]];

/** Statements one after the other, for clients that answer by a promise and for those that answer at once. */
export type Steps<Result> = Generator<Step, Result, Reply>;

type OnceConnections = Pick<Connections, 'within' | 'transaction' | 'confirmSeparate'>;

export interface OnceDialect {
  /**
   * Asks whether there is a transaction before it writes, and waits for another transaction that has written the row.
   * @returns undefined, and nothing is written, outside of a transaction
   */
  writeRow(row: OnceRow): Steps<FoundRow | undefined>;
  /** The same as the first statement of a transaction, in SQL without parameters. */
  opening(row: OnceRow): string;
  readOpening(row: OnceRow, reply: Reply): FoundRow;
  /** Makes sure that neither the row nor the writes so far can be committed. */
  readonly undo: Statement;
  /** Where the database may end a transaction by itself and go on without one: whether the row is there after the work. */
  hasRow?(row: OnceRow): Steps<boolean>;
  /**
   * Deletes the row of a call, on the connection of its transaction: for work that has ended the transaction itself. Sent at once,
   * so that no statement of the work comes in between.
   */
  forgetRow(row: OnceRow): readonly Step[];
}

export const OUTSIDE =
  'once() was given no open transaction, so a crash could have left its row without the writes. Pass the transaction itself, ' +
  'not a pool or an ORM: once(tx, work), or let once(work) begin one.';
const TWICE =
  'once() was called again in one run of a handler, and would skip these writes. Put all writes of the handler into one ' +
  'call, or give each its own named handler.';
const LATE = 'once() was called after its handler had ended. Await every transaction in the handler.';
const LAZY =
  'The work of once() returned an array of promises, which nobody awaits, so its queries may never run. Await one after the other.';
const ENDED =
  'The transaction of once() ended before its work did. MySQL rolls back by itself after a deadlock, for example. Await one ' +
  'statement after the other, let their errors reach once(), and do not end its transaction.';
const NOT_AWAITED = 'The handler ended before once() did. Await once().';
const NO_TRANSACTION =
  'once(work) needs the option transaction of sqlStore(). Add it, or begin a transaction: once(tx, work).';

export type NewOnceRow = () => OnceRow;

/** The calls of one handler in one attempt, whether its client answers by a promise or at once. */
export abstract class CallsOfHandler<Extra extends object> implements HandlerClaim<Extra> {
  abstract readonly context: Extra;
  /** The row that the latest successful call has written or found. */
  row: Pick<OnceRow, 'key' | 'token'> | undefined;
  /** The fingerprint of the bytes whose writes an earlier attempt has committed. */
  skipped: string | undefined;
  /**
   * `row` when the running call began: restored if it fails. A client may run its work again after a commit that it took for
   * failed, and then finds the row of this very call.
   */
  #rowBefore: CallsOfHandler<Extra>['row'];
  readonly name: string;
  protected readonly dialect: OnceDialect;
  protected readonly newRow: NewOnceRow;
  protected readonly beforeCommit: (() => void) | undefined;
  #running = false;
  #skippedBefore: string | undefined;
  /** Why the latest call failed. A later one that succeeds makes up for it. */
  #failure: unknown;
  /** The call was wrong, whatever follows. */
  #misuse: Error | undefined;
  #onLateCall: (() => void) | undefined;

  constructor(
    name: string,
    dialect: OnceDialect,
    newRow: NewOnceRow,
    beforeCommit: (() => void) | undefined,
  ) {
    this.name = name;
    this.dialect = dialect;
    this.newRow = newRow;
    this.beforeCommit = beforeCommit;
  }

  end(onLateCall: () => void, threw = false): HandlerEnd {
    this.#onLateCall = onLateCall;
    // A handler that refuses an event for good still completes it, so its writes are not looked for.
    if (threw) this.row = undefined;
    const failure = this.#misuse ?? (this.#running ? new ConfigurationError(NOT_AWAITED) : this.#failure);
    return { failure, wrote: this.row !== undefined, skipped: this.skipped };
  }

  /** @throws unless a call may begin now */
  protected begin(work: unknown): asserts work is (...given: readonly unknown[]) => unknown {
    if (this.#onLateCall) {
      this.#onLateCall();
      throw new ConfigurationError(LATE);
    }
    if (typeof work !== 'function')
      throw this.refuse(
        `once() was given ${show(work)}. Pass a function: once((tx) => …) or once(tx, () => …).`,
      );
    if (this.#running) throw this.refuse(TWICE);
    this.#running = true;
    this.#rowBefore = this.row;
    this.#skippedBefore = this.skipped;
  }

  protected succeed(): void {
    this.#failure = undefined;
    this.#running = false;
  }

  protected fail(error: unknown): void {
    // Never undefined, which means that nothing failed.
    this.#failure = error ?? new StoreError('The work of once() threw nothing.');
    // If it was committed all the same, the next call finds its row.
    this.row = this.#rowBefore;
    this.skipped = this.#skippedBefore;
    this.#running = false;
  }

  /** @returns whether the work is to run: the row is that of this call */
  protected isNew(row: OnceRow, found: FoundRow): boolean {
    if (found.token === row.token) return true;
    // Without a rollback in between, the row is that of an earlier call: the writes of this call would be missing.
    if (this.#rowBefore) throw this.refuse(TWICE);
    return false;
  }

  /** The row is there, and the work has run unless an earlier attempt has committed it. */
  protected recordRow(row: OnceRow, found: FoundRow, isNew: boolean): void {
    // A client may run a transaction again, and the row that it found the first time may be forgotten in between.
    this.skipped = isNew ? this.#skippedBefore : found.fingerprint;
    this.row = { key: row.key, token: found.token };
  }

  protected refuse(message: string): ConfigurationError {
    const error = new ConfigurationError(message);
    this.#misuse ??= error;
    return error;
  }
}

/** For asynchronous clients. */
export class OnceCalls<Transaction> extends CallsOfHandler<WithOnce<Transaction>> {
  readonly context: WithOnce<Transaction>;
  readonly #connections: OnceConnections;

  constructor(
    name: string,
    { connections, dialect }: { readonly connections: OnceConnections; readonly dialect: OnceDialect },
    newRow: NewOnceRow,
    beforeCommit: (() => void) | undefined,
  ) {
    super(name, dialect, newRow, beforeCommit);
    this.#connections = connections;
    // By the number of arguments: the transactions of some clients are functions.
    const once = (...given: readonly unknown[]) =>
      given.length > 1 ? this.#call(given[1], given) : this.#call(given[0]);
    this.context = { once: once as Once<Transaction> };
  }

  /** @param inside its first element is the transaction that the handler has begun, which may be undefined by mistake */
  #call(work: unknown, inside?: readonly unknown[]): Promise<unknown> {
    const called = this.#run(work, inside);
    // A call that nobody awaits must not end the process. The receiver asks for its failure.
    called.catch(() => {});
    return called;
  }

  async #run(work: unknown, inside?: readonly unknown[]): Promise<unknown> {
    this.begin(work);
    const checked = async (...given: readonly unknown[]) => {
      const value = await work(...given);
      if (isUnawaited(value)) throw this.refuse(LAZY);
      this.beforeCommit?.();
      return value;
    };
    try {
      const value = inside
        ? await this.#within(inside[0], () => checked())
        : await this.#inTransaction(checked);
      this.succeed();
      return value;
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  async #inTransaction(work: (transaction: unknown) => unknown): Promise<unknown> {
    const { transaction } = this.#connections;
    if (!transaction) throw this.refuse(NO_TRANSACTION);
    const row = this.newRow();
    let value: unknown;
    await transaction.call(
      this.#connections,
      async (tx, begun) => {
        value = begun
          ? await this.#unlessFound(row, this.dialect.readOpening(row, begun), {
              work: () => work(tx),
              onFailure: () => this.#forget(row, this.#connections.within(tx)),
            })
          : await this.#within(tx, () => work(tx));
      },
      this.dialect.opening(row),
    );
    return value;
  }

  async #within(transaction: unknown, work: () => unknown): Promise<unknown> {
    const run = this.#connections.within(transaction);
    const row = this.newRow();
    const found = await runSteps(this.dialect.writeRow(row), run);
    if (!found) throw this.refuse(OUTSIDE);
    const onFailure = async () => {
      // A handler that catches the error could commit the row and half of the writes. If the connection is lost, it cannot.
      const isUndone = await run(this.dialect.undo, []).then(
        () => true,
        () => false,
      );
      if (!isUndone) await this.#forget(row, run);
    };
    const checked = async () => {
      this.#connections.confirmSeparate?.(transaction);
      const value = await work();
      if (this.dialect.hasRow && !(await runSteps(this.dialect.hasRow(row), run)))
        throw new StoreError(ENDED);
      return value;
    };
    return this.#unlessFound(row, found, { work: checked, onFailure });
  }

  #forget(row: OnceRow, run: RunSql): Promise<unknown> {
    return Promise.all(this.dialect.forgetRow(row).map((step) => run(...step)));
  }

  async #unlessFound(row: OnceRow, found: FoundRow, { work, onFailure }: Work): Promise<unknown> {
    const isNew = this.isNew(row, found);
    let value: unknown;
    try {
      if (isNew) value = await work();
    } catch (error) {
      // Work that begins, commits or rolls back by itself has ended the transaction, and its row may be committed alone: a retry
      // would skip what is missing. Inside a transaction this changes nothing that is kept.
      await onFailure().catch(() => {});
      throw error;
    }
    this.recordRow(row, found, isNew);
    return value;
  }
}

/** What to run in a transaction, and on its connection if that fails. */
interface Work {
  work(): unknown;
  onFailure(): Promise<unknown>;
}

/** For asynchronous clients. */
async function runSteps<Result>(steps: Steps<Result>, run: RunSql): Promise<Result> {
  let step = steps.next();
  while (!step.done) {
    const [statement, parameters] = step.value;
    let reply: Reply;
    try {
      reply = await run(statement, parameters);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(reply);
  }
  return step.value;
}
