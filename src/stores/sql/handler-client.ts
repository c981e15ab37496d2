// The client of a transaction as handlers may use it: until the claim ends, and without `release()`.
import { StoreError } from '../../errors.js';

/** The state of the client, as its claim knows it. */
interface ClientUse {
  hasEnded(): boolean;
  /** Whether another event may already use the client. */
  isReturned(): boolean;
  /** A query of the store itself that is in flight. Never rejects. */
  busyWith(): Promise<void> | undefined;
}

/** Methods whose callback gets a nested transaction. */
const NESTING: ReadonlySet<unknown> = new Set(['transaction', 'savepoint']);

const ENDED = 'The transaction has ended. Await each of its queries before the handler resolves.';

/** Checks every call: a handler may keep a method, and call it when another event uses the client. */
export function guardClient<Client extends object>(client: Client, use: ClientUse): Client {
  /** A nested transaction uses the same connection, so its callback gets it guarded too. */
  const guardNested = (work: unknown): unknown =>
    typeof work === 'function' ? (nested: object) => work(guardClient(nested, use)) : work;
  const guarded: Client = new Proxy(client, {
    // The transaction of Postgres.js is a function.
    apply(target, self, args) {
      if (use.hasEnded()) throw new StoreError(ENDED);
      return Reflect.apply(target as () => unknown, self, args);
    },
    get(target, property) {
      if (property === 'release') return refuseRelease;
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const guardedCall = (_: unknown, __: unknown, args: unknown[]) => {
        if (use.hasEnded()) throw new StoreError(ENDED);
        const given = NESTING.has(property) ? args.map(guardNested) : args;
        const call = () => Reflect.apply(value, target, given);
        const busy = property === 'query' && returnsPromise(args) ? use.busyWith() : undefined;
        if (busy) return callAfter(busy, call, use);
        const result: unknown = call();
        // on() and similar methods return the client itself, and withSchema() of Kysely another one of the same connection.
        if (result === target) return guarded;
        return isSameKind(result, target) ? guardClient(result, use) : result;
      };
      // A proxy keeps the properties of the method, such as `sql.types.point`.
      return new Proxy(value, { apply: guardedCall });
    },
  });
  return guarded;
}

function isSameKind(result: unknown, client: object): result is object {
  const kind: unknown = client.constructor;
  return typeof kind === 'function' && kind !== Object && kind !== Function && result instanceof kind;
}

/** `pg` queues a query while another one runs, and warns that its next version will not. */
async function callAfter(busy: Promise<void>, call: () => unknown, use: ClientUse): Promise<unknown> {
  await busy;
  // A query made before the end is still sent: the commit follows it.
  if (use.isReturned()) throw new StoreError(ENDED);
  return call();
}

/** Neither a query with a callback nor an object that submits itself, such as a cursor. */
function returnsPromise(args: readonly unknown[]): boolean {
  const [query] = args as readonly [{ readonly submit?: unknown } | undefined];
  return typeof args.at(-1) !== 'function' && typeof query?.submit !== 'function';
}

function refuseRelease(): never {
  throw new StoreError('Do not call release(): the store returns its client to the pool.');
}
