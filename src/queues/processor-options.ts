// The options of a worker, and the configuration of its jobs.
import type { IdempotencyStore } from '../contracts/idempotency-store.js';
import type { Inbox } from '../contracts/inbox.js';
import { ConfigurationError } from '../errors.js';
import type { EventSchemas } from '../events/event.js';
import { Handlers } from '../handlers/handlers.js';
import type { Logger } from '../logger.js';
import { defineOptions, duration, type OptionRule, plainObject } from '../options/define-options.js';
import * as check from '../options/option-checks.js';
import { warnOfOptions } from '../options/option-warnings.js';
import { MAX_HANDLER_TIME_MS, RECEIVER_RULES, STORE_TIMEOUT_MS } from '../options/options.js';
import { MAX_TIMER_MS } from '../time.js';
import type { JobConfiguration } from './process-job.js';

export interface ProcessorOptions<Events extends EventSchemas = {}, Extra extends object = {}> {
  /** Schemas of additional events, as in `receiver()`. */
  readonly events?: Events | undefined;
  /** An inbox whose `store` the worker uses: the queue keeps jobs that fail. @default none */
  readonly inbox?: Inbox<Extra> | undefined;
  /** Where the worker remembers event ids. Without it, only the queue prevents duplicates. @default none */
  readonly store?: IdempotencyStore<Extra> | false | undefined;
  /** Separates workers of one queue that share a store: 1 to 64 of `A-Z a-z 0-9 . _ -`. @default 'default' */
  readonly namespace?: string | undefined;
  /**
   * Jobs whose payload does not match the schemas of the worker: `'keep'` (the job fails, in BullMQ without a retry, and
   * the queue keeps it), or `'handle'`: handlers run with the payload as it is, and `context.issues`. @default 'keep'
   */
  readonly drift?: check.DriftPolicy | undefined;
  /** How long a claim outlives a crashed worker: milliseconds, or a string like `'30s'`. @default 30_000 */
  readonly lease?: number | string | undefined;
  /**
   * How long handlers may run before their job fails and the queue retries it. They are not stopped. Milliseconds, or
   * a string like `'5m'`; 0: no limit. @default 300_000
   */
  readonly timeout?: number | string | undefined;
  /** Any pino-compatible logger; `false` for silence. @default a pino logger */
  readonly logger?: Logger | false | undefined;
}

const { drift, events, inbox, lease, logger, namespace, store } = RECEIVER_RULES;
const PROCESSOR_OPTIONS = defineOptions({
  events,
  inbox,
  store,
  drift,
  namespace,
  lease,
  timeout: duration(300_000, 0),
  logger,
} satisfies Record<keyof ProcessorOptions, OptionRule<unknown>>);

/** @throws {ConfigurationError} for a wrong option, pattern or handler */
export function configureJobs(
  byPattern: object,
  options: ProcessorOptions<EventSchemas, object>,
): JobConfiguration {
  const given = PROCESSOR_OPTIONS.read(plainObject(options, 'The second argument of processor()', 'options'));
  if (given.inbox && given.store !== undefined)
    throw new ConfigurationError(
      'store replaces the only part of inbox that a worker uses. Remove one of them.',
    );
  const store = (given.inbox?.store ?? given.store) || undefined;
  const handlers = new Handlers(given.events.keys(), store);
  const patterns = check.ownEntries(byPattern as Record<string, unknown>, 'handlers', 'functions by pattern');
  if (patterns.length === 0)
    throw new ConfigurationError('processor() has no handlers. Pass at least one, by pattern.');
  for (const [pattern, handler] of patterns) handlers.onPattern(pattern, handler);
  const timeout = given.timeout || MAX_TIMER_MS;
  const config = {
    ...given,
    handlers,
    sandbox: 'accept' as const,
    store,
    timeout,
    // A handler that ignores its signal keeps the claim, so that the next attempt cannot run at the same time.
    maxHandlerTime: Math.min(timeout + MAX_HANDLER_TIME_MS, MAX_TIMER_MS),
    observer: undefined,
    storeTimeout: STORE_TIMEOUT_MS,
  };
  warnOfOptions(config, { timeout: options.timeout, sandbox: config.sandbox });
  return config;
}
