// What the applications, the workers and the campaign of pg-boss share.

/** `one commit`: store and workers are transactional. `queue alone`: no store at all. */
export type BossMode = 'one commit' | 'queue alone';

export const QUEUE = 'webhooks';
/** Its jobs are added in transactions that are rolled back: there must never be one. */
export const NEVER = 'never-committed';
/** A killed worker's job is given to another after that; a handler takes a fraction of it. */
export const EXPIRE_S = 5;
/** A job may be in the hands of many workers that are killed. */
export const JOB_OPTIONS = { retryLimit: 100, retryDelay: 0, retryBackoff: false, expireInSeconds: EXPIRE_S };
/** The two sides remember events apart, as two services with their own tables would. */
export const TABLES = { application: 'received_event', worker: 'processed_event' } as const;
