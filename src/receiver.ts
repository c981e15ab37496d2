// The conductor: leads one delivery through the six stations, and holds no rule of its own.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Delivery, type Result } from './delivery.js';
import { DeliveryLog } from './delivery-log.js';
import { type EventError, Fault } from './errors.js';
import type { EventOf, EventSchemas, UnknownEvent } from './events/event.js';
import type { Handler, HandlerOptions, Matching, Pattern } from './handler.js';
import { type HeadersLike, headersOf } from './headers.js';
import { defaultLogger, isLogger, type Logger } from './logger.js';
import { observed, tell } from './observer.js';
import { type Configuration, type ReceiverOptions, resolveOptions } from './options.js';
import { type BodySource, captureBody, inspectHeaders } from './receiver/capture-body.js';
import { checkSignature, findSignature } from './receiver/check-signature.js';
import { decodeEvent } from './receiver/decode-event.js';
import { dedupeDelivery } from './receiver/dedupe-delivery.js';
import { dispatchEvent } from './receiver/dispatch-event.js';
import { type Answer, respond, type Sent, send } from './receiver/respond.js';
import { memoryStore } from './stores/memory.js';
import { Traffic } from './traffic.js';

/** What `onInvalid` handlers are given: where the payload does not fit, and the bytes to keep. */
export type InvalidHandler<Extra extends object = {}> = Handler<EventError, Extra>;

/** A request handler for Express, Connect and `http.createServer`, and the same journey without a request. */
export interface Receiver<Events extends EventSchemas = {}, Extra extends object = {}> {
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void;
  // `& string` makes the compiler list the patterns when it refuses one, instead of naming their type.
  /**
   * Registers a handler for `transaction.paid`, `transaction.*` or `*` (every declared event).
   * @throws {ConfigurationError} for a pattern that no declared event matches, and after the first delivery
   */
  on<P extends Pattern<Events> & string>(
    pattern: P,
    handler: Handler<EventOf<Matching<P, Events>, Events>, Extra>,
    options?: HandlerOptions,
  ): this;
  /** For authentic events that nobody declared; without one they are answered 200 `ignored`. */
  onUnknown(handler: Handler<UnknownEvent, Extra>, options?: HandlerOptions): this;
  /** For declared events whose payload does not fit: when it resolves the answer is 200 `ignored`, not 422. */
  onInvalid(handler: InvalidHandler<Extra>, options?: HandlerOptions): this;
  /** The journey of a delivery without a request: serverless functions, other frameworks. Never rejects. */
  receive(delivery: {
    readonly rawBody: Uint8Array | ArrayBuffer | string;
    readonly headers: HeadersLike;
  }): Promise<Answer>;
  /** From now on 503. Resolves when every delivery is answered and every handler has settled. */
  close(): Promise<void>;
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
export function receiver<const Events extends EventSchemas = {}, Extra extends object = {}>(
  options: ReceiverOptions<Events, Extra> = {},
): Receiver<Events, Extra> {
  const c = resolveOptions(options, memoryStore);
  const conductor = new Conductor(c);
  const hooks = Object.assign((req: IncomingMessage, res: ServerResponse) => conductor.serve(req, res), {
    on(...registration: Parameters<typeof c.handlers.on>) {
      c.handlers.on(...registration);
      return hooks;
    },
    onUnknown(...registration: Parameters<typeof c.handlers.onUnknown>) {
      c.handlers.onUnknown(...registration);
      return hooks;
    },
    onInvalid(...registration: Parameters<typeof c.handlers.onInvalid>) {
      c.handlers.onInvalid(...registration);
      return hooks;
    },
    receive: (given: { rawBody: unknown; headers: HeadersLike }) => conductor.receive(given),
    close: () => conductor.traffic.close(),
    eventNames: [...c.events.keys()],
  });
  Object.defineProperty(hooks, 'inFlight', { get: () => conductor.traffic.inFlight, enumerable: true });
  return hooks as unknown as Receiver<Events, Extra>;
}

class Conductor {
  readonly traffic: Traffic;
  readonly #c: Configuration;
  readonly #log = new DeliveryLog();

  constructor(c: Configuration) {
    this.#c = c;
    this.traffic = new Traffic(c.maxInFlight);
  }

  serve(req: IncomingMessage, res: ServerResponse): void {
    const delivery = new Delivery(req.headers, this.#c.logger ?? loggerOf(req) ?? defaultLogger());
    void this.#handle(delivery, req, (answer) => send(req, res, answer));
  }

  receive(given: { rawBody: unknown; headers: HeadersLike } | undefined): Promise<Answer> {
    const delivery = new Delivery(headersOf(given?.headers), this.#c.logger ?? defaultLogger());
    return this.#handle(delivery, { rawBody: given?.rawBody }, () => 'sent');
  }

  /** The first five stations, in the order of their files; the last one, `respond`, answers whatever comes of them. */
  async #travel(delivery: Delivery, source: BodySource): Promise<Result> {
    const c = this.#c;
    const { headers } = delivery;
    c.handlers.seal();
    const unreadable = inspectHeaders(headers, c.limit);
    if (unreadable) return unreadable;
    const signature = findSignature(headers, c.signatureHeader);
    if (signature instanceof Fault) return signature;
    const bytes = await captureBody(source, headers, c);
    if (bytes instanceof Fault) return bytes;
    delivery.rawBody = bytes;
    const proof = await checkSignature({ bytes, headers }, signature, c);
    if (proof instanceof Fault) return proof;
    delivery.keyIndex = proof.keyIndex;
    const decoded = await decodeEvent(bytes, proof.key, c);
    if (decoded instanceof Fault) return decoded;
    delivery.decoded = decoded;
    const { handlers, subject, outcome } = c.handlers.recipients(decoded);
    if (handlers.length === 0) return decoded.fault ?? 'ignored';
    const work = () =>
      dedupeDelivery(delivery, c, {
        run: (attempt) => dispatchEvent(handlers, { delivery, attempt, subject }, c),
        outcome,
      });
    return await delivery.resultOf(work, broken);
  }

  /** From the first look at a delivery to its record; never rejects. */
  #handle(delivery: Delivery, source: BodySource, write: Write): Promise<Answer> {
    const work = async () => {
      const refused = this.traffic.enter();
      const result = refused ?? (await this.#travel(delivery, source).catch(broken));
      const answer = respond(result);
      this.#settled(delivery, result, { answer, sent: write(answer) });
      if (!refused) this.#leave(delivery);
      return answer;
    };
    const around = this.#c.observer?.around?.bind(this.#c.observer);
    if (!around) return work();
    return observed(
      (inner) => around({ headers: delivery.headers }, inner),
      work,
      (error) => delivery.observerFailed(error),
    );
  }

  #settled(delivery: Delivery, result: Result, { answer, sent }: { answer: Answer; sent: Sent }): void {
    const status = sent === 'sent' ? answer.status : 0;
    this.#log.settled(delivery, result, status);
    if (sent === 'answered') this.#log.answeredElsewhere(delivery);
    tell(
      this.#c.observer,
      () => delivery.record(result, status, this.#c.events),
      (error) => delivery.observerFailed(error),
    );
  }

  /** A delivery whose handlers go on stays in flight until they settle, or are given up. */
  #leave(delivery: Delivery): void {
    const work = delivery.unsettledWork;
    if (!work) {
      this.traffic.leave();
      return;
    }
    const { abandonment } = this.#c.deadlines;
    const deadline = abandonment.set(() => this.traffic.leave());
    work.then((result) => {
      if (abandonment.clear(deadline)) this.traffic.leave();
      this.#log.late(delivery, result);
    });
  }
}

type Write = (answer: Answer) => Sent;

/** Nothing is known to lead here; if something does, the sender is to try again. */
function broken(cause: unknown): Fault {
  return new Fault('HANDLER_FAILED', { hint: 'The receiver itself failed.', cause });
}

/** pino-http puts a logger on each request. */
function loggerOf(req: IncomingMessage): Logger | undefined {
  const { log } = req as { log?: unknown };
  return isLogger(log) ? log : undefined;
}
