// The faults in force: which deliveries they apply to, and how often.
import { ConfigurationError } from '../../errors.js';
import { didYouMean } from '../../options/nearest-name.js';
import { isEventPattern, matchesEvent } from '../event-pattern.js';
import type { Randomness } from '../randomness.js';

/** Every kind of fault. */
export const faultKinds = [
  'duplicate',
  'reorder',
  'delay',
  'truncate_body',
  'tamper_body',
  'reserialize_body',
  'wrong_key',
  'missing_signature',
  'uppercase_signature',
  'slow_body',
  'reset_connection',
  'drop',
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** Which attempts a fault applies to, and how. */
export interface FaultRule {
  readonly kind: FaultKind;
  /** Only deliveries of this event: a name or a pattern. @default every event */
  readonly event?: string | null;
  /** Only deliveries to the webhook with this id. @default every webhook */
  readonly webhook?: string | null;
  /** How many attempts. @default 1 */
  readonly times?: number | 'always';
  /** The probability that an attempt gets the fault, above 0 and at most 1. @default 1 */
  readonly probability?: number;
  /** For `delay` and `reorder`, on the simulator's clock, and `slow_body`, in real time. @default 5000, 5000, 2000 */
  readonly delayMs?: number | null;
}

/** A fault in force. */
export interface Fault {
  readonly id: string;
  readonly kind: FaultKind;
  readonly event: string | null;
  readonly webhook: string | null;
  readonly times: number | 'always';
  remaining: number | 'always';
  readonly probability: number;
  readonly delayMs: number | null;
}

/** Error messages by field. */
export type FieldErrors = Record<string, string[]>;

const MAX_DELAY_MS = 7 * 86_400_000;

export class Faults {
  readonly #randomness: Randomness;
  readonly #changed: () => void;
  readonly #faults = new Map<string, Fault>();

  /** @param changed called after every change */
  constructor(randomness: Randomness, changed: () => void) {
    this.#randomness = randomness;
    this.#changed = changed;
  }

  list(): Fault[] {
    return [...this.#faults.values()].map((fault) => ({ ...fault }));
  }

  /** The rule must have passed {@link faultErrors}. */
  add({ kind, event = null, webhook = null, times = 1, probability = 1, delayMs = null }: FaultRule): Fault {
    const id = this.#randomness.uuid();
    const fault = { id, kind, event, webhook, times, remaining: times, probability, delayMs };
    this.#faults.set(id, fault);
    this.#changed();
    return { ...fault };
  }

  /** Adds a fault from a state file. */
  restore(fault: Fault): void {
    this.#faults.set(fault.id, { ...fault });
  }

  remove(id: string): boolean {
    const known = this.#faults.delete(id);
    if (known) this.#changed();
    return known;
  }

  clear(): void {
    if (this.#faults.size === 0) return;
    this.#faults.clear();
    this.#changed();
  }

  /** The first fault that applies to this attempt; counts as one of its `times`. */
  pick(eventName: string, webhookId: string, except: readonly FaultKind[]): Fault | undefined {
    for (const fault of this.#faults.values()) {
      if (except.includes(fault.kind)) continue;
      if (fault.webhook !== null && fault.webhook !== webhookId) continue;
      if (fault.event !== null && !matchesEvent(fault.event, eventName)) continue;
      if (!this.#randomness.chance(fault.probability)) continue;
      if (fault.remaining !== 'always') {
        fault.remaining -= 1;
        if (fault.remaining === 0) this.#faults.delete(fault.id);
        this.#changed();
      }
      return fault;
    }
    return undefined;
  }
}

/** The errors in a rule from an untrusted source; undefined for a valid one. */
export function faultErrors(
  rule: { readonly [Field in keyof FaultRule]?: unknown },
): FieldErrors | undefined {
  const { kind, event, webhook, times = 1, probability = 1, delayMs } = rule;
  const errors: FieldErrors = {};
  const check = (field: string, valid: boolean, expected: string) => {
    if (!valid) errors[field] = [`The ${field} must be ${expected}.`];
  };
  if (!faultKinds.includes(kind as FaultKind)) {
    const hint = typeof kind === 'string' ? didYouMean(kind, faultKinds) : '';
    errors.kind = [`The kind must be one of ${faultKinds.join(', ')}.${hint}`];
  }
  check(
    'event',
    event == null || isEventPattern(event),
    'an event name or a pattern such as "transaction.*"',
  );
  check('webhook', webhook == null || typeof webhook === 'string', 'the id of a webhook');
  check(
    'times',
    times === 'always' || (Number.isInteger(times) && isBetween(times, 1, 1e9)),
    '"always" or a whole number from 1',
  );
  check('probability', isBetween(probability, Number.MIN_VALUE, 1), 'above 0 and at most 1');
  check('delayMs', delayMs == null || isBetween(delayMs, 0, MAX_DELAY_MS), 'milliseconds from 0 to 7 days');
  return Object.keys(errors).length > 0 ? errors : undefined;
}

/** @throws {ConfigurationError} with all errors in the rule */
export function assertFaultRule(rule: FaultRule): void {
  const errors = faultErrors(rule);
  if (errors) throw new ConfigurationError(Object.values(errors).flat().join(' '));
}

function isBetween(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}
