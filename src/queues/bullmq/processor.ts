// The function that a worker of BullMQ calls for each job.
import { DelayedError, UnrecoverableError } from 'bullmq';
import type { EventSchemas } from '../../events/event.js';
import type { Outcome } from '../../observer.js';
import type { HandlersByPattern } from '../../options/options.js';
import { processor as processorOf } from '../processor.js';
import type { ProcessorOptions } from '../processor-options.js';

/** The part of a `Job` of BullMQ that is used. */
export interface ProcessedJob {
  readonly data: unknown;
  readonly queueName: string;
  /** How often a worker has started it, including now. */
  readonly attemptsStarted: number;
  readonly token?: string | undefined;
  moveToDelayed(timestamp: number, token?: string): Promise<void>;
}

/** What a `Worker` of BullMQ calls. The outcome becomes the job's return value. */
export type EventProcessor = (job: ProcessedJob, token?: string, signal?: AbortSignal) => Promise<Outcome>;

/**
 * Creates the function that a worker calls for each job. It validates the event again, and runs its handlers as the
 * receiver does.
 *
 * @throws {ConfigurationError} for a wrong option, pattern or handler, before the first job
 * @example
 * new Worker('webhooks', processor({
 *   'transaction.paid': async (event) => orders.markPaid(event.payload.transaction.order_id),
 * }, { store }), { connection });
 */
export function processor<const Events extends EventSchemas = {}, Extra extends object = {}>(
  handlers: HandlersByPattern<NoInfer<Events>, NoInfer<Extra>>,
  options: ProcessorOptions<Events, Extra> = {},
): EventProcessor {
  const work = processorOf(handlers, options);
  // BullMQ counts the parameters, and creates a signal only for a function with three.
  return async function processEvent(job, token, signal) {
    const { data, queueName: queue, attemptsStarted: attempt } = job;
    const end = await work(data, { queue, attempt, signal });
    if (end.verdict === 'done') return end.outcome;
    if (end.verdict === 'later') {
      await job.moveToDelayed(Date.now() + end.delayMs, token ?? job.token);
      throw new DelayedError();
    }
    const { error } = end;
    if (end.verdict === 'failed') throw error;
    throw Object.assign(new UnrecoverableError(error.message), { cause: error, stack: error.stack });
  };
}
