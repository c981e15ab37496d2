// The part of pg-boss that is used, in all versions from 10 on.
import type { QueuedDelivery } from '../queued-delivery.js';

/** A `PgBoss`, or an object with its methods. */
export interface Boss {
  send(queue: string, data: QueuedDelivery, options: object): Promise<string | null>;
  /** Version 10.3 has it. */
  retry?(queue: string, id: string): Promise<unknown>;
  deleteJob(queue: string, id: string): Promise<unknown>;
  getQueue(queue: string): Promise<object | null>;
  /** Version 12 has it. */
  findJobs?(queue: string, options: object): Promise<readonly BossJobState[]>;
  /** Deprecated in version 12. */
  getJobById?(queue: string, id: string): Promise<BossJobState | null>;
}

export interface BossJobState {
  readonly state: string;
  readonly data?: unknown;
}

interface JobPlace {
  readonly queue: string;
  readonly id: string;
}

/** Runs a job again that has finally failed. It may be gone after that: then it must be added. */
export async function revive(boss: Boss, { queue, id }: JobPlace): Promise<void> {
  // In version 10 retry() keeps the time of the failure in the row, so maintenance could archive the job before a worker
  // runs it.
  if (boss.findJobs && boss.retry) await boss.retry(queue, id);
  else await boss.deleteJob(queue, id);
}

/** Undefined when pg-boss does not have the job. */
export async function jobAt(boss: Boss, { queue, id }: JobPlace): Promise<BossJobState | undefined> {
  const found = boss.findJobs ? (await boss.findJobs(queue, { id }))[0] : await boss.getJobById?.(queue, id);
  return found ?? undefined;
}
