// The conductor: takes one delivery through the six stations, the middle three in delivery/process-event.ts. The rules are in the stations.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DeadLetterStore } from './dead-letters/dead-letter-store.js';
import { Letter, type LetterRules, letterRules } from './dead-letters/letter.js';
import { type DeadLetters, openDeadLetters } from './dead-letters/open-dead-letters.js';
import { checkRequest, checkResponse, hasLeft } from './delivery/check-request.js';
import { Delivery, type Result } from './delivery/delivery.js';
import { DeliveryLog } from './delivery/delivery-log.js';
import { SignatureFingerprint } from './delivery/fingerprint.js';
import { type HeadersLike, headersOf } from './delivery/headers.js';
import { InFlightLimiter } from './delivery/in-flight-limiter.js';
import { processEvent } from './delivery/process-event.js';
import { broken, Rejection } from './delivery/rejection.js';
import { isThenable } from './delivery/thenable.js';
import { VITALS, Vitals } from './delivery/vitals.js';
import { type FetchContext, keepRunning } from './delivery/worker-context.js';
import type { EventError } from './errors.js';
import type { EventOf, EventSchemas, UnknownEvent } from './events/event.js';
import type { Handler, HandlerOptions, InvalidHandler, Matching, Pattern } from './handlers/handler.js';
import type { Handlers } from './handlers/handlers.js';
import { loggerOf } from './logger.js';
import { observedDelivery, tell } from './observer.js';
import { defaultLogger } from './options/default-logger.js';
import { type Configuration, type ReceiverOptions, resolveOptions } from './options/options.js';
import { type BodySource, captureBody, inspectHeaders } from './receiver/capture-body.js';
import { checkSignature, findSignature } from './receiver/check-signature.js';
import { type Answer, respond, responseOf, type Sent, send } from './receiver/respond.js';
import { memoryStore } from './stores/memory.js';

/** A request handler for Express, Connect and `http.createServer`, for servers that speak fetch, and the same journey without a request. */
export interface Receiver<
  Events extends EventSchemas = {},
  Extra extends object = {},
  Letters extends DeadLetterStore | undefined = DeadLetterStore | undefined,
> {
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void;
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
  /** For authentic events that are not declared. Without one they are answered 200: `kept` as dead letters, else `ignored`. */
  onUnknown(handler: Handler<UnknownEvent, Extra>, options?: HandlerOptions<UnknownEvent>): this;
  /** For declared events whose payload does not fit: when it resolves the answer is 200 `ignored`. Never called with `drift: 'handle'`. */
  onInvalid(handler: InvalidHandler<Extra>, options?: HandlerOptions<EventError>): this;
  /**
   * The same for servers that speak fetch: Bun, Deno, Workers, Next.js, Hono. Give it the Request unread. Never rejects.
   * @throws {ConfigurationError} at once, if it is not given a Request
   * @example
   * export default { fetch: hooks.fetch };
   */
  fetch(this: void, request: Request, env?: unknown, context?: FetchContext): Promise<Response>;
  /** The journey of a delivery without a request: serverless functions, other frameworks. Never rejects. */
  receive(delivery: {
    readonly rawBody: Uint8Array | ArrayBuffer | string;
    readonly headers: HeadersLike;
  }): Promise<Answer>;
  /** From now on 503. Resolves when every delivery is answered and every handler has settled. */
  close(): Promise<void>;
  /** The events that were not processed: to list, replay and discard. Undefined without the option. */
  readonly deadLetters: Letters extends DeadLetterStore ? DeadLetters : undefined;
  /** Deliveries that are not yet answered, or whose handlers still run. */
  readonly inFlight: number;
  /** Names of the declared events. */
  readonly eventNames: string[];
}

/**
 * Receives the webhooks of the service: verified, typed, once per event, and answered 2xx only after every
 * handler has resolved.
 *
 * @throws {ConfigurationError} for anything in the options that can be known to be wrong before traffic
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
  const c = resolveOptions(options, memoryStore);
  const conductor = new Conductor(c);
  const registered = (_done: unknown): object => hooks;
  const hooks = Object.assign((req: IncomingMessage, res: ServerResponse) => conductor.serve(req, res), {
    on: (...given: Parameters<Handlers['on']>) => registered(c.handlers.on(...given)),
    onUnknown: (...given: Parameters<Handlers['onUnknown']>) => registered(c.handlers.onUnknown(...given)),
    onInvalid: (...given: Parameters<Handlers['onInvalid']>) => registered(c.handlers.onInvalid(...given)),
    fetch: (request: Request, _env?: unknown, context?: FetchContext) => conductor.fetch(request, context),
    receive: (given: { rawBody: unknown; headers: HeadersLike }) => conductor.receive(given),
    close: () => conductor.limiter.close(),
    eventNames: [...c.events.keys()],
    deadLetters: openDeadLetters(c, conductor.limiter),
    [VITALS]: conductor.vitals,
  });
  Object.defineProperty(hooks, 'inFlight', { get: () => conductor.limiter.inFlight, enumerable: true });
  return hooks as unknown as Receiver<Events, Extra, Letters>;
}

class Conductor {
  readonly limiter: InFlightLimiter;
  readonly vitals: Vitals;
  readonly #c: Configuration;
  readonly #letters: LetterRules | undefined;
  readonly #log = new DeliveryLog();

  constructor(c: Configuration) {
    this.#c = c;
    this.limiter = new InFlightLimiter(c.maxInFlight);
    this.vitals = new Vitals(this.limiter, c);
    this.#letters = letterRules(c);
  }

  serve(req: IncomingMessage, res: ServerResponse): void {
    checkResponse(res);
    const delivery = new Delivery(req.headers, this.#c.logger ?? loggerOf(req) ?? defaultLogger());
    void this.#handle(delivery, req, (answer) => send(req, res, answer));
  }

  fetch(request: Request, context: FetchContext | undefined): Promise<Response> {
    checkRequest(request);
    const delivery = this.#deliveryOf(request.headers);
    const handling = this.#handle(delivery, { request }, () => (hasLeft(request) ? 'gone' : 'sent'));
    keepRunning(() => handling.then(() => delivery.late), context, delivery.logger);
    return handling.then(responseOf);
  }

  receive(given: { rawBody: unknown; headers: HeadersLike } | undefined): Promise<Answer> {
    return this.#handle(this.#deliveryOf(given?.headers), { rawBody: given?.rawBody }, () => 'sent');
  }

  #deliveryOf(headers: HeadersLike | undefined): Delivery {
    return new Delivery(headersOf(headers), this.#c.logger ?? defaultLogger());
  }

  /** The first five stations, in the order of their files; the last one, `respond`, answers whatever comes of them. */
  async #travel(delivery: Delivery, source: BodySource): Promise<Result> {
    const c = this.#c;
    const { headers } = delivery;
    c.handlers.seal();
    const unreadable = inspectHeaders(headers, c.limit);
    if (unreadable) return unreadable;
    const signature = findSignature(headers, c.signatureHeader);
    if (signature instanceof Rejection) return signature;
    const bytes = await captureBody(source, headers, c);
    if (bytes instanceof Rejection) return bytes;
    delivery.rawBody = bytes;
    const checking = checkSignature({ bytes, headers }, signature, c);
    const proof = isThenable(checking) ? await checking : checking;
    if (proof instanceof Rejection) return proof;
    this.vitals.proven(delivery.startedAt);
    delivery.keyIndex = proof.keyIndex;
    delivery.keyId = proof.key.id;
    if (this.#letters) delivery.letter = new Letter(delivery, this.#letters);
    delivery.fingerprint = new SignatureFingerprint(signature, bytes, proof.keys);
    const processing = processEvent(delivery, proof.key, c);
    delivery.deduped = isThenable(processing) ? await processing : processing;
    return delivery.deduped.result;
  }

  /** From the first look at a delivery to its record; never rejects. */
  #handle(delivery: Delivery, source: BodySource, write: (answer: Answer) => Sent): Promise<Answer> {
    const work = async () => {
      const refused = this.limiter.enter();
      let result: Result;
      try {
        result = refused ?? (await this.#travel(delivery, source));
      } catch (cause) {
        result = broken(cause);
      }
      const answer = respond(result, this.limiter.closing);
      this.#settled(delivery, result, { answer, sent: write(answer) });
      // With handlers that go on it stays in flight until they settle, or are given up.
      if (!refused) this.limiter.leaveAfter(delivery.late, this.#c.maxHandlerTime);
      return answer;
    };
    return observedDelivery(this.#c.observer, work, delivery);
  }

  #settled(delivery: Delivery, result: Result, { answer, sent }: { answer: Answer; sent: Sent }): void {
    const status = sent === 'sent' ? answer.status : 0;
    if (answer.status === 401 || (result instanceof Rejection && result.unproven)) this.vitals.refused += 1;
    this.#log.settled(delivery, result, status);
    if (sent === 'answered') this.#log.answeredElsewhere(delivery);
    if (typeof sent === 'object') this.#log.notWritten(delivery, sent.threw);
    delivery.late?.then((late) => this.#log.late(delivery, late));
    tell(this.#c.observer, () => delivery.record(result, status, this.#c.events), delivery);
  }
}
