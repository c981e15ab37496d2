// What a handler is: a function of an event, and the patterns by which events are chosen for it.
import type { IncomingHttpHeaders } from 'node:http';
import type { EventError, Issue } from '../errors.js';
import type { EventName, EventOf, EventSchemas } from '../events/event.js';
import type { Logger } from '../logger.js';

/** What a handler is given with the event. A store may add to it (`transaction`). */
export interface HandlerContext {
  /**
   * Aborts when the delivery was answered 503 because of `timeout`, or when its claim was lost. A handler that took it
   * and returns after the abort counts as failed, and a retry runs it again: the receiver cannot tell whether it
   * finished or gave up. So throw when it aborts, or pass it to `fetch` and the like, which reject. A copy of the whole context
   * takes it too. A handler that never takes it may still complete the event, however late.
   * @example signal.throwIfAborted();
   */
  readonly signal: AbortSignal;
  /** A logger bound to the event's id and name. */
  readonly log: Logger;
  /** The body exactly as it was received and signed. */
  readonly rawBody: Buffer;
  readonly headers: IncomingHttpHeaders;
  /** 1 for the first attempt at this event, and rising: a fencing number for writes elsewhere. */
  readonly attempt: number;
  /** Which of the configured keys signed the delivery, counted from 0. */
  readonly keyIndex: number;
  /**
   * Where the payload does not fit its schema: then the event is as it came, and its type promises more than it has.
   * Undefined where it fits; an event that does not fit reaches its handlers with `drift: 'handle'` only.
   * @example if (issues) await orders.markForReview(event.id, issues);
   */
  readonly issues?: readonly Issue[] | undefined;
}

/**
 * Works on an event. What it returns is ignored, and a promise is awaited before the 2xx. When it throws or
 * rejects the delivery is answered 500, which asks the service for a retry.
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

/** What `onInvalid` handlers are given: where the payload does not fit, and the bytes to keep. */
export type InvalidHandler<Extra extends object = {}> = Handler<EventError, Extra>;

export interface HandlerOptions<Subject = unknown> {
  /** Once a named handler has succeeded it is not run again on a retry of the same event. */
  readonly name?: string;
  /**
   * Handlers for which this returns the same text never run at the same time, in any process that shares the store. A
   * delivery that would have to wait for longer than `timeout` is answered 503. The order of events stays that of
   * their arrival: it is not restored. Needs a store.
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

/** Names of the declared events that a pattern stands for. */
export type Matching<P extends string, Events extends EventSchemas = {}> = P extends '*'
  ? EventName<Events>
  : P extends `${infer Resource}.*`
    ? Extract<EventName<Events>, `${Resource}.${string}`>
    : Extract<EventName<Events>, P>;
