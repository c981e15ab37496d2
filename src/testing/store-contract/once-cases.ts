// The store contract, part four: `once` of handlers, for stores that give it and are told how to write.
import type { HandlerClaim, Once, WithOnce } from '../../contracts/idempotency-store.js';
import { isThenable } from '../../misuse.js';
import { assert, assertSame, BRIEF_MS, type ContractContext, fingerprint } from './context.js';

/** How a handler writes to the database of the store. */
export interface OnceContract<Transaction> {
  /**
   * A transaction as a handler begins it: committed when `work` resolves, rolled back when it rejects. With a synchronous driver
   * too, where `once` itself awaits nothing.
   */
  transaction(work: (transaction: Transaction) => Promise<void>): PromiseLike<unknown>;
  /** Writes a line with this text. With a synchronous driver it returns no promise. */
  write(transaction: Transaction, text: string): unknown;
  /** How many committed lines have this text. */
  count(text: string): number | Promise<number>;
}

type OnceCases = Readonly<
  Record<string, (context: ContractContext, database: OnceContract<unknown>) => Promise<void>>
>;

const UNDONE = new Error('The work failed.');

export const ONCE_CASES: OnceCases = {
  'writes inside once are committed once, whatever happens to the attempt': async (context, database) => {
    const key = context.key();
    const write = (tx: unknown) => database.write(tx, key);
    const first = await attempt(context, key, BRIEF_MS, 'first bytes');
    await first.once(write);
    assertSame(first.end().failure, undefined, 'once() that has resolved is no failure');
    await context.lapse();
    const second = await attempt(context, key);
    await second.once(write);
    assertSame(await database.count(key), 1, 'the next attempt does not run the work again');
    const promise = 'the next attempt is told with which bytes the writes were made';
    assertSame(second.end().skipped, fingerprint('first bytes'), promise);
    assertSame(await second.claim.complete(), true, 'writes that an earlier attempt committed are enough');
  },

  'work that throws writes nothing, and the next attempt runs it': async (context, database) => {
    const key = context.key();
    const first = await attempt(context, key, BRIEF_MS);
    const failing = (tx: unknown) => thenThrow(database.write(tx, key));
    await settled(() => first.once(failing));
    assertSame(await database.count(key), 0, 'the writes of work that throws are rolled back');
    assertSame(first.end().failure, UNDONE, 'a failure is reported also if the handler caught it');
    await context.lapse();
    const second = await attempt(context, key);
    await second.once((tx) => database.write(tx, key));
    assertSame(await database.count(key), 1, 'the next attempt runs the work');
  },

  'an attempt waits for the transaction of another one, and writes if that is rolled back': async (
    context,
    database,
  ) => {
    const key = context.key();
    const first = await attempt(context, key, BRIEF_MS);
    await context.lapse();
    const second = await attempt(context, key);
    const write = () => settled(() => second.once((other) => database.write(other, key)));
    let writing = Promise.resolve(false);
    const held = database.transaction(async (tx) => {
      await first.once(tx, () => database.write(tx, key));
      writing = write();
      // Long enough to skip the work, if it did not wait.
      await context.lapse();
      throw UNDONE;
    });
    await settled(() => held);
    // A synchronous driver cannot wait for its own process: it fails, and is called again.
    if (!(await writing)) await write();
    assertSame(await database.count(key), 1, 'the writes of an attempt that was rolled back are made again');
  },

  'a second call in one run writes nothing, as after a commit that nobody heard of': async (
    context,
    database,
  ) => {
    const key = context.key();
    const { once } = await attempt(context, key);
    for (let call = 1; call <= 2; call += 1)
      await settled(() =>
        database.transaction(async (tx) => void (await once(tx, () => database.write(tx, key)))),
      );
    assertSame(await database.count(key), 1, 'a call does not take the row of an earlier call for its own');
  },

  'an event is not completed while writes of its handlers are missing': async (context, database) => {
    const key = context.key();
    const { claim, once } = await attempt(context, key);
    const undone = database.transaction(async (tx) => {
      await once(tx, () => database.write(tx, key));
      throw UNDONE;
    });
    await settled(() => undone);
    const promise = 'complete() names the handlers whose writes are not committed';
    assertSame(await claim.complete(), { uncommitted: ['pay'] }, promise);
    await context.inProgress(key);
  },

  'forget() also forgets what handlers wrote inside once, and names them': async (context, database) => {
    const key = context.key();
    const first = await attempt(context, key);
    await first.once((tx) => database.write(tx, key));
    await first.claim.complete();
    const forgotten = await context.store.forget?.(key);
    assertSame(
      forgotten,
      { status: 'forgotten', handlers: ['pay'] },
      'forget() names the handlers that wrote',
    );
    const again = await attempt(context, key);
    await again.once((tx) => database.write(tx, key));
    assertSame(await database.count(key), 2, 'the handlers of an event that was forgotten write again');
  },

  'once() refuses anything but an open transaction': async (context, database) => {
    const key = context.key();
    const { once, end } = await attempt(context, key);
    let closed: unknown;
    await database.transaction(async (tx) => {
      closed = tx;
    });
    await settled(() => once(closed, () => database.write(closed, key)));
    assertSame(await database.count(key), 0, 'no work runs outside of a transaction');
    assert(end().failure !== undefined, 'a refused call is a failure', undefined);
  },
};

async function attempt(context: ContractContext, key: string, leaseMs?: number, bytes?: string) {
  const claim = await context.granted(key, { leaseMs, ...(bytes !== undefined && { bytes }) });
  const handler = claim.forHandler?.('pay') as HandlerClaim<WithOnce<unknown>> | undefined;
  assert(
    typeof handler?.context.once === 'function',
    'forHandler() gives the context of a handler once()',
    handler,
  );
  const { context: given, end } = handler as HandlerClaim<WithOnce<unknown>>;
  const once: Once<unknown> = given.once;
  return { claim, once, end: () => end.call(handler, () => {}) };
}

/** Fails at once after a write that has returned, and otherwise with its promise. */
function thenThrow(written: unknown): PromiseLike<never> {
  const fail = (): never => {
    throw UNDONE;
  };
  return isThenable(written) ? written.then(fail) : fail();
}

/** The contract says what is written, not whether a call throws. @returns whether it resolved */
async function settled(call: () => unknown): Promise<boolean> {
  try {
    await call();
    return true;
  } catch {
    return false;
  }
}
