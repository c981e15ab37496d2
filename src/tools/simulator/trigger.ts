// Creates events from an event name and changes to the sample event.
import { ConfigurationError } from '../../errors.js';
import { envelope } from '../../events/envelope.js';
import type { BuiltInPayloads, EventOf } from '../../events/event.js';
import { type DeepPartial, fixtures, samplePayload } from '../../fixtures/fixture.js';
import { HttpError } from '../pages/http-error.js';
import { type FaultKind, type FaultRule, faultRule } from './delivery/faults.js';
import type { PlannedFault, SimulatedEvent } from './delivery/simulated-delivery.js';
import { isHeaderName } from './settings.js';

/** Changes that are deep-merged into the sample event. */
export type Overrides<Name extends string = string> = Name extends keyof BuiltInPayloads
  ? DeepPartial<EventOf<Name>>
  : { readonly id?: string; readonly sandbox?: boolean; readonly payload?: object };

/** Options of `trigger()`. */
export interface TriggerOptions {
  /** How many events. @default 1 */
  readonly count?: number;
  /** A fault for only these deliveries. */
  readonly fault?: FaultKind | Pick<FaultRule, 'kind' | 'delayMs'>;
  /** The name of the signature header of these deliveries. @default the `signatureHeader` of the simulator */
  readonly signatureHeader?: string;
}

export interface Trigger {
  readonly name: string;
  readonly overrides: object;
  readonly payload: object | undefined;
  readonly count: number;
  readonly fault: PlannedFault | undefined;
  readonly signatureHeader: string | undefined;
}

const MAX_COUNT = 1_000;

const plannedFault = faultRule.pick({ kind: true, delayMs: true });

/** Validates untrusted fields. @throws {HttpError} for an invalid field */
export function readTrigger(fields: { readonly [field: string]: unknown }): Trigger {
  const { event_name, overrides = {}, payload, sandbox, count = 1, fault } = fields;
  const { signature_header: signatureHeader } = fields;
  if (sandbox !== undefined && typeof sandbox !== 'boolean')
    throw HttpError.invalid({ sandbox: ['The sandbox field must be true or false.'] });
  if (!isObject(overrides)) throw HttpError.invalid({ overrides: ['The overrides must be an object.'] });
  if (payload !== undefined && !isObject(payload))
    throw HttpError.invalid({ payload: ['The payload must be an object.'] });
  if (!Number.isInteger(count) || Number(count) < 1 || Number(count) > MAX_COUNT)
    throw HttpError.invalid({ count: [`The count must be a whole number from 1 to ${MAX_COUNT}.`] });
  if (signatureHeader !== undefined && !isHeaderName(signatureHeader))
    throw HttpError.invalid({
      signature_header: ['The signature_header must be the name of an HTTP header.'],
    });
  return {
    name: typeof event_name === 'string' ? event_name : '',
    overrides: sandbox === undefined ? overrides : { ...overrides, sandbox },
    payload,
    count: Number(count),
    fault: readFault(fault),
    signatureHeader,
  };
}

/**
 * Creates events that differ only in their ids. Each is serialized here, once.
 *
 * @param newId called unless the overrides have an id
 * @throws {HttpError} if the result is not a valid event object
 */
export function createEvents(trigger: Trigger, newId: () => string): SimulatedEvent[] {
  const given: { id?: unknown } = trigger.overrides;
  const event = sampleEvent(trigger);
  const result = envelope.safeParse(event);
  if (!result.success) {
    const { path, message } = result.error.issues[0] ?? { path: [], message: '' };
    throw HttpError.invalid({ overrides: [`The event's ${path.join('.')} is invalid: ${message}.`] });
  }
  const { event_name: name, sandbox } = result.data;
  const { signatureHeader } = trigger;
  return Array.from({ length: trigger.count }, () => {
    const id = given.id === undefined ? newId() : result.data.id;
    const body = Buffer.from(JSON.stringify({ ...event, id }), 'utf8');
    return { id, name, sandbox, body, signatureHeader };
  });
}

function sampleEvent({ name, payload, overrides }: Trigger): object {
  try {
    return fixtures.event(name, payload ?? samplePayload(name) ?? {}, overrides);
  } catch (error) {
    throw ConfigurationError.is(error) ? HttpError.invalid({ event_name: [error.message] }) : error;
  }
}

function readFault(fault: unknown): PlannedFault | undefined {
  if (fault === undefined || fault === null) return undefined;
  const result = plannedFault.safeParse(isObject(fault) ? fault : { kind: fault });
  if (result.success) return { ...result.data, postponed: false };
  throw HttpError.invalid({ fault: result.error.issues.map(({ message }) => message) });
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
