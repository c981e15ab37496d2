// The options of `receiver()`: their meaning, defaults and checks.

import type { DeadLetterStore } from '../contracts/dead-letter-store.js';
import type { IdempotencyStore } from '../contracts/idempotency-store.js';
import type { Inbox } from '../contracts/inbox.js';
import { ConfigurationError } from '../errors.js';
import { declareEvents, type EventOf, type EventSchemas } from '../events/event.js';
import type { Handler, Matching, Pattern } from '../handlers/handler.js';
import { Handlers } from '../handlers/handlers.js';
import type { Logger } from '../logger.js';
import { show } from '../misuse.js';
import type { Observer } from '../observer.js';
import type { SigningKey } from '../signature.js';
import {
  anything,
  boolean,
  defineOptions,
  duration,
  integerFrom,
  type OptionRule,
  type OptionValues,
  oneOf,
  option,
} from './define-options.js';
import { type KeyFunction, type KeysOf, resolveKeys } from './keys.js';
import * as check from './option-checks.js';
import { warnOfOptions } from './option-warnings.js';

/** Handlers by pattern, as the option `handlers` takes them. */
export type HandlersByPattern<Events extends EventSchemas = {}, Extra extends object = {}> = {
  readonly [P in Pattern<Events>]?: Handler<EventOf<Matching<P, Events>, Events>, Extra>;
};

/** All options are optional. Unknown ones are rejected. */
export interface ReceiverOptions<
  Events extends EventSchemas = {},
  Extra extends object = {},
  Letters extends DeadLetterStore | undefined = DeadLetterStore | undefined,
> {
  /**
   * The account's private key; an array of keys, any of which may have signed (rotation, live and sandbox); or a function
   * (secret managers, several accounts). @default process.env.SERVICE_PRIVATE_KEY
   */
  readonly privateKey?: string | readonly string[] | KeyFunction | undefined;
  /** Name of the header that carries the signature. @default 'X-SERVICE-SIGNATURE' */
  readonly signatureHeader?: string | undefined;
  /**
   * A Standard Schema (zod, valibot, arktype, …) for the payload of each further event; naming a built-in event
   * replaces its schema.
   * @example { 'refund.succeeded': z.looseObject({ refund: z.looseObject({ id: z.string() }) }) }
   */
  readonly events?: Events | undefined;
  /** Handlers by pattern: the same as calling `on` for each. */
  readonly handlers?: HandlersByPattern<NoInfer<Events>, NoInfer<Extra>> | undefined;
  /**
   * Events whose `sandbox` is true: `'accept'`, `'ignore'` (answered 200, no handler runs), or `'only'` (live ones
   * are ignored, for a staging server). @default 'accept'
   */
  readonly sandbox?: check.SandboxPolicy | undefined;
  /**
   * Declared events whose payload does not match its schema: `'keep'` (`onInvalid` gets it, else it is kept as a dead letter
   * or answered 422), or `'handle'`: their handlers run with the payload as received and `context.issues`. @default 'keep'
   */
  readonly drift?: check.DriftPolicy | undefined;
  /**
   * `store`, `deadLetters` and `redrive: true` from one value, such as `postgresInbox()`. Each of them that is given too replaces
   * its part. @default none
   */
  readonly inbox?: (Inbox<Extra> & { readonly deadLetters: Letters }) | undefined;
  /** Where event ids are remembered; `false` turns de-duplication off. @default memoryStore() */
  readonly store?: IdempotencyStore<Extra> | false | undefined;
  /**
   * Where authentic events that were not processed are kept for a replay: `memoryDeadLetters()` or another store.
   * @default none
   */
  readonly deadLetters?: Letters;
  /** Whether `deadLetters` keeps every event while its handlers run, in case the process crashes. @default false */
  readonly journal?: boolean | undefined;
  /**
   * Whether dead letters are retried automatically: `true`, or an object that says when, which ones, how often to look for
   * them, and how many at once.
   * @default false
   * @example { delays: ['1m', '5m', '30m', '2h', '12h', '1d'], reasons: ['failed', 'unfinished'], every: '30s', concurrency: 1 }
   */
  readonly redrive?: boolean | check.RedriveOptions | undefined;
  /**
   * Headers that dead letters keep in addition to the content type, the user agent, and the ids of requests and traces.
   * @default none
   * @example ['x-tenant']
   */
  readonly keepHeaders?: readonly string[] | undefined;
  /** Separates receivers that share a store: 1 to 64 of `A-Z a-z 0-9 . _ -`. @default 'default' */
  readonly namespace?: string | undefined;
  /** How long a claim outlives a crashed process: milliseconds, or a string like `'30s'`. @default 30_000 */
  readonly lease?: number | string | undefined;
  /** Largest body: bytes, or a string like `'256kb'` (1 kb = 1,024 bytes). @default '256kb' */
  readonly limit?: number | string | undefined;
  /** How long the whole body may take to arrive: milliseconds, or a string like `'10s'`. @default 10_000 */
  readonly bodyTimeout?: number | string | undefined;
  /**
   * How long handlers may take before the delivery is answered 503 while they continue: milliseconds, or a string like
   * `'10s'`; 0: no limit. @default 10_000
   */
  readonly timeout?: number | string | undefined;
  /** How long a claim is renewed while a handler has not settled: milliseconds, or a string like `'5m'`. @default 300_000 */
  readonly maxHandlerTime?: number | string | undefined;
  /** How long one call of the store or the key function may take: milliseconds, or a string like `'2s'`. @default 2_000 */
  readonly storeTimeout?: number | string | undefined;
  /** Deliveries at once; more are answered 503 before their body is read. @default 1_000 */
  readonly maxInFlight?: number | undefined;
  /** Any pino-compatible logger; `false` for silence. @default req.log of pino-http, else a pino logger */
  readonly logger?: Logger | false | undefined;
  /** Notified of every delivery and every handler; see `openTelemetry()`. */
  readonly observer?: Observer | undefined;
}

/** Jobs have the same defaults. */
export const MAX_HANDLER_TIME_MS = 300_000;
export const STORE_TIMEOUT_MS = 2_000;

/** All options in one table. The compiler checks that none is missing. */
export const RECEIVER_RULES = {
  privateKey: anything(),
  signatureHeader: option('X-SERVICE-SIGNATURE', check.headerName),
  events: option(undefined, (value, name) =>
    declareEvents(check.ownEntries(value as EventSchemas | undefined, name, 'schemas by event name')),
  ),
  handlers: option(undefined, (value, name) =>
    check.ownEntries(value as Record<string, unknown> | undefined, name, 'functions by pattern'),
  ),
  sandbox: oneOf<check.SandboxPolicy>('accept', 'ignore', 'only'),
  drift: oneOf<check.DriftPolicy>('keep', 'handle'),
  inbox: option(undefined, check.inbox),
  store: option(undefined, check.store),
  deadLetters: option(undefined, check.deadLetters),
  journal: option(false, boolean),
  redrive: option(false, check.redrive),
  keepHeaders: option(undefined, check.keepHeaders),
  namespace: option('default', check.namespace),
  lease: duration(30_000),
  limit: option('256kb', check.bodyLimit),
  bodyTimeout: duration(10_000),
  timeout: duration(10_000, 0),
  maxHandlerTime: duration(MAX_HANDLER_TIME_MS),
  storeTimeout: duration(STORE_TIMEOUT_MS),
  maxInFlight: option(1_000, integerFrom(1)),
  logger: option(undefined, check.logger),
  observer: option(undefined, check.observer),
} satisfies Record<keyof ReceiverOptions, OptionRule<unknown>>;
export const RECEIVER_OPTIONS = defineOptions(RECEIVER_RULES);

/** The options as the stations use them: every time in milliseconds, every size in bytes. */
export interface Configuration
  extends Omit<OptionValues<typeof RECEIVER_RULES>, 'privateKey' | 'handlers' | 'store'> {
  readonly keys: readonly SigningKey[] | KeysOf;
  readonly handlers: Handlers;
  readonly store: IdempotencyStore<object> | undefined;
  /** Never without a store. */
  readonly deadLetters: DeadLetterStore | undefined;
  /** In lower case. */
  readonly keepHeaders: readonly string[];
  /** Never 0: without a timeout a delivery ends with the claim that protects it. */
  readonly timeout: number;
  /** As given; undefined lets each request's own logger come first. */
  readonly logger: Logger | undefined;
}

/** @throws {ConfigurationError} naming the option, what it was given and what to give */
export function resolveOptions<Events extends EventSchemas, Extra extends object>(
  options: ReceiverOptions<Events, Extra>,
  defaultStore: () => IdempotencyStore,
): Configuration {
  refuseOtherThanOptions(options);
  const { privateKey: _, ...given } = RECEIVER_OPTIONS.read(withPartsOfInbox(options));
  const store = given.store === false ? undefined : (given.store ?? defaultStore());
  const handlers = new Handlers(given.events.keys(), store);
  for (const [pattern, handler] of given.handlers) handlers.onPattern(pattern, handler);
  const configuration = {
    ...given,
    keys: resolveKeys(options.privateKey, 'privateKey' in options),
    handlers,
    store,
    timeout: given.timeout || given.maxHandlerTime,
  };
  refuseIncomplete(configuration);
  warnOfOptions(configuration, options);
  return configuration;
}

/** The options with what the inbox stands for. */
function withPartsOfInbox<Extra extends object>(
  options: Pick<ReceiverOptions<{}, Extra>, 'inbox' | 'store' | 'deadLetters' | 'redrive'>,
): object {
  const inbox = check.inbox(options.inbox);
  if (!inbox) return options;
  const { store = inbox.store, deadLetters = inbox.deadLetters, redrive = true } = options;
  if (store === false)
    throw new ConfigurationError('store is false, but inbox remembers event ids. Remove one of them.');
  if (options.store && options.deadLetters)
    throw new ConfigurationError('store and deadLetters replace both parts of inbox. Remove them, or inbox.');
  return { ...options, store, deadLetters, redrive };
}

/** Refuses an option that needs another one. */
function refuseIncomplete({ store, deadLetters, journal, keepHeaders, redrive }: Configuration): void {
  const needs = journal ? 'journal' : keepHeaders.length > 0 ? 'keepHeaders' : redrive && 'redrive';
  if (needs && !deadLetters) {
    throw new ConfigurationError(
      `${needs} needs the option deadLetters: a store such as memoryDeadLetters() that keeps the events.`,
    );
  }
  if (deadLetters && !store) {
    throw new ConfigurationError(
      'deadLetters needs a store: with store: false a replay could run an event that was processed. Leave store out, or pass one.',
    );
  }
}

function refuseOtherThanOptions(options: object): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    // Text is most likely the private key itself, so it is not shown.
    const got = typeof options === 'string' ? 'text' : show(options);
    throw new ConfigurationError(`receiver() was given ${got}. Pass an object of options, or nothing.`);
  }
  if ('method' in options && 'socket' in options) {
    throw new ConfigurationError(
      "receiver() was given a request. Call it when you mount it: app.post('/hooks', receiver()), not app.post('/hooks', receiver).",
    );
  }
}
