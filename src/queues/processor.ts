// Processes jobs of any queue: runs the handlers, and returns a verdict.

import { userOfInbox } from '../claims/pruner.js';
import { DeliveryLog } from '../deliveries/delivery-log.js';
import { ConfigurationError } from '../errors.js';
import type { EventSchemas } from '../events/event.js';
import { show } from '../misuse.js';
import type { HandlersByPattern } from '../options/options.js';
import type { JobVerdict } from './job-verdict.js';
import { type JobDetails, processJob } from './process-job.js';
import { configureJobs, type ProcessorOptions } from './processor-options.js';

/**
 * Processes one job. Never rejects because of an event: every result is a verdict.
 *
 * @param data the data of the job, or the JSON of the whole job as text or bytes
 */
export type ProcessJob = (data: unknown, job: JobDetails) => Promise<JobVerdict>;

/**
 * Creates the function that a worker calls for each job. It validates the event again, and runs its handlers as the
 * receiver does.
 *
 * @throws {ConfigurationError} for a wrong option, pattern or handler, before the first job
 * @example
 * const work = processor({ 'transaction.paid': markPaid }, { store });
 * const verdict = await work(message.content, { queue: 'webhooks' });
 */
export function processor<const Events extends EventSchemas = {}, Extra extends object = {}>(
  handlers: HandlersByPattern<NoInfer<Events>, NoInfer<Extra>>,
  options: ProcessorOptions<Events, Extra> = {},
): ProcessJob {
  const config = configureJobs(handlers, options);
  const log = new DeliveryLog();
  // A worker never says that it has ended.
  const inbox = userOfInbox(config);
  return async (data, job) => {
    const { queue, attempt = 1, signal } = job ?? {};
    if (typeof queue !== 'string' || queue === '')
      throw new ConfigurationError(
        `queue is ${show(queue)}. Pass the name of the queue: work(data, { queue }).`,
      );
    if (!Number.isSafeInteger(attempt) || attempt < 1)
      throw new ConfigurationError(`attempt is ${show(attempt)}. Pass an integer from 1.`);
    inbox?.start();
    return processJob(config, log, data, { queue, attempt, signal });
  };
}
