// The door to queues of BullMQ: other processes work on the events that the receiver takes.

export type { Enqueue, EnqueueOptions, JobQueue } from './enqueue.js';
export { enqueue } from './enqueue.js';
export type { EventProcessor, ProcessedJob, ProcessorOptions } from './processor.js';
export { processor } from './processor.js';
export type { QueuedDelivery } from './queued-delivery.js';
