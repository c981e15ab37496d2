// The door to BullMQ: the receiver queues deliveries, and other processes run their handlers.
export type { AddedJob, EnqueueOptions, JobQueue } from './bullmq/enqueue.js';
export { enqueue } from './bullmq/enqueue.js';
export type { EventProcessor, ProcessedJob } from './bullmq/processor.js';
export { processor } from './bullmq/processor.js';
export type { Enqueue } from './enqueue.js';
export type { ProcessorOptions } from './processor-options.js';
export type { QueuedDelivery } from './queued-delivery.js';
