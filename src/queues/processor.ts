// The function that a worker of BullMQ calls for each job.
import { DelayedError, UnrecoverableError } from 'bullmq';
import type { Delivery } from '../delivery/delivery.js';
import { Rejection } from '../delivery/rejection.js';
import { ConfigurationError, type ErrorCode } from '../errors.js';
import { declareEvents, type EventSchemas } from '../events/event.js';
import { Handlers } from '../handlers/handlers.js';
import type { Logger } from '../logger.js';
import type { Outcome } from '../observer.js';
import { LONGEST_TIMER } from '../options/duration.js';
import * as check from '../options/option-checks.js';
import { warnOfOptions } from '../options/option-warnings.js';
import { DEFAULTS, type HandlersByPattern } from '../options/options.js';
import { refuseUnknownOptions } from '../options/unknown-option.js';
import type { IdempotencyStore } from '../stores/store.js';
import { errorOf } from './failed-job.js';
import { type JobConfiguration, JobProcessor, type QueuedJob } from './process-job.js';

export interface ProcessorOptions<Events extends EventSchemas = {}, Extra extends object = {}> {
  /** Schemas of additional events, as in `receiver()`. */
  readonly events?: Events | undefined;
  /** Where the worker remembers event ids. Without it only the queue prevents a second run. @default none */
  readonly store?: IdempotencyStore<Extra> | false | undefined;
  /** Separates workers of one queue that share a store: 1 to 64 of `A-Z a-z 0-9 . _ -`. @default 'default' */
  readonly namespace?: string | undefined;
  /**
   * Jobs whose payload does not fit the schemas of the worker: `'keep'` (the job fails without a retry, and BullMQ keeps it), or
   * `'handle'`: their handlers run with the payload as it came, and `context.issues`. @default 'keep'
   */
  readonly drift?: check.DriftPolicy | undefined;
  /** How long a claim outlives a crashed worker: milliseconds, or text like `'30s'`. @default 30_000 */
  readonly lease?: number | string | undefined;
  /**
   * How long handlers may run before their job fails and BullMQ retries it. They are not stopped. Milliseconds, or
   * text like `'5m'`; 0: no limit. @default 300_000
   */
  readonly timeout?: number | string | undefined;
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
/** A retry cannot succeed. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set(['EVENT_INVALID', 'BODY_MALFORMED']);

/**
 * Creates the function that a worker calls for each job: it validates the event again, and runs the handlers of it
 * as the receiver does.
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
  const jobs = new JobProcessor(resolve(handlers, options));
  // BullMQ counts the parameters, and creates a signal only for a function that takes three.
  return async function processEvent(job, token, signal) {
    const { result, delivery } = await jobs.process(job, signal);
    if (!(result instanceof Rejection)) return result;
    if (costsNoAttempt(result, delivery)) {
      await job.moveToDelayed(Date.now() + delayMs(result), token ?? job.token);
      throw new DelayedError();
    }
    const error = errorOf(result, delivery);
    if (!PERMANENT.has(result.code)) throw error;
    throw Object.assign(new UnrecoverableError(error.message), { cause: error, stack: error.stack });
  };
}

/** Attempts are for handlers. An event in progress elsewhere, or a store that is down, must not use them up. */
function costsNoAttempt({ code }: Rejection, { deduped }: Delivery): boolean {
  return code === 'IN_PROGRESS' || (code === 'STORE_UNAVAILABLE' && !deduped?.dispatched);
}

function delayMs({ retryAfterMs }: Rejection): number {
  // A store may return any number, or none.
  return Math.min(Math.max(Math.ceil(Number(retryAfterMs)) || 1_000, 1), LONGEST_TIMER);
}

function resolve(byPattern: object, options: ProcessorOptions<EventSchemas, object>): JobConfiguration {
  const given = check.byName('The second argument of processor()', options, 'options');
  refuseUnknownOptions(given, ['events', 'store', 'drift', 'namespace', 'lease', 'timeout', 'logger']);
  const events = declareEvents(given.events);
  const handlers = new Handlers(events.keys(), Boolean(given.store));
  const patterns = Object.entries(check.byName('handlers', byPattern, 'functions by pattern'));
  if (patterns.length === 0)
    throw new ConfigurationError('processor() has no handlers. Give at least one, by pattern.');
  for (const [pattern, handler] of patterns) handlers.on(pattern, handler);
  const { lease = DEFAULTS.lease, timeout = TIMEOUT_MS, namespace = DEFAULTS.namespace, store } = given;
  const { drift = DEFAULTS.drift } = given;
  const logger = check.logger(given.logger);
  const timeoutMs = check.milliseconds('timeout', timeout, 0) || LONGEST_TIMER;
  // A handler that ignores its signal keeps its claim, so that the next attempt does not run at the same time.
  const maxHandlerTime = Math.min(timeoutMs + DEFAULTS.maxHandlerTime, LONGEST_TIMER);
  const c = {
    events,
    handlers,
    sandbox: 'accept' as const,
    drift: check.driftPolicy(drift),
    store: store === false ? undefined : check.store(store),
    namespace: check.namespace(namespace),
    lease: check.milliseconds('lease', lease, 1),
    maxHandlerTime,
    logger,
    observer: undefined,
    reports: true,
    timeout: timeoutMs,
    storeTimeout: DEFAULTS.storeTimeout,
  };
  warnOfOptions(c, false);
  return c;
}
