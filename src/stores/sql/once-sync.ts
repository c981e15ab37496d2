// `once` with a synchronous driver: begin, row, work and commit are one call, between which nothing else runs.

import type { OnceSync, WithOnceSync } from '../../contracts/idempotency-store.js';
import { isThenable, isUnawaited } from '../../misuse.js';
import type { Reply, SyncConnections } from './connections.js';
import { CallsOfHandler, type NewOnceRow, type OnceDialect, OUTSIDE, type Steps } from './once.js';

const PROMISE =
  'The work of once() returned a promise, but this driver is synchronous: what comes after the first await would not be in the ' +
  'transaction. Pass a function that is not async and returns no promise.';
const NESTED =
  'once(work) was called while a transaction is open on its connection. Inside your own transaction pass the database: ' +
  'once(db, work). Do not await between BEGIN and COMMIT.';
const ENDED_EARLY =
  'The transaction of once() ended before its work did, so what was written after it is not undone. SQLite rolls back by itself when ' +
  'the disk is full, for example. Let the errors of statements reach once(), and do not end its transaction.';

export class OnceSyncCalls<Db> extends CallsOfHandler<WithOnceSync<Db>> {
  readonly context: WithOnceSync<Db>;
  readonly #connections: SyncConnections;

  constructor(
    name: string,
    { connections, dialect }: { readonly connections: SyncConnections; readonly dialect: OnceDialect },
    newRow: NewOnceRow,
    beforeCommit: (() => void) | undefined,
  ) {
    super(name, dialect, newRow, beforeCommit);
    this.#connections = connections;
    const once = (...given: readonly unknown[]) =>
      given.length > 1 ? this.#call(given[1], given) : this.#call(given[0]);
    this.context = { once: once as OnceSync<Db> };
  }

  #call(work: unknown, inside?: readonly unknown[]): unknown {
    this.begin(work);
    const checked = (...given: readonly unknown[]) => {
      // Before it has written anything, where that can be seen.
      if (Object.prototype.toString.call(work) === '[object AsyncFunction]') throw this.refuse(PROMISE);
      const value = work(...given);
      if (isThenable(value)) {
        // What rejects later must not end the process.
        Promise.resolve(value).catch(() => {});
        throw this.refuse(PROMISE);
      }
      if (isUnawaited(value)) throw this.refuse(PROMISE);
      this.beforeCommit?.();
      return value;
    };
    try {
      const value = inside ? this.#within(inside[0], () => checked()) : this.#inTransaction(checked);
      this.succeed();
      return value;
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  #inTransaction(work: (db: unknown) => unknown): unknown {
    const { client, inTransaction, transaction } = this.#connections;
    if (inTransaction(client)) throw this.refuse(NESTED);
    return transaction((db) => this.#within(db, () => work(db)));
  }

  #within(db: unknown, work: () => unknown): unknown {
    const row = this.newRow();
    const take = <Result>(steps: Steps<Result>) => takeAtOnce(steps, this.#connections, db);
    const found = take(this.dialect.writeRow(row));
    if (!found) throw this.refuse(OUTSIDE);
    const isNew = this.isNew(row, found);
    let value: unknown;
    try {
      if (isNew) value = work();
    } catch (error) {
      // A handler that catches the error could commit the row and half of the writes. Work that has ended the transaction may
      // have committed the row alone.
      for (const step of [[this.dialect.undo, []] as const, ...this.dialect.forgetRow(row)]) {
        try {
          this.#connections.run(db, ...step);
        } catch {}
      }
      throw error;
    }
    // Not undone: if the work has committed, its row must stay, or a retry would write again.
    if (isNew && !this.#connections.inTransaction(db)) throw this.refuse(ENDED_EARLY);
    this.recordRow(row, found, isNew);
    return value;
  }
}

function takeAtOnce<Result>(steps: Steps<Result>, { run }: SyncConnections, db: unknown): Result {
  let step = steps.next();
  while (!step.done) {
    const [statement, parameters] = step.value;
    let reply: Reply;
    try {
      reply = run(db, statement, parameters);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(reply);
  }
  return step.value;
}
