// The event types, and the registry of declared events.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { ConfigurationError } from '../errors.js';
import { show } from '../misuse.js';
import { isEventName } from './envelope.js';
import { ownSchema } from './issues.js';
import { withSchemas } from './load-schemas.js';
import { fitsTransactionPaid, type TransactionPaidPayload } from './transaction.js';

/** Payload types of the events that the service documents, by name. */
export interface BuiltInPayloads {
  'transaction.paid': TransactionPaidPayload;
}

/** Nearly every payload passes the fast check. zod only checks the others. */
const transactionPaid: StandardSchemaV1 = ownSchema({
  '~standard': {
    version: 1,
    vendor: 'payment-webhooks',
    validate: (payload) =>
      fitsTransactionPaid(payload)
        ? { value: payload }
        : withSchemas(({ transactionPaidPayload }) => transactionPaidPayload['~standard'].validate(payload)),
  },
});

const BUILT_IN: Readonly<Record<keyof BuiltInPayloads, StandardSchemaV1>> = {
  'transaction.paid': transactionPaid,
};

/** Names of the events that the service documents. */
export const builtInEventNames = Object.keys(BUILT_IN) as (keyof BuiltInPayloads)[];

/** The `events` option: a Standard Schema (zod, valibot, arktype, …) for the payload of each further event. */
export type EventSchemas = Readonly<Record<string, StandardSchemaV1>>;

type Declared<Events extends EventSchemas> = {
  [Name in keyof Events & string]: StandardSchemaV1.InferOutput<Events[Name]>;
};

/** Payload types by name: the built-in ones, then those that `events` adds or replaces. */
export type Payloads<Events extends EventSchemas = {}> = Omit<BuiltInPayloads, keyof Declared<Events>> &
  Declared<Events>;

/** Name of a declared event. */
export type EventName<Events extends EventSchemas = {}> = keyof Payloads<Events> & string;

/**
 * The event of that name.
 *
 * @example
 * function ship(event: EventOf<'transaction.paid'>) { return event.payload.transaction.order_id; }
 */
export type EventOf<Name extends EventName<Events>, Events extends EventSchemas = {}> = Name extends string
  ? {
      /** Unique identifier of the event. We assume that it stays the same on every retry; that is not documented. */
      id: string;
      /** `<event_resource>.<event_action>`. */
      event_name: Name;
      /** Whether the event was triggered in the sandbox. We assume that no money moved then; that is not documented. */
      sandbox: boolean;
      payload: Payloads<Events>[Name];
    }
  : never;

/** Every declared event: a union discriminated by `event_name`. */
export type WebhookEvent<Events extends EventSchemas = {}> = EventOf<EventName<Events>, Events>;

/** A transaction was paid. */
export type TransactionPaid = EventOf<'transaction.paid'>;

/** An authentic event whose name is not declared. It is not part of {@link WebhookEvent}, so that narrowing stays exact. */
export interface UnknownEvent {
  id: string;
  event_name: string;
  sandbox: boolean;
  payload: { [key: string]: unknown };
}

const UNKNOWN = Symbol.for('payment-webhooks.unknown-event');

/** Marks an event as undeclared with a property that JSON and equality checks do not see. */
export function markUnknown<Event extends object>(event: Event): Event {
  return Object.defineProperty(event, UNKNOWN, { value: true });
}

/**
 * Whether an event that `constructEvent` of `payment-webhooks/verify` returned is a declared one; narrows it to the union.
 *
 * @example
 * const event = constructEvent({ rawBody, signature, privateKey });
 * if (isKnown(event)) console.log(event.payload.transaction.order_id);
 */
export function isKnown<Event extends { event_name: string }>(event: Event): event is Known<Event> {
  return !(UNKNOWN in event);
}

/** Decided by the name, because a declared event also has the shape of an {@link UnknownEvent}. */
type Known<Event extends { event_name: string }> = Event extends unknown
  ? string extends Event['event_name']
    ? never
    : Event
  : never;

/** Schemas of the declared events by name. A Map: a name from a body must never index a plain object. */
export type EventRegistry = ReadonlyMap<string, StandardSchemaV1>;

/** @throws {ConfigurationError} for a name that is not `<resource>.<action>`, or a value that is not a schema */
export function declareEvents(
  events: readonly (readonly [name: string, schema: StandardSchemaV1])[] = [],
): EventRegistry {
  const registry = new Map<string, StandardSchemaV1>(Object.entries(BUILT_IN));
  for (const [name, schema] of events) {
    if (!isEventName(name) || name.includes('*')) {
      throw new ConfigurationError(
        `events has the name ${show(name)}. Pass <resource>.<action>, such as "refund.succeeded".`,
      );
    }
    if (typeof schema?.['~standard']?.validate !== 'function') {
      throw new ConfigurationError(
        `events[${show(name)}] is ${show(schema)}. Pass a Standard Schema for its payload: zod, valibot, arktype, …`,
      );
    }
    registry.set(name, schema);
  }
  return registry;
}
