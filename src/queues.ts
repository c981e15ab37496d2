// The door to any queue: the receiver adds jobs through your broker's client, workers process them.
export type { Enqueue, Job, SendJob } from './queues/enqueue.js';
export { enqueue } from './queues/enqueue.js';
export type { JobVerdict } from './queues/job-verdict.js';
export type { JobDetails } from './queues/process-job.js';
export type { ProcessJob } from './queues/processor.js';
export { processor } from './queues/processor.js';
export type { ProcessorOptions } from './queues/processor-options.js';
export type { QueuedDelivery } from './queues/queued-delivery.js';
