// The context that a handler is given with its event.
import type { IncomingHttpHeaders } from 'node:http';
import type { Claim } from '../claims/idempotency-store.js';
import type { Issue } from '../errors.js';
import type { EventNames } from '../events/envelope.js';
import type { Logger } from '../logger.js';
import type { Delivery } from './delivery.js';
import type { HandlerContext } from './handler.js';

/** The part of a claim that handlers see. */
export interface Attempt extends Pick<Claim<object>, 'attempt' | 'finished'> {
  readonly context?: object | undefined;
}

// Registered, because a queue may be loaded by the other module system than the receiver.
const RUN = Symbol.for('payment-webhooks.run');

/** What a context reads from its call. */
interface ContextSource {
  readonly event: EventNames | undefined;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly rawBody: Buffer;
}

/** The id, name and mode that were signed; undefined if the receiver did not make the context. */
export function signedAs(context: object): EventNames | undefined {
  return (context as { readonly [RUN]?: ContextSource })[RUN]?.event;
}

const SIGNAL = fromRun('signal');
const LOG = fromRun('log');
const RAW_BODY = fromRun('rawBody');

function fromRun(name: 'signal' | 'log' | 'rawBody'): PropertyDescriptor & ThisType<DeliveryContext> {
  return {
    enumerable: true,
    get() {
      return this[RUN][name];
    },
  };
}

/**
 * `signal`, `log` and the copy of `rawBody` are made when a handler reads them: most read none, and each costs more than
 * the rest together. They are own properties, so a copy has them too (`{ ...context, db }`), and they read through the symbol,
 * so they work on an object derived from the context. All contexts share their getters: an object literal with accessors
 * takes 640 bytes for each waiting delivery, and this 70.
 */
export class DeliveryContext implements HandlerContext {
  readonly [RUN]: ContextSource;
  declare readonly signal: AbortSignal;
  declare readonly log: Logger;
  declare rawBody: Buffer;
  readonly headers: IncomingHttpHeaders;
  readonly attempt: number;
  readonly keyIndex: number;
  /** Only set if the event does not fit. */
  declare readonly issues?: readonly Issue[] | undefined;

  constructor(run: ContextSource, delivery: Delivery, { attempt, context }: Attempt) {
    // First, because a store may add to the context, and must not replace any of it.
    if (context) Object.assign(this, context);
    this[RUN] = run;
    // Only bytes that may be kept are copied, which takes a getter.
    if (delivery.letter) Object.defineProperty(this, 'rawBody', RAW_BODY);
    else this.rawBody = delivery.rawBody;
    this.headers = delivery.headers;
    this.attempt = attempt;
    this.keyIndex = delivery.keyIndex ?? 0;
    const { issues } = delivery;
    if (issues || (context && 'issues' in this)) this.issues = issues;
    Object.defineProperty(this, 'signal', SIGNAL);
    Object.defineProperty(this, 'log', LOG);
  }
}
