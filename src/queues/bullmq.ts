// The door to BullMQ: the receiver queues deliveries, and other processes run their handlers.

export type { Enqueue, EnqueueOptions, JobQueue } from './enqueue.js';
export { enqueue } from './enqueue.js';
export type { EventProcessor, ProcessedJob, ProcessorOptions } from './processor.js';
export { processor } from './processor.js';
export type { QueuedDelivery } from './queued-delivery.js';
