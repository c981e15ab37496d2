// The types of handlers, their context and options, and the patterns that select their events.
import type { IncomingHttpHeaders } from 'node:http';
import type { EventError, Issue } from '../errors.js';
import type { EventName, EventOf, EventSchemas } from '../events/event.js';
import type { Logger } from '../logger.js';

/** What a handler gets with the event. A store may add to it (`once`). */
export interface HandlerContext {
  /**
   * Aborts when the delivery is answered 503 because of `timeout`, or when its claim is lost. A handler that has read this
   * property and returns after the abort counts as failed, and a retry runs it again: the receiver cannot tell whether it
   * finished or gave up. So throw when it aborts, or pass it to `fetch` and the like, which reject. Copying the whole context
   * reads it too. A handler that never reads it may still complete the event, however late.
   * @example signal.throwIfAborted();
   */
  readonly signal: AbortSignal;
  /** A logger bound to the event's id and name. */
  readonly log: Logger;
  /** The body exactly as it was received and signed. */
  readonly rawBody: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** 1 for the first attempt at this event, and higher for each later one. A fencing token for writes to other systems. */
  readonly attempt: number;
  /** Which of the configured keys signed the delivery, counted from 0. */
  readonly keyIndex: number;
  /**
   * Where the payload does not match its schema. The event is then as received, and fields that its type promises may be
   * missing. Undefined if it matches. Handlers get an event that does not match only with `drift: 'handle'`.
   * @example if (issues) await orders.markForReview(event.id, issues);
   */
  readonly issues?: readonly Issue[] | undefined;
}

/**
 * Handles an event. Its return value is ignored, but a promise is awaited before the 2xx. If it throws or rejects, the
 * delivery is answered 500, which asks the service for a retry.
 *
 * @example
 * const ship: Handler<'transaction.paid'> = async (event, { signal }) => {
 *   await orders.markPaid(event.payload.transaction.order_id, { signal });
 * };
 */
export type Handler<Event = EventName, Extra extends object = {}> = HandlerOf<
  Event extends EventName ? EventOf<Event> : Event,
  Extra
>;

// An interface, because the compiler compares two uses of one function alias by their type arguments alone, and
// would take a handler of `'transaction.paid'` for another than one of `TransactionPaid`.
interface HandlerOf<Event, Extra extends object> {
  // biome-ignore lint/style/useShorthandFunctionType: see above
  (event: Event, context: HandlerContext & Extra): unknown;
}

/** Called with an error that says where the payload does not match its schema; `context.rawBody` has the bytes. */
export type InvalidHandler<Extra extends object = {}> = Handler<EventError, Extra>;

export interface HandlerOptions<Subject = unknown> {
  /**
   * A named handler that has succeeded does not run again when the same event is retried. If it has written inside `once`, it
   * may run one more time, and `once` then skips its writes.
   */
  readonly name?: string;
  /**
   * Handlers for which this returns the same text never run at the same time, in any process that shares the store. A
   * delivery that would have to wait longer than `timeout` is answered 503. It does not restore the order of events that
   * arrive out of order. Needs a store.
   * @example { serial: (event) => event.payload.transaction.order_id }
   */
  serial?(event: Subject): string;
}

/** `transaction.paid`, `transaction.*` or `*`. */
export type Pattern<Events extends EventSchemas = {}> =
  | EventName<Events>
  | '*'
  | (EventName<Events> extends infer Name
      ? Name extends `${infer Resource}.${string}`
        ? `${Resource}.*`
        : never
      : never);

/** Names of the declared events that match a pattern. */
export type Matching<P extends string, Events extends EventSchemas = {}> = P extends '*'
  ? EventName<Events>
  : P extends `${infer Resource}.*`
    ? Extract<EventName<Events>, `${Resource}.${string}`>
    : Extract<EventName<Events>, P>;
