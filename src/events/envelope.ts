// The fields that every event has (spec: Webhook event object).
import type { Issue, Rejection } from '../errors.js';

/** The fields around every payload. */
export interface Envelope {
  /**
   * Unique identifier of the event, of 1 to 255 characters. We assume that it stays the same on every retry; that is
   * not documented.
   */
  id: string;
  /** `<event_resource>.<event_action>`, such as `transaction.paid`. */
  event_name: string;
  /** Whether the event was triggered in the sandbox. We assume that no money moved then; that is not documented. */
  sandbox: boolean;
  payload: object;
}

/** What identifies an event. A copy, because handlers may modify the event. */
export type EventNames = Readonly<Pick<Envelope, 'id' | 'event_name' | 'sandbox'>>;

/**
 * - `declared`: its name is declared. Its payload fits, unless it has `issues`.
 * - `unknown`: its name is not declared.
 * - `invalid`: its name is declared, and its payload does not fit.
 * - `undecided`: its name is declared, and its schema threw or took too long.
 * - `drifted`: authentic, but not of the documented shape. Its id is the digest of its bytes.
 * - `ignored`: the option `sandbox` excludes it.
 */
export interface Decoded {
  readonly status: 'declared' | 'unknown' | 'invalid' | 'undecided' | 'drifted' | 'ignored';
  readonly event: Envelope;
  /** Whether the body had `__proto__` or `constructor` keys, which are not in the event. */
  readonly keysDropped: boolean;
  /** Paths of documented integers that JSON.parse has rounded. */
  readonly rounded?: readonly string[] | undefined;
  /** With `invalid`, `undecided` and `drifted`. */
  readonly rejection?: Rejection;
  /** Where the event does not fit: with `invalid` and `drifted`, and with `declared` if handlers get it nevertheless. */
  readonly issues?: readonly Issue[];
}

const MAX_LENGTH = 255;
/** Of any length: with `{1,255}` the same test takes twice as long. */
const PRINTABLE = /^[!-~]+$/;
const NAME = /^[!-~]+\.[!-~]+$/;

/** Whether a text is `<resource>.<action>`, the documented pattern of event names. */
export function isEventName(text: string): boolean {
  return text.length <= MAX_LENGTH && NAME.test(text);
}

/**
 * An identifier: printable ASCII, so that every store, log and header keeps it unchanged. Postgres refuses a NUL,
 * and two different lone surrogates would become one key.
 */
export function isIdentifier(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_LENGTH && PRINTABLE.test(value);
}

/** A JSON object that is not an array. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same check as `envelope` in schemas.ts, without copying the event. zod is only used to say what is wrong. */
export function isEnvelope(value: unknown): value is Envelope {
  if (!isMap(value)) return false;
  const { id, event_name: name, sandbox, payload } = value;
  return (
    isIdentifier(id) &&
    typeof name === 'string' &&
    isEventName(name) &&
    typeof sandbox === 'boolean' &&
    isMap(payload)
  );
}
