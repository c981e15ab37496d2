// The id of a job in pg-boss: a UUID that is always the same for one event.
import { createHash } from 'node:crypto';
import { jobKeyOf } from '../enqueue.js';

/**
 * The id of the job of an event: a UUID of version 8, made of the SHA-256 of the event's mode and id.
 *
 * Ids in pg-boss are unique, and the row of a completed job is kept, so a second delivery adds no job. A `singletonKey`
 * would work only until the job is completed, and only in queues with certain policies.
 *
 * @example
 * const [job] = await boss.findJobs('webhooks', { id: jobIdOf({ id: 'evt-1', sandbox: false }) });
 */
export function jobIdOf(event: { readonly id: string; readonly sandbox: boolean }): string {
  return uuidOf(jobKeyOf(event));
}

/** @param key the id of a job, as `enqueue()` makes it */
export function uuidOf(key: string): string {
  const hash = createHash('sha256').update(key).digest('hex');
  const variant = ((Number.parseInt(hash.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `${variant}${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
}
