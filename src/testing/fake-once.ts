// A memory store with `once`, for unit tests of handlers: no database, and no transaction either.
import type {
  ForgetResult,
  HandlerClaim,
  IdempotencyStore,
  WithOnce,
} from '../contracts/idempotency-store.js';
import { newToken } from '../contracts/token.js';
import { ConfigurationError } from '../errors.js';
import { memoryStore } from '../stores/memory.js';
import type { Connections } from '../stores/sql/connections.js';
import { type FoundRow, OnceCalls, type OnceDialect } from '../stores/sql/once.js';
import { Statement } from '../stores/sql/statement.js';

/**
 * A `memoryStore()` whose handlers get `once`, with the rules of the SQL stores: a name, one call for each run, awaited. It rolls
 * nothing back, so it proves nothing about a database.
 *
 * @param transaction what the work of `once` is given, such as a database of the test
 * @throws {ConfigurationError} with `NODE_ENV=production`
 * @example
 * const hooks = receiver({ privateKey, store: fakeOnce(db) });
 * hooks.on('transaction.paid', markPaid, { name: 'mark-paid' });
 * await deliver(hooks, fixtures.transactionPaid(), { privateKey });
 */
export function fakeOnce<Transaction = undefined>(
  transaction?: Transaction,
): IdempotencyStore<WithOnce<Transaction>> {
  if (process.env.NODE_ENV === 'production')
    throw new ConfigurationError('fakeOnce() is for tests. In production use postgresStore() or sqlStore().');
  const rows = new Map<string, FoundRow>();
  const store = memoryStore();
  return {
    ...{ scope: 'process', retentionMs: store.retentionMs },
    lock: (key, leaseMs) => store.lock?.(key, leaseMs),
    completedWith: (key) => store.completedWith?.(key),
    forget: (key) => {
      const forgotten = [...rows.keys()].filter((row) => row.startsWith(`${key} `));
      const result = store.forget?.(key) as ForgetResult;
      if (result.status !== 'forgotten') return result;
      for (const row of forgotten) rows.delete(row);
      return { status: 'forgotten', handlers: forgotten.map((row) => row.slice(key.length + 1)).sort() };
    },
    claim: async (key, request) => {
      const result = await store.claim(key, request);
      if (result.status !== 'claimed') return result;
      const { fingerprint } = request;
      const forHandler = (
        name: string,
        beforeCommit: (() => void) | undefined,
      ): HandlerClaim<WithOnce<Transaction>> => {
        const row = `${key} ${name}`;
        const newRow = () => ({ key: row, token: newToken(), fingerprint, keepMs: 0 });
        return new OnceCalls(
          name,
          { connections: inMemory(row, transaction, rows), dialect: inMap(rows) },
          newRow,
          beforeCommit,
        );
      };
      const { claim } = result;
      return {
        status: 'claimed',
        claim: {
          attempt: claim.attempt,
          finished: claim.finished,
          forHandler,
          renew: (leaseMs) => claim.renew(leaseMs),
          complete: () => claim.complete(),
          release: (finished) => claim.release(finished),
        },
      };
    },
  };
}

/** @param key of the row that is removed when the work of its handler fails */
function inMemory(
  key: string,
  transaction: unknown,
  rows: Map<string, FoundRow>,
): Pick<Connections, 'within' | 'transaction'> {
  return {
    within: () => async () => {
      rows.delete(key);
      return { rows: [], count: 0 };
    },
    transaction: (work) => work(transaction, undefined),
  };
}

function inMap(rows: Map<string, FoundRow>): OnceDialect {
  return {
    // biome-ignore lint/correctness/useYield: a map has no statement to send
    *writeRow({ key, token, fingerprint }) {
      const found = rows.get(key) ?? { token, fingerprint };
      rows.set(key, found);
      return found;
    },
    opening: () => '',
    readOpening: () => {
      throw new ConfigurationError('fakeOnce() sends no statement.');
    },
    forgetRow: () => [],
    undo: new Statement(''),
  };
}
