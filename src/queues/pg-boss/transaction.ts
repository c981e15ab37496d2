// Lets pg-boss use the transaction of a delivery, so that claim and job are one commit.
import { ConfigurationError, show } from '../../errors.js';
import type { BossDatabase } from './boss.js';

/** Runs one statement of pg-boss in a transaction, and resolves with its rows or with `{ rows }`. */
export type ExecuteSql = (transaction: never, text: string, values: unknown[]) => PromiseLike<unknown>;

interface PgClient {
  query(query: { text: string; values: unknown[] }): PromiseLike<unknown>;
}

const onPg = ((client: PgClient | undefined, text: string, values: unknown[]) => {
  if (typeof client?.query !== 'function') {
    throw new ConfigurationError(
      `context.transaction is ${show(client)}, not a client of pg. Give enqueue() the option executeSql.`,
    );
  }
  return client.query({ text, values });
}) as ExecuteSql;

/** Undefined where the delivery has no transaction, or the job must not be part of it. */
export function databaseOf(context: object, executeSql: ExecuteSql | false = onPg): BossDatabase | undefined {
  const { transaction } = context as { readonly transaction?: unknown };
  if (executeSql === false || transaction === undefined) return undefined;
  return {
    async executeSql(text, values = []) {
      const reply = await executeSql(transaction as never, text, values);
      const rows = Array.isArray(reply) ? reply : (reply as { rows?: unknown } | undefined)?.rows;
      if (!Array.isArray(rows)) {
        throw new ConfigurationError(
          `executeSql resolved with ${show(reply)}. Resolve with the rows, or with { rows }.`,
        );
      }
      return { rows };
    },
  };
}
