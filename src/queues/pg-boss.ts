// The door to pg-boss: the receiver queues deliveries in Postgres, workers run the handlers.
export type { Enqueue } from './enqueue.js';
export type { Boss, BossJobState } from './pg-boss/boss.js';
export type { EnqueueOptions, JobOptionsOf } from './pg-boss/enqueue.js';
export { enqueue } from './pg-boss/enqueue.js';
export { jobIdOf } from './pg-boss/job-id.js';
export type { CancellingBoss, EventProcessor, ProcessedJob, ProcessorOptions } from './pg-boss/processor.js';
export { processor } from './pg-boss/processor.js';
export type { QueuedDelivery } from './queued-delivery.js';
