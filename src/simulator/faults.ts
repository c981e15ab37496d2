// Deliberate faults: what an unlucky network, a broken sender or an attacker would do to a delivery.
import { ConfigurationError } from '../errors.js';
import { didYouMean } from '../nearest-name.js';
import type { DeliveryEntry } from './delivery.js';
import { isEventPattern, matchesEvent } from './event-pattern.js';
import { type FaultKind, faultKinds } from './fault-kinds.js';
import type { Ledger } from './ledger.js';
import type { Randomness } from './randomness.js';

/** Which attempts a fault damages, and how. */
export interface FaultRule {
  readonly kind: FaultKind;
  /** Only deliveries of this event: a name or a pattern. @default every event */
  readonly event?: string | null;
  /** Only deliveries to the webhook with this id. @default every webhook */
  readonly webhook?: string | null;
  /** How many attempts. @default 1 */
  readonly times?: number | 'always';
  /** How likely an attempt is damaged, above 0 and at most 1. @default 1 */
  readonly probability?: number;
  /** For `delay` and `reorder`, on the simulator's clock, and `slow_body`, in real time. @default 5000, 5000, 2000 */
  readonly delayMs?: number | null;
}

/** A fault that is in force. */
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

/** What is wrong with a rule, by field. */
export type FieldErrors = Record<string, string[]>;

const MOST_DELAY = 7 * 86_400_000;

export class Faults {
  readonly #ledger: Ledger;
  readonly #randomness: Randomness;
  readonly #faults = new Map<string, Fault>();

  constructor(ledger: Ledger, randomness: Randomness) {
    this.#ledger = ledger;
    this.#randomness = randomness;
  }

  list(): Fault[] {
    return [...this.#faults.values()].map((fault) => ({ ...fault }));
  }

  /** The rule must have passed {@link faultErrors}. */
  add({ kind, event, webhook, times = 1, probability = 1, delayMs }: FaultRule): Fault {
    const scope = { event: event ?? null, webhook: webhook ?? null };
    const id = this.#randomness.uuid();
    const fault = { id, kind, ...scope, times, remaining: times, probability, delayMs: delayMs ?? null };
    this.#faults.set(id, fault);
    this.#ledger.tell({ kind: 'faults' });
    return { ...fault };
  }

  /** Puts back a fault from a snapshot. */
  restore(fault: Fault): void {
    this.#faults.set(fault.id, { ...fault });
  }

  remove(id: string): boolean {
    const known = this.#faults.delete(id);
    if (known) this.#ledger.tell({ kind: 'faults' });
    return known;
  }

  clear(): void {
    if (this.#faults.size === 0) return;
    this.#faults.clear();
    this.#ledger.tell({ kind: 'faults' });
  }

  /** The fault that damages this attempt, used up once; the first one in force that fits. */
  pick(delivery: DeliveryEntry, without: readonly FaultKind[]): Fault | undefined {
    for (const fault of this.#faults.values()) {
      if (without.includes(fault.kind) || !fits(fault, delivery)) continue;
      if (!this.#randomness.chance(fault.probability)) continue;
      if (fault.remaining !== 'always') {
        fault.remaining -= 1;
        if (fault.remaining === 0) this.#faults.delete(fault.id);
        this.#ledger.tell({ kind: 'faults' });
      }
      return fault;
    }
    return undefined;
  }
}

/** What is wrong with a rule; undefined when nothing is. The values may come from anywhere. */
export function faultErrors(
  rule: { readonly [Field in keyof FaultRule]?: unknown },
): FieldErrors | undefined {
  const errors: FieldErrors = {};
  const refuse = (field: string, fine: boolean, expected: string) => {
    if (!fine) errors[field] = [`The ${field} must be ${expected}.`];
  };
  const { kind, event, webhook, times = 1, probability = 1, delayMs } = rule;
  if (!faultKinds.includes(kind as FaultKind)) errors.kind = [unknownKind(kind)];
  refuse('event', event == null || isEventPattern(event), 'an event name or a pattern like "transaction.*"');
  refuse('webhook', webhook == null || typeof webhook === 'string', 'the id of a webhook');
  refuse(
    'times',
    times === 'always' || isNumberIn(times, 1, 1e9, Number.isInteger),
    '"always" or at least 1',
  );
  refuse('probability', isNumberIn(probability, Number.MIN_VALUE, 1), 'above 0 and at most 1');
  refuse('delayMs', delayMs == null || isNumberIn(delayMs, 0, MOST_DELAY), 'milliseconds from 0 to 7 days');
  return Object.keys(errors).length > 0 ? errors : undefined;
}

/** @throws {ConfigurationError} with everything that is wrong with the rule */
export function refuseFault(rule: FaultRule): void {
  const errors = faultErrors(rule);
  if (errors) throw new ConfigurationError(Object.values(errors).flat().join(' '));
}

function unknownKind(kind: unknown): string {
  const guess = typeof kind === 'string' ? didYouMean(kind, faultKinds) : '';
  return `The kind must be one of ${faultKinds.join(', ')}.${guess}`;
}

function isNumberIn(value: unknown, least: number, most: number, also = Number.isFinite): boolean {
  return typeof value === 'number' && also(value) && value >= least && value <= most;
}

function fits(fault: Fault, { event, webhookId }: DeliveryEntry): boolean {
  if (fault.webhook !== null && fault.webhook !== webhookId) return false;
  return fault.event === null || matchesEvent(fault.event, event.name);
}
