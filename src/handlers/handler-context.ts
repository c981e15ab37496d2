// The context that a handler is given with its event.
import type { IncomingHttpHeaders } from 'node:http';
import type { Delivery } from '../deliveries/delivery.js';
import { ConfigurationError, type Issue } from '../errors.js';
import type { EventNames } from '../events/envelope.js';
import type { Logger } from '../logger.js';
import type { HandlerContext } from './handler.js';

// Registered, because a queue may be loaded by the other module system than the receiver.
const RUN = Symbol.for('payment-webhooks.run');

/** What a context reads from its call. */
interface ContextSource {
  readonly event: EventNames | undefined;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly rawBody: Buffer;
  /** Called for a `once` that does not exist. @returns the error to throw */
  refuseOnce(): ConfigurationError;
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

  /** @param added by the store */
  constructor(run: ContextSource, delivery: Delivery, attempt: number, added: object | undefined) {
    // First, because a store may add to the context, and must not replace any of it.
    if (added) Object.defineProperties(this, Object.getOwnPropertyDescriptors(added));
    this[RUN] = run;
    // Only bytes that may be kept are copied, which takes a getter.
    if (delivery.letter) Object.defineProperty(this, 'rawBody', RAW_BODY);
    else this.rawBody = delivery.rawBody;
    this.headers = delivery.headers;
    this.attempt = attempt;
    this.keyIndex = delivery.keyIndex ?? 0;
    const { issues } = delivery;
    if (issues || (added && 'issues' in this)) this.issues = issues;
    Object.defineProperty(this, 'signal', SIGNAL);
    Object.defineProperty(this, 'log', LOG);
  }

  /** For stores that add no `once`, and for handlers without a name. A getter, because handlers take it out of the context. */
  get once(): () => never {
    const run = this[RUN];
    return () => {
      throw run.refuseOnce();
    };
  }

  /** @throws {ConfigurationError} */
  get transaction(): never {
    throw new ConfigurationError(NO_TRANSACTION);
  }
}

export const NO_ONCE =
  'once() needs an inbox in the database of its writes, by a client with transactions: postgresInbox(), sqlInbox() or sqliteInbox(). In unit tests use fakeOnce() of payment-webhooks/testing.';
const NO_TRANSACTION =
  'context.transaction does not exist. Use once: await once(async (tx) => { … }) commits your writes exactly once.';

export const ONCE_UNNAMED =
  "once() needs a handler with a name, by which its writes are remembered: hooks.on(pattern, handler, { name: 'mark-paid' }).";
