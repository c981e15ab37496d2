// Registers handlers by pattern, and finds the handlers of an event.
import type { IdempotencyStore } from '../contracts/idempotency-store.js';
import { ConfigurationError, EventError } from '../errors.js';
import { type Decoded, isEventName } from '../events/envelope.js';
import { didYouMean, refuseUnknownOptions, show } from '../misuse.js';
import type { Outcome } from '../observer.js';
import type { HandlerOptions } from './handler.js';

/** A registered handler, without the types of the public methods. */
export interface Registration {
  /** As given, else the function's own name, else the pattern. */
  readonly name: string;
  /** The key under which its success is remembered across attempts; undefined for a handler without a given name. */
  readonly completionKey: string | undefined;
  /**
   * The key under which its writes inside `once` are remembered; undefined if nothing names it. That it is the only handler of
   * an event does not: with a second one its key would change.
   */
  readonly onceKey: string | undefined;
  readonly fn: (subject: never, context: never) => unknown;
  /** Handlers with the same value never run at the same time. */
  readonly serial: ((subject: never) => unknown) | undefined;
}

/** The serial value of each handler with the option `serial`. */
export type SerialValues = ReadonlyMap<Registration, string>;

/** The handlers of one event. */
export interface MatchedHandlers {
  /** In the order of registration. */
  readonly handlers: readonly Registration[];
  /** What they are called with. */
  readonly subject: unknown;
  /** The outcome if all of them succeed. */
  readonly outcome: Outcome;
  /** Handlers with an equal value run one after another. */
  readonly serialValues?: SerialValues | undefined;
}

/** Where a handler is registered. */
interface Site {
  /** For errors. */
  readonly call: string;
  /** The handler's name if neither the option nor the function gives one. */
  readonly pattern: string;
  /**
   * Distinguishes handlers of the same name: between two attempts an app may start to declare the event, or to accept its
   * payload. No name contains a space.
   */
  readonly kind?: 'unknown ' | 'invalid ';
}

const HANDLER_NAME = /^[!-~]{1,64}$/;

export class Handlers {
  readonly #declared: ReadonlyMap<string, Registration[]>;
  readonly #unknown: Registration[] = [];
  readonly #invalid: Registration[] = [];
  readonly #store: IdempotencyStore<object> | false | undefined;
  #sealed = false;

  /** @param store whose locks handlers with `serial` need */
  constructor(eventNames: Iterable<string>, store: IdempotencyStore<object> | false | undefined) {
    this.#store = store;
    this.#declared = new Map([...eventNames].map((name) => [name, []]));
  }

  match({ status, event, rejection }: Decoded): MatchedHandlers {
    switch (status) {
      case 'declared':
        return { handlers: this.#declared.get(event.event_name) ?? [], subject: event, outcome: 'processed' };
      case 'unknown':
        return { handlers: this.#unknown, subject: event, outcome: 'processed' };
      case 'invalid':
        return {
          handlers: this.#invalid,
          subject: new EventError(rejection?.issues ?? []),
          outcome: 'ignored',
        };
      case 'undecided':
      case 'drifted':
      case 'ignored':
        return { handlers: [], subject: event, outcome: 'ignored' };
    }
  }

  /** After the first delivery, no handler can be added: what happens to an event must not depend on when it arrives. */
  seal(): void {
    this.#sealed = true;
  }

  /** A handler of an object: its pattern is its own, so `once` knows it by that. */
  onPattern(pattern: string, handler: unknown): void {
    const registration = this.#register({ call: `on(${show(pattern)})`, pattern }, handler);
    add({ ...registration, onceKey: pattern }, this.#matchingLists(pattern));
  }

  on(pattern: string, handler: unknown, options?: HandlerOptions): void {
    const registration = this.#register({ call: `on(${show(pattern)})`, pattern }, handler, options);
    add(registration, this.#matchingLists(pattern));
  }

  onUnknown(handler: unknown, options?: HandlerOptions): void {
    const site = { call: 'onUnknown()', pattern: 'onUnknown', kind: 'unknown ' } as const;
    add(this.#register(site, handler, options), [this.#unknown]);
  }

  onInvalid(handler: unknown, options?: HandlerOptions): void {
    const site = { call: 'onInvalid()', pattern: 'onInvalid', kind: 'invalid ' } as const;
    add(this.#register(site, handler, options), [this.#invalid]);
  }

  #matchingLists(pattern: string): Registration[][] {
    if (typeof pattern !== 'string' || (pattern !== '*' && !isEventName(pattern))) {
      throw new ConfigurationError(
        `${show(pattern)} is not an event name or pattern. Pass <resource>.<action>, <resource>.* or *.`,
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

  #register({ call, pattern, kind }: Site, handler: unknown, options?: HandlerOptions): Registration {
    if (this.#sealed) {
      throw new ConfigurationError(
        `${call} was called after the first delivery. Register every handler before listening.`,
      );
    }
    if (typeof handler !== 'function') {
      throw new ConfigurationError(
        `${call} was given ${show(handler)}. Pass a function (event, context) => ….`,
      );
    }
    if (isGenerator(handler)) {
      throw new ConfigurationError(
        `${call} was given a generator function, which does not run when it is called. Pass async (event, context) => ….`,
      );
    }
    if (ANSWERS_REQUEST.test(Function.prototype.toString.call(handler))) {
      throw new ConfigurationError(
        `${call} was given a function (req, res). Handlers receive (event, context); the receiver answers the request.`,
      );
    }
    const { name, serial } = checkOptions(call, options);
    if (serial && !this.#store)
      throw new ConfigurationError(`${call} has serial, which needs a store. Remove store: false.`);
    if (serial && this.#store && typeof this.#store.lock !== 'function')
      throw new ConfigurationError(
        `${call} has serial, which needs lock() of the store, and this store has none. Add lock() to it, or remove serial.`,
      );
    const fn = handler as Registration['fn'];
    const completionKey = name === undefined ? undefined : `${kind ?? ''}${name}`;
    return { name: name ?? (handler.name || pattern), completionKey, onceKey: completionKey, fn, serial };
  }
}

/** The parameters of a request handler. Such a function may resolve without having read the event, which would be lost. */
const ANSWERS_REQUEST =
  /^(?:async\s+)?(?:function\s*)?[\w$]*\s*\(\s*_?req(?:uest)?\s*,\s*_?res(?:ponse)?\s*[,)]/;

/** A call of such a function only returns an iterator, so its event would be answered 200 and never be handled. */
function isGenerator(handler: object): boolean {
  return Object.prototype.toString.call(handler).includes('Generator');
}

/** Refuses typos: without a name, a handler would run again on every retry. */
function checkOptions(call: string, options: HandlerOptions = {}): HandlerOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new ConfigurationError(
      `${call} was given the options ${show(options)}. Pass an object such as { name: 'receipt' }.`,
    );
  }
  refuseUnknownOptions(options, ['name', 'serial'], `${call}: `);
  const { name, serial } = options;
  if (name !== undefined && (typeof name !== 'string' || !HANDLER_NAME.test(name))) {
    throw new ConfigurationError(
      `${call} has the name ${show(name)}. Pass 1 to 64 printable ASCII characters.`,
    );
  }
  if (serial !== undefined && typeof serial !== 'function') {
    throw new ConfigurationError(
      `${call} has serial ${show(serial)}. Pass a function that returns a string: (event) => event.payload.….`,
    );
  }
  return options;
}

/** Adds it to all of the lists, or to none. */
function add(registration: Registration, lists: readonly Registration[][]): void {
  const { name, onceKey, fn } = registration;
  if (lists.flat().some((other) => other.fn === fn)) {
    throw new ConfigurationError(
      `One function is registered twice for the same event ("${name}"), so each delivery would run it twice. Register it once.`,
    );
  }
  if (onceKey !== undefined && lists.flat().some((other) => other.onceKey === onceKey)) {
    throw new ConfigurationError(
      `Two handlers of one event are named "${onceKey.split(' ').at(-1)}": on a retry the receiver could not tell which of them had succeeded. Give each its own name.`,
    );
  }
  for (const list of lists) list.push(registration);
}
