// Which handlers an event has: patterns are resolved to names when a handler is registered.
import type { IncomingHttpHeaders } from 'node:http';
import { ConfigurationError, EventError } from './errors.js';
import { type Decoded, isEventName } from './events/envelope.js';
import type { EventName, EventOf, EventSchemas } from './events/event.js';
import type { Logger } from './logger.js';
import { didYouMean } from './nearest-name.js';
import type { Outcome } from './observer.js';
import { show } from './option-checks.js';

/** What a handler is given beside the event. A store may add to it (`transaction`). */
export interface HandlerContext {
  /** Aborts when the delivery has been answered 503 because of `timeout`, or when its claim was lost. */
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
}

/**
 * Works on an event. What it returns is ignored, and a promise is awaited before the 2xx. One that throws or
 * rejects makes the service deliver again.
 *
 * @example
 * const ship: Handler<'transaction.paid'> = async (event, { signal }) => {
 *   await orders.markPaid(event.payload.transaction.order_id, { signal });
 * };
 */
export type Handler<Event = EventName, Extra extends object = {}> = (
  event: Event extends EventName ? EventOf<Event> : Event,
  context: HandlerContext & Extra,
) => unknown;

export interface HandlerOptions {
  /** Once a named handler has succeeded it is not run again on a retry of the same event. */
  readonly name?: string;
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

/** A handler as registered, free of the types that the public methods hold it to. */
export interface Registration {
  /** As given, else the function's own name, else the pattern. */
  readonly name: string;
  /** Whether success is remembered across attempts. */
  readonly named: boolean;
  readonly run: (subject: never, context: never) => unknown;
}

/** The handlers of one event, what they are given, and the outcome when all of them resolve. */
export interface Recipients {
  readonly handlers: readonly Registration[];
  readonly subject: unknown;
  readonly outcome: Outcome;
}

/** Where a handler is registered, for errors; and what it is called when it has no name of its own. */
interface Site {
  readonly call: string;
  readonly pattern: string;
}

const HANDLER_NAME = /^[!-~]{1,64}$/;

export class Handlers {
  readonly #declared: ReadonlyMap<string, Registration[]>;
  readonly #unknown: Registration[] = [];
  readonly #invalid: Registration[] = [];
  #sealed = false;

  constructor(eventNames: Iterable<string>) {
    this.#declared = new Map([...eventNames].map((name) => [name, []]));
  }

  /** Who is to work on it, in the order of registration; on what; and what it comes to when all succeed. */
  recipients({ status, event, fault }: Decoded): Recipients {
    switch (status) {
      case 'declared':
        return { handlers: this.#declared.get(event.event_name) ?? [], subject: event, outcome: 'processed' };
      case 'unknown':
        return { handlers: this.#unknown, subject: event, outcome: 'processed' };
      case 'invalid':
        return { handlers: this.#invalid, subject: new EventError(fault?.issues ?? []), outcome: 'ignored' };
      case 'ignored':
        return { handlers: [], subject: event, outcome: 'ignored' };
    }
  }

  /** From the first delivery on, what happens to an event must not depend on when it arrives. */
  seal(): void {
    this.#sealed = true;
  }

  on(pattern: string, handler: unknown, options?: HandlerOptions): void {
    const registration = this.#register({ call: `on(${show(pattern)})`, pattern }, handler, options);
    const lists = this.#match(pattern);
    for (const list of lists) refuseSameName(list, registration);
    for (const list of lists) list.push(registration);
  }

  onUnknown(handler: unknown, options?: HandlerOptions): void {
    const site = { call: 'onUnknown()', pattern: 'onUnknown' };
    const registration = this.#register(site, handler, options);
    refuseSameName(this.#unknown, registration);
    this.#unknown.push(registration);
  }

  onInvalid(handler: unknown, options?: HandlerOptions): void {
    const site = { call: 'onInvalid()', pattern: 'onInvalid' };
    const registration = this.#register(site, handler, options);
    refuseSameName(this.#invalid, registration);
    this.#invalid.push(registration);
  }

  #match(pattern: string): Registration[][] {
    if (typeof pattern !== 'string' || (pattern !== '*' && !isEventName(pattern))) {
      throw new ConfigurationError(
        `${show(pattern)} is no event name or pattern; give <resource>.<action>, <resource>.* or *.`,
      );
    }
    const prefix = pattern.endsWith('.*') ? pattern.slice(0, -1) : undefined;
    const names = [...this.#declared.keys()].filter(
      (name) => pattern === '*' || name === pattern || (prefix !== undefined && name.startsWith(prefix)),
    );
    if (names.length > 0) return names.map((name) => this.#declared.get(name) ?? []);
    const declared = [...this.#declared.keys()];
    const patterns = declared.map((name) => `${name.slice(0, name.indexOf('.'))}.*`);
    throw new ConfigurationError(
      `No declared event matches "${pattern}".${didYouMean(pattern, [...declared, ...patterns])} ` +
        `Declare it under the option events, or use onUnknown(). Declared: ${declared.join(', ')}.`,
    );
  }

  #register({ call, pattern }: Site, handler: unknown, options?: HandlerOptions): Registration {
    if (this.#sealed) {
      throw new ConfigurationError(
        `${call} came after the first delivery. Register every handler before listening.`,
      );
    }
    if (typeof handler !== 'function') {
      throw new ConfigurationError(
        `${call} was given ${show(handler)}; give a function (event, context) => ….`,
      );
    }
    const name = nameOf(call, options);
    const run = handler as Registration['run'];
    return { name: name ?? (handler.name || pattern), named: name !== undefined, run };
  }
}

/** Refuses a slip: without its name a handler would run again on every retry. */
function nameOf(call: string, options: HandlerOptions = {}): string | undefined {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ConfigurationError(
      `${call} was given the options ${show(options)}; give an object such as { name: 'receipt' }.`,
    );
  }
  const unknown = Object.keys(options).find((option) => option !== 'name');
  if (unknown !== undefined) {
    throw new ConfigurationError(`${call}: Unknown option "${unknown}".${didYouMean(unknown, ['name'])}`);
  }
  const { name } = options;
  if (name === undefined || (typeof name === 'string' && HANDLER_NAME.test(name))) return name;
  throw new ConfigurationError(
    `${call} has the name ${show(name)}; give 1 to 64 printable ASCII characters.`,
  );
}

function refuseSameName(list: readonly Registration[], { name, named }: Registration): void {
  if (!named || !list.some((other) => other.named && other.name === name)) return;
  throw new ConfigurationError(
    `Two handlers of one event are named "${name}": on a retry nobody could tell which of them had succeeded.`,
  );
}
