// The part of pg-boss that is used, in all versions from 10 on.
import type { QueuedDelivery } from '../queued-delivery.js';

/** A `PgBoss`, or what behaves like it. */
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

/** Lets a job that has failed for good run again. It may be gone after that: then it has to be added. */
export async function revive(boss: Boss, { queue, id, db }: JobPlace): Promise<void> {
  const options = db && { db };
  // In version 10 retry() leaves the time of the failure in the row, and maintenance archives the job by it,
  // although no worker has run it.
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
