// Creates events from an event name and changes to the sample event.
import { z } from 'zod';
import { ConfigurationError } from '../../errors.js';
import { type Envelope, isMap } from '../../events/envelope.js';
import type { BuiltInPayloads, EventOf } from '../../events/event.js';
import { envelope } from '../../events/schemas.js';
import { type DeepPartial, fixtures, samplePayload } from '../../fixtures/fixture.js';
import { isHeaderName } from '../../signature.js';
import { HttpError } from '../web/http-error.js';
import { type FaultKind, type FaultRule, faultRule } from './delivery/faults.js';
import type { SimulatedEvent } from './delivery/simulated-delivery.js';

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

const MAX_COUNT = 1_000;
const isCount = (value: unknown) =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_COUNT;

const plannedFault = faultRule
  .pick({ kind: true, delayMs: true })
  .transform((fault) => ({ ...fault, postponed: false }));

export const triggerFields = z.object({
  event_name: z.string().catch(''),
  overrides: z.custom<DeepPartial<Envelope>>(isMap, 'The overrides must be an object.').default({}),
  payload: z.custom<object>(isMap, 'The payload must be an object.').optional(),
  sandbox: z.boolean('The sandbox field must be true or false.').optional(),
  count: z.custom<number>(isCount, `The count must be an integer from 1 to ${MAX_COUNT}.`).default(1),
  fault: z.preprocess((fault) => (isMap(fault) ? fault : { kind: fault }), plannedFault).nullish(),
  signature_header: z
    .custom<string>(isHeaderName, 'The signature_header must be the name of an HTTP header.')
    .optional(),
});

type Trigger = z.infer<typeof triggerFields>;

/**
 * Creates events that differ only in their ids. Each is serialized here, once.
 *
 * @param newId called unless the overrides have an id
 * @throws {HttpError} if the result is not a valid event object
 */
export function createEvents(trigger: Trigger, newId: () => string): SimulatedEvent[] {
  const { count, overrides, signature_header: signatureHeader } = trigger;
  const event = sampleEvent(trigger);
  const result = envelope.safeParse(event);
  if (!result.success) {
    const { path, message } = result.error.issues[0] ?? { path: [], message: '' };
    const reason = message.replace(/^Invalid input: /, '');
    throw HttpError.invalid({ overrides: [`The event's ${path.join('.')} is invalid: ${reason}.`] });
  }
  const { event_name: name, sandbox } = result.data;
  return Array.from({ length: count }, () => {
    const id = overrides.id === undefined ? newId() : result.data.id;
    const body = Buffer.from(JSON.stringify({ ...event, id }), 'utf8');
    return { id, name, sandbox, body, signatureHeader };
  });
}

function sampleEvent({ event_name: name, payload, overrides, sandbox }: Trigger): object {
  const changes = sandbox === undefined ? overrides : { ...overrides, sandbox };
  try {
    return fixtures.event(name, payload ?? samplePayload(name) ?? {}, changes);
  } catch (error) {
    throw ConfigurationError.is(error) ? HttpError.invalid({ event_name: [error.message] }) : error;
  }
}
