// What handlers are given beside the event.
import type { IncomingHttpHeaders } from 'node:http';
import type { Delivery } from './delivery.js';
import type { HandlerContext } from './handler.js';
import type { Logger } from './logger.js';
import type { Claim } from './stores/store.js';

/** The part of a claim that handlers come to see. */
export type Attempt = Pick<Claim<object>, 'attempt' | 'finished' | 'context'>;

/**
 * `signal` and `log` are made when they are asked for: most handlers use neither, and each costs more than the rest
 * together. As properties of the context itself they are also in a copy, `{ ...context, db }`. They share their two
 * functions, because an object literal with accessors takes 640 bytes for every delivery that waits, and this 70.
 */
export class DeliveryContext implements HandlerContext {
  static readonly #signal = {
    enumerable: true,
    get(this: DeliveryContext) {
      return this.#delivery.signal;
    },
  };
  static readonly #log = {
    enumerable: true,
    get(this: DeliveryContext) {
      return this.#delivery.log;
    },
  };

  declare readonly signal: AbortSignal;
  declare readonly log: Logger;
  readonly rawBody: Buffer;
  readonly headers: IncomingHttpHeaders;
  readonly attempt: number;
  readonly keyIndex: number;
  readonly #delivery: Delivery;

  constructor(delivery: Delivery, { attempt, context }: Attempt) {
    // First: a store adds to what handlers are given, and replaces nothing of it.
    Object.assign(this, context);
    this.#delivery = delivery;
    this.rawBody = delivery.rawBody;
    this.headers = delivery.headers;
    this.attempt = attempt;
    this.keyIndex = delivery.keyIndex ?? 0;
    Object.defineProperty(this, 'signal', DeliveryContext.#signal);
    Object.defineProperty(this, 'log', DeliveryContext.#log);
  }
}
