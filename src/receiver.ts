// The receiver: what a user mounts, and the path of a delivery through the five stations.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SignatureFingerprint } from './claims/fingerprint.js';
import { type ForgottenEvent, forgetEvent } from './claims/forget-event.js';
import { type InboxUser, userOfInbox } from './claims/pruner.js';
import type { DeadLetterStore } from './contracts/dead-letter-store.js';
import type { ForgetResult } from './contracts/idempotency-store.js';
import { type DeadLetters, openDeadLetters, openRedrive } from './dead-letters/dead-letters.js';
import { Letter, type LetterRules, letterRules } from './dead-letters/letter.js';
import { defaultLogger } from './default-logger.js';
import { Delivery, type Result } from './deliveries/delivery.js';
import { DeliveryLog } from './deliveries/delivery-log.js';
import { HeaderWatch } from './deliveries/header-watch.js';
import { InFlightLimiter } from './deliveries/in-flight-limiter.js';
import { RECEIVER_STATS, ReceiverStats } from './deliveries/receiver-stats.js';
import { ConfigurationError, type EventError, internalError, Rejection } from './errors.js';
import type { EventOf, EventSchemas, UnknownEvent } from './events/event.js';
import type { Handler, HandlerOptions, InvalidHandler, Matching, Pattern } from './handlers/handler.js';
import { type HeadersLike, headersOf } from './http/headers.js';
import { senderHasLeft } from './http/read-body.js';
import { type Answer, type Sent, send } from './http/send-answer.js';
import { describeError, type Logger, loggerOf, runsInWorker, writeLog } from './logger.js';
import { notifyObserver, observedDelivery } from './observer.js';
import { type Configuration, type ReceiverOptions, resolveOptions } from './options/options.js';
import { type BodySource, captureBody, inspectHeaders } from './receiver/capture-body.js';
import { checkSignature, findSignature } from './receiver/check-signature.js';
import { decodeEvent } from './receiver/decode-event.js';
import { type AnswerEarly, processEvent } from './receiver/process-event.js';
import { respond, responseOf } from './receiver/respond.js';
import { memoryStore } from './stores/memory.js';

/** A request handler for Express, Connect and `http.createServer`, for servers that speak fetch, and for code that has no request. */
export interface Receiver<
  Events extends EventSchemas = {},
  Extra extends object = {},
  Letters extends DeadLetterStore | undefined = DeadLetterStore | undefined,
> {
  /**
   * Resolves when the answer is written: h3, Nitro and Next.js wait for that. Never rejects, and never calls `next`.
   * @throws {ConfigurationError} synchronously, if it is not given the request and response of Node
   */
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): Promise<void>;
  // `& string` makes the compiler list the patterns when it refuses one, instead of naming their type.
  /**
   * Registers a handler for `transaction.paid`, `transaction.*` or `*` (every declared event).
   * @throws {ConfigurationError} for a pattern that no declared event matches, and after the first delivery
   */
  on<P extends Pattern<Events> & string>(
    pattern: P,
    handler: Handler<EventOf<Matching<P, Events>, Events>, Extra>,
    options?: HandlerOptions<EventOf<Matching<P, Events>, Events>>,
  ): this;
  /** For authentic events that are not declared. Without a handler they are answered 200: `kept` as dead letters, else `ignored`. */
  onUnknown(handler: Handler<UnknownEvent, Extra>, options?: HandlerOptions<UnknownEvent>): this;
  /** For declared events whose payload does not match: when it resolves, the answer is 200 `ignored`. Not called with `drift: 'handle'`. */
  onInvalid(handler: InvalidHandler<Extra>, options?: HandlerOptions<EventError>): this;
  /**
   * The receiver for servers that speak fetch: Bun, Deno, Workers, Next.js, Hono. Give it the unread Request. Never rejects.
   * @throws {ConfigurationError} synchronously, if it is not given a Request
   * @example
   * export default { fetch: hooks.fetch };
   */
  fetch(this: void, request: Request, env?: unknown, context?: FetchContext): Promise<Response>;
  /** Processes a delivery without a request: serverless functions, other frameworks. Never rejects. */
  receive(delivery: {
    readonly rawBody: Uint8Array | ArrayBuffer | string;
    readonly headers: HeadersLike;
  }): Promise<Answer>;
  /**
   * Forgets that an event was processed, and what its handlers wrote inside `once`: its next delivery or replay runs them again.
   * An event that is in progress is not forgotten.
   *
   * @throws {ConfigurationError} with `store: false`, or a store without `forget()`
   * @throws {StoreError} when the store is down
   * @example
   * const { status } = await hooks.forget({ id: 'e7f1…' }); // 'forgotten', 'in_progress' or 'unknown'
   */
  forget(event: ForgottenEvent): Promise<ForgetResult>;
  /** Starts `redrive`, and pruning of `inbox`, now. Without this call, the first delivery starts them. */
  start(): void;
  /** Answers new deliveries with 503. Resolves when all others are answered and every handler has settled or outlasted `maxHandlerTime`. */
  close(): Promise<void>;
  /** Lists, replays and discards events that were not processed. Undefined without the option `deadLetters`. */
  readonly deadLetters: Letters extends DeadLetterStore ? DeadLetters : undefined;
  /** How many deliveries are not yet answered, or still have running handlers. */
  readonly inFlight: number;
  /** Names of the declared events. */
  readonly eventNames: string[];
}

/**
 * Receives the webhooks of the service: verified, typed, once per event, and answered 2xx only after every
 * handler has resolved.
 *
 * @throws {ConfigurationError} for an unknown or invalid option
 * @example
 * app.post('/hooks', receiver({
 *   handlers: { 'transaction.paid': async (event) => orders.markPaid(event.payload.transaction.order_id) },
 * }));
 */
export function receiver<
  const Events extends EventSchemas = {},
  Extra extends object = {},
  Letters extends DeadLetterStore | undefined = DeadLetterStore | undefined,
>(
  options: ReceiverOptions<Events, Extra, Letters> = {},
  // Never given. It makes `app.post('/hooks', receiver)` a type error, and the compiler prints its name.
  ..._mountWhatReceiverReturns: never[]
): Receiver<Events, Extra, Letters> {
  const config = resolveOptions(options, memoryStore);
  const journey = new Journey(config);
  const { handlers } = config;
  const hooks = ((req, res) => journey.serve(req, res)) as Receiver<Events, Extra, Letters>;
  const chained = <Given extends unknown[]>(register: (...given: Given) => void) => {
    return (...given: Given) => {
      register.apply(handlers, given);
      return hooks;
    };
  };
  hooks.on = chained(handlers.on);
  hooks.onUnknown = chained(handlers.onUnknown);
  hooks.onInvalid = chained(handlers.onInvalid);
  hooks.fetch = (request, _env, context) => journey.fetch(request, context);
  hooks.receive = (given) => journey.receive(given);
  hooks.forget = (event) => forgetEvent(config, config.logger ?? defaultLogger(), event);
  hooks.start = () => journey.start();
  hooks.close = () => journey.close();
  return Object.defineProperties(hooks, {
    deadLetters: { value: openDeadLetters(config, journey.limiter), enumerable: true },
    eventNames: { value: [...config.events.keys()], enumerable: true },
    inFlight: { get: () => journey.limiter.inFlight, enumerable: true },
    [RECEIVER_STATS]: { value: journey.stats },
  });
}

/** What every delivery passes, on whatever server: capture, signature, decoding, processing, answer. */
class Journey {
  readonly limiter: InFlightLimiter;
  readonly redrive: ReturnType<typeof openRedrive>;
  readonly stats: ReceiverStats;
  readonly #config: Configuration;
  readonly #letters: LetterRules | undefined;
  readonly #log = new DeliveryLog();
  readonly #headerWatch: HeaderWatch;
  readonly #pruning: InboxUser | undefined;

  constructor(config: Configuration) {
    this.#config = config;
    this.#headerWatch = new HeaderWatch(config.signatureHeader, () => config.logger ?? defaultLogger());
    this.limiter = new InFlightLimiter(config.maxInFlight);
    this.redrive = openRedrive(config, this.limiter);
    this.stats = new ReceiverStats(this.limiter, config);
    this.#letters = letterRules(config);
    this.#pruning = userOfInbox(config);
  }

  start(): void {
    this.redrive?.start();
    this.#pruning?.start();
  }

  serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    checkResponse(req, res);
    const delivery = new Delivery(req.headers, this.#config.logger ?? loggerOf(req) ?? defaultLogger());
    return this.#handle(delivery, req, (answer) => send(req, res, answer)).then(nothing);
  }

  fetch(request: Request, context: FetchContext | undefined): Promise<Response> {
    checkRequest(request);
    const delivery = this.#deliveryOf(request.headers);
    const handling = this.#handle(delivery, { request }, () => (senderHasLeft(request) ? 'gone' : 'sent'));
    keepRunning(() => handling.then(() => delivery.ended), context, delivery.logger);
    return handling.then(responseOf);
  }

  receive(given: { rawBody: unknown; headers: HeadersLike } | undefined): Promise<Answer> {
    return this.#handle(this.#deliveryOf(given?.headers), { rawBody: given?.rawBody }, () => 'sent');
  }

  #deliveryOf(headers: HeadersLike | undefined): Delivery {
    return new Delivery(headersOf(headers), this.#config.logger ?? defaultLogger());
  }

  /** Resolves when the delivery is answered. Never rejects: loggers, observers and responses that throw are caught where they are called. */
  #handle(delivery: Delivery, source: BodySource, write: (answer: Answer) => Sent): Promise<Answer> {
    const work = () =>
      new Promise<Answer>((resolve) => {
        const answer = (result: Result) => resolve(this.#answer(delivery, result, write));
        delivery.ended = this.#handleInFlight(delivery, source, answer);
      });
    return observedDelivery(this.#config.observer, work, delivery);
  }

  /** Answers once, and resolves when the handlers have settled too. Until then the delivery is in flight. */
  async #handleInFlight(
    delivery: Delivery,
    source: BodySource,
    answer: (result: Result) => void,
  ): Promise<void> {
    const place = this.limiter.enter();
    if (place instanceof Rejection) return answer(place);
    let answeredEarly = false;
    const answerEarly = (result: Result) => {
      answeredEarly = true;
      answer(result);
      place.leaveWithin(this.#config.maxHandlerTime);
    };
    const result = await this.#runStations(delivery, source, answerEarly).catch((cause) =>
      internalError('The receiver itself failed.', cause),
    );
    if (answeredEarly) this.#log.late(delivery, result);
    else answer(result);
    place.leave();
  }

  /** Stations 1 to 4: capture, check, decode, process. Headers are checked before the body is read. `respond` answers. */
  async #runStations(delivery: Delivery, source: BodySource, answerEarly: AnswerEarly): Promise<Result> {
    const config = this.#config;
    const { headers } = delivery;
    config.handlers.seal();
    this.start();

    this.#headerWatch.record(headers);
    const unreadable = inspectHeaders(headers, config.limit);
    if (unreadable) return unreadable;
    const signature = findSignature(headers, config.signatureHeader, source);
    if (signature instanceof Rejection) return signature;
    const bytes = await captureBody(source, headers, config);
    if (bytes instanceof Rejection) return bytes;
    delivery.length = bytes.length;

    const proof = await checkSignature({ bytes, headers }, signature, config);
    if (proof instanceof Rejection) return proof;
    const { keyIndex, key, keys } = proof;
    const fingerprint = new SignatureFingerprint(signature, bytes, keys);
    delivery.proven({ rawBody: bytes, keyIndex, keyId: key.id, simulated: key.simulated, fingerprint });
    this.stats.recordAuthentic(delivery.startedAt);
    delivery.letter = this.#letters && new Letter(delivery, this.#letters);

    const decoded = await decodeEvent(bytes, key, config);
    if (decoded instanceof Rejection) return decoded;
    delivery.decoded = decoded;

    return processEvent(delivery, config, answerEarly);
  }

  /** Sends the answer, logs it, and tells the observer. */
  #answer(delivery: Delivery, result: Result, write: (answer: Answer) => Sent): Answer {
    const answer = respond(result, this.limiter.closing);
    const sent = write(answer);
    const status = sent === 'sent' ? answer.status : 0;
    if (answer.status === 401 || (result instanceof Rejection && result.unproven)) this.stats.refused += 1;
    this.#log.settled(delivery, result, status);
    if (sent === 'answered') this.#log.answeredElsewhere(delivery);
    if (typeof sent === 'object') this.#log.notWritten(delivery, sent.threw);
    const { events, observer } = this.#config;
    notifyObserver(() => observer?.settled?.(delivery.record(result, status, events)), delivery);
    return answer;
  }

  async close(): Promise<void> {
    const empty = this.limiter.close();
    this.#headerWatch.stop();
    this.#pruning?.stop();
    await this.redrive?.stop();
    await empty;
  }
}

/** Next.js and h3 would send what this resolves with. */
function nothing(): void {}

/** @throws {ConfigurationError} unless it is the response of `node:http` */
function checkResponse(req: IncomingMessage | undefined, res: ServerResponse): void {
  if (typeof res?.writeHead === 'function') return;
  if (req === undefined && res === undefined) {
    throw new ConfigurationError(
      "The receiver was called without a request. Leave out the (): app.post('/hooks', hooks), not app.post('/hooks', hooks()).",
    );
  }
  throw new ConfigurationError(
    'The receiver was not given the request and response of Node. In Fastify use an onRequest hook: call reply.hijack(), ' +
      'and pass request.raw and reply.raw; in Koa set ctx.respond to false and pass ctx.req and ctx.res; where there is a ' +
      'Request of fetch call hooks.fetch(request); or call receive() and send its answer.',
  );
}

/**
 * Throws synchronously: Express 4 would leave a rejection unhandled, and the process would end.
 *
 * @throws {ConfigurationError} unless it is the Request of fetch
 */
function checkRequest(request: Request): void {
  const { body, headers } = request ?? {};
  // A context of Hono has a `body` too, and no headers to read.
  if (typeof headers?.get !== 'function') {
    throw new ConfigurationError(
      'hooks.fetch() was not given a fetch Request. In Hono pass c.req.raw; in Express mount the receiver itself: ' +
        "app.post('/hooks', hooks). Where there is only a body and headers, call receive() and send its answer.",
    );
  }
  if (body && typeof body.getReader !== 'function') {
    throw new ConfigurationError(
      'The Request of hooks.fetch() has a body that is no web stream, such as one of node-fetch. Pass the Request of the platform, ' +
        'or its bytes and headers to hooks.receive().',
    );
  }
}

/** What Workers pass as the third argument of `fetch`. */
export interface FetchContext {
  waitUntil?(promise: Promise<unknown>): void;
}

const NO_CONTEXT =
  'hooks.fetch() was not given a usable execution context, so the Worker may stop handlers once the ' +
  'response is sent or the sender disconnects. Call hooks.fetch(request, env, ctx) with the ctx of the Worker.';

// Each problem is logged once, because strangers can cause it as often as they like.
let contextWarned = false;
let contextFailed = false;

/** Keeps a Worker alive until the work ends; other runtimes need nothing. Never throws: the handlers already run. */
function keepRunning(work: () => Promise<unknown>, context: FetchContext | undefined, logger: Logger): void {
  try {
    if (typeof context?.waitUntil === 'function') {
      context.waitUntil(work());
    } else if (!contextWarned && runsInWorker()) {
      contextWarned = true;
      writeLog(logger, 'error', {}, NO_CONTEXT);
    }
  } catch (error) {
    if (!contextFailed) writeLog(logger, 'error', { error: describeError(error) }, NO_CONTEXT);
    contextFailed = true;
  }
}
