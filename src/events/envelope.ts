// What every event carries, whatever its name (spec: Webhook event object).
import { z } from 'zod';
import type { Fault } from '../errors.js';

/** The fields that stand around every payload. */
export interface Envelope {
  /** Unique identifier of the event; the same on every repetition of its delivery. 1–255 characters. */
  id: string;
  /** `<event_resource>.<event_action>`, such as `transaction.paid`. */
  event_name: string;
  /** Whether the event was triggered in the sandbox environment: no money moved. */
  sandbox: boolean;
  payload: object;
}

/**
 * - `declared`: validated, and one of the union.
 * - `unknown`: authentic, but nobody declared its name.
 * - `invalid`: a declared name, with a payload that does not fit.
 * - `ignored`: the sandbox policy wants no handler to see it.
 */
export interface Decoded {
  readonly status: 'declared' | 'unknown' | 'invalid' | 'ignored';
  readonly event: Envelope;
  /** Keys that could replace a prototype were in the body; they are not in the event. */
  readonly keysDropped: boolean;
  /** With `invalid`. */
  readonly fault?: Fault;
}

const PRINTABLE = /^[!-~]{1,255}$/;
const NAME = /^[!-~]+\.[!-~]+$/;

/** Whether a text is `<resource>.<action>`, the documented pattern of event names. */
export function isEventName(text: string): boolean {
  return text.length <= 255 && NAME.test(text);
}

/**
 * An identifier: printable ASCII, so that it survives every store, log and header unchanged. A NUL would
 * poison Postgres, and two different lone surrogates would become one key.
 */
export const identifier = z.string().regex(PRINTABLE, 'expected 1 to 255 printable ASCII characters');

export const envelope = z.looseObject({
  id: identifier,
  event_name: z.string().refine(isEventName, 'expected <resource>.<action> in printable ASCII'),
  sandbox: z.boolean(),
  payload: z.custom<object>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'expected object',
  ),
});
