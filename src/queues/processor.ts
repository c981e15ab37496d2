// Works on the jobs of a queue of BullMQ: what a worker calls for each of them.
import { DelayedError, UnrecoverableError } from 'bullmq';
import { ConfigurationError, type ErrorCode, Fault } from '../errors.js';
import { declareEvents, type EventSchemas } from '../events/event.js';
import { Handlers } from '../handlers.js';
import type { Logger } from '../logger.js';
import type { Outcome } from '../observer.js';
import * as check from '../option-checks.js';
import { DEFAULTS, deadlinesOf, type HandlersByPattern, warnInProduction } from '../options.js';
import type { IdempotencyStore } from '../stores/store.js';
import { refuseUnknownOptions } from '../unknown-option.js';
import { type Conducted, JobConductor, type JobConfiguration, type QueuedJob } from './conduct-job.js';
import { errorOf } from './failed-job.js';

export interface ProcessorOptions<Events extends EventSchemas = {}, Extra extends object = {}> {
  /** Schemas of further events, as in `receiver()`. */
  readonly events?: Events | undefined;
  /** Where the worker remembers event ids. Without one only the queue keeps an event from running twice. @default none */
  readonly store?: IdempotencyStore<Extra> | false | undefined;
  /** Separates workers of one queue that share a store: 1 to 64 of `A-Z a-z 0-9 . _ -`. @default 'default' */
  readonly namespace?: string | undefined;
  /** Milliseconds that a claim outlives a crashed worker. @default 30_000 */
  readonly lease?: number | undefined;
  /** Milliseconds before a job whose handlers go on is failed, to be tried again; 0: none. @default 300_000 */
  readonly timeout?: number | undefined;
  /** Any pino-compatible logger; `false` for silence. @default a pino logger */
  readonly logger?: Logger | false | undefined;
}

/** The part of a `Job` of BullMQ that is used. */
export interface ProcessedJob extends QueuedJob {
  readonly token?: string | undefined;
  moveToDelayed(timestamp: number, token?: string): Promise<void>;
}

/** What a `Worker` of BullMQ calls. The outcome becomes the job's return value. */
export type EventProcessor = (job: ProcessedJob, token?: string, signal?: AbortSignal) => Promise<Outcome>;

const TIMEOUT_MS = 300_000;
/** Sending these to a handler again cannot end otherwise. */
const HOPELESS: ReadonlySet<ErrorCode> = new Set(['EVENT_INVALID', 'BODY_MALFORMED']);

/**
 * Makes what a worker calls for each job: the event is validated again, and given to handlers as in the receiver.
 *
 * @throws {ConfigurationError} for anything that can be known to be wrong before the first job
 * @example
 * new Worker('webhooks', processor({
 *   'transaction.paid': async (event) => orders.markPaid(event.payload.transaction.order_id),
 * }, { store }), { connection });
 */
export function processor<const Events extends EventSchemas = {}, Extra extends object = {}>(
  handlers: HandlersByPattern<NoInfer<Events>, NoInfer<Extra>>,
  options: ProcessorOptions<Events, Extra> = {},
): EventProcessor {
  const conductor = new JobConductor(resolve(handlers, options));
  // BullMQ counts the parameters: it makes a signal only for a function that takes one.
  return async function processEvent(job, token, signal) {
    const conducted = await conductor.conduct(job, signal);
    const { result, delivery } = conducted;
    if (!(result instanceof Fault)) return result;
    if (costsNoAttempt(conducted)) {
      await job.moveToDelayed(Date.now() + delayMs(result), token ?? job.token);
      throw new DelayedError();
    }
    const error = errorOf(result, delivery);
    if (!HOPELESS.has(result.code)) throw error;
    throw Object.assign(new UnrecoverableError(error.message), { cause: error, stack: error.stack });
  };
}

/** Attempts are for handlers. One at work elsewhere, or a store that is away, must not use them up. */
function costsNoAttempt({ result, delivery }: Conducted): boolean {
  const { code } = result as Fault;
  return code === 'IN_PROGRESS' || (code === 'STORE_UNAVAILABLE' && delivery.handlers.length === 0);
}

function delayMs({ retryAfterMs }: Fault): number {
  // A store's number may be anything; NaN counts as none.
  return Math.min(Math.max(Math.ceil(Number(retryAfterMs)) || 1_000, 1), check.LONGEST_TIMER);
}

function resolve(byPattern: object, options: ProcessorOptions<EventSchemas, object>): JobConfiguration {
  const given = check.byName('The second argument of processor()', options, 'options');
  refuseUnknownOptions(given, ['events', 'store', 'namespace', 'lease', 'timeout', 'logger']);
  const events = declareEvents(given.events);
  const handlers = new Handlers(events.keys());
  const patterns = Object.entries(check.byName('handlers', byPattern, 'functions by pattern'));
  if (patterns.length === 0) throw new ConfigurationError('processor() was given no handler.');
  for (const [pattern, handler] of patterns) handlers.on(pattern, handler);
  const { lease = DEFAULTS.lease, timeout = TIMEOUT_MS, namespace = DEFAULTS.namespace, store } = given;
  const logger = check.logger(given.logger);
  const patience = check.milliseconds('timeout', timeout, 0) || check.LONGEST_TIMER;
  // A handler that ignores its signal keeps its claim for a while, so that the next attempt does not run beside it.
  const maxHandlerTime = Math.min(patience + DEFAULTS.maxHandlerTime, check.LONGEST_TIMER);
  const c = {
    events,
    handlers,
    sandbox: 'accept' as const,
    store: store === false ? undefined : check.store(store),
    namespace: check.namespace(namespace),
    lease: check.milliseconds('lease', lease, 1),
    maxHandlerTime,
    logger,
    observer: undefined,
    deadlines: deadlinesOf({ ...DEFAULTS, lease, timeout: patience, maxHandlerTime }),
  };
  if (process.env.NODE_ENV === 'production') warnInProduction(c, false);
  return c;
}
