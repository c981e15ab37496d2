// The part of pg-boss that is used, in all versions from 10 on, and its use of a transaction.
import { ConfigurationError, show } from '../../errors.js';
import type { QueuedDelivery } from '../queued-delivery.js';

/** A `PgBoss`, or an object with its methods. */
export interface Boss {
  send(queue: string, data: QueuedDelivery, options: object): Promise<string | null>;
  retry(queue: string, id: string, options?: object): Promise<unknown>;
  deleteJob(queue: string, id: string, options?: object): Promise<unknown>;
  getQueue(queue: string): Promise<object | null>;
  /** Version 12 has it. */
  findJobs?(queue: string, options: object): Promise<readonly BossJobState[]>;
  /** Deprecated in version 12. */
  getJobById?(queue: string, id: string, options: never): Promise<BossJobState | null>;
}

export interface BossJobState {
  readonly state: string;
  readonly data?: unknown;
}

/** Where pg-boss runs its statements instead of on its own connection. */
export interface BossDatabase {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

interface JobPlace {
  readonly queue: string;
  readonly id: string;
  readonly db: BossDatabase | undefined;
}

/** Runs a job again that has finally failed. It may be gone after that: then it must be added. */
export async function revive(boss: Boss, { queue, id, db }: JobPlace): Promise<void> {
  const options = db && { db };
  // In version 10 retry() keeps the time of the failure in the row, so maintenance could archive the job before a worker
  // runs it.
  if (boss.findJobs) await boss.retry(queue, id, options);
  else await boss.deleteJob(queue, id, options);
}

/** Undefined when pg-boss does not have the job. */
export async function jobAt(boss: Boss, job: JobPlace): Promise<BossJobState | undefined> {
  const { queue, id, db } = job;
  const found = boss.findJobs
    ? (await boss.findJobs(queue, { id, ...(db && { db }) }))[0]
    : await boss.getJobById?.(queue, id, (db ? { db } : {}) as never);
  return found ?? undefined;
}

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

/** Undefined if the delivery has no transaction, or if the job must not be part of it. */
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
