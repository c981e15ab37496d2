// Makes events happen: from a name and what a person wants changed about the sample.
import { ConfigurationError } from '../errors.js';
import { envelope } from '../events/envelope.js';
import type { BuiltInPayloads, EventOf } from '../events/event.js';
import { type DeepPartial, fixtures, samplePayload } from '../fixtures/fixture.js';
import type { HappenedEvent, PlannedFault } from './delivery.js';
import type { FaultKind } from './fault-kinds.js';
import { type FaultRule, faultErrors } from './faults.js';
import { Refusal } from './refusal.js';

/** What is laid over the sample event, as deep as it goes. */
export type Overrides<Name extends string = string> = Name extends keyof BuiltInPayloads
  ? DeepPartial<EventOf<Name>>
  : { readonly id?: string; readonly sandbox?: boolean; readonly payload?: object };

/** What a trigger asks for besides the event. */
export interface TriggerOptions {
  /** How many events. @default 1 */
  readonly count?: number;
  /** A fault for these deliveries alone. */
  readonly fault?: FaultKind | Pick<FaultRule, 'kind' | 'delayMs'>;
}

/** A checked trigger. */
export interface Trigger {
  readonly name: string;
  readonly overrides: object;
  readonly payload: object | undefined;
  readonly count: number;
  readonly fault: Omit<PlannedFault, 'postponed'> | undefined;
}

const MOST_AT_ONCE = 1_000;

/** @throws {Refusal} for what cannot be triggered; the values may come from anywhere */
export function readTrigger(fields: { readonly [field: string]: unknown }): Trigger {
  const { event_name, overrides = {}, payload, sandbox, count = 1, fault } = fields;
  if (sandbox !== undefined && typeof sandbox !== 'boolean')
    throw Refusal.invalid({ sandbox: ['The sandbox field must be true or false.'] });
  if (!isFields(overrides)) throw Refusal.invalid({ overrides: ['The overrides must be an object.'] });
  if (payload !== undefined && !isFields(payload))
    throw Refusal.invalid({ payload: ['The payload must be an object.'] });
  if (!Number.isInteger(count) || Number(count) < 1 || Number(count) > MOST_AT_ONCE)
    throw Refusal.invalid({ count: [`The count must be a whole number from 1 to ${MOST_AT_ONCE}.`] });
  return {
    name: typeof event_name === 'string' ? event_name : '',
    overrides: sandbox === undefined ? overrides : { ...overrides, sandbox },
    payload,
    count: Number(count),
    fault: readFault(fault),
  };
}

/**
 * The events of a trigger, which differ in their ids alone. Their bytes are made here and never again.
 *
 * @param newId where the trigger gives none
 * @throws {Refusal} when the result would be no event object
 */
export function composeEvents(trigger: Trigger, newId: () => string): HappenedEvent[] {
  const given: { id?: unknown } = trigger.overrides;
  const event = eventOf(trigger);
  const result = envelope.safeParse(event);
  if (!result.success) {
    const { path, message } = result.error.issues[0] ?? { path: [], message: '' };
    throw Refusal.invalid({ overrides: [`The event's ${path.join('.')} does not fit: ${message}.`] });
  }
  const { event_name: name, sandbox } = result.data;
  return Array.from({ length: trigger.count }, () => {
    const id = given.id === undefined ? newId() : result.data.id;
    return { id, name, sandbox, body: Buffer.from(JSON.stringify({ ...event, id }), 'utf8') };
  });
}

function eventOf({ name, payload, overrides }: Trigger): object {
  try {
    return fixtures.event(name, payload ?? samplePayload(name) ?? {}, overrides);
  } catch (error) {
    throw ConfigurationError.is(error) ? Refusal.invalid({ event_name: [error.message] }) : error;
  }
}

function readFault(fault: unknown): Trigger['fault'] {
  if (fault === undefined || fault === null) return undefined;
  const rule: { kind?: unknown; delayMs?: unknown } = isFields(fault) ? fault : { kind: fault };
  const errors = faultErrors({ kind: rule.kind, delayMs: rule.delayMs });
  if (errors) throw Refusal.invalid({ fault: Object.values(errors).flat() });
  const { kind, delayMs } = rule as FaultRule;
  return { kind, delayMs: delayMs ?? null };
}

function isFields(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
