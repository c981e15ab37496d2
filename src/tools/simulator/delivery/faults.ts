// The active faults: which attempts they apply to, and how often.
import { z } from 'zod';
import { isMap } from '../../../events/envelope.js';
import { isEventPattern, matchesEvent } from '../../../events/event-pattern.js';
import { didYouMean } from '../../../misuse.js';
import { HttpError } from '../../web/http-error.js';
import type { Randomness } from '../randomness.js';
import { readFields } from '../read-fields.js';

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
  /** How many attempts get the fault. @default 1 */
  readonly times?: number | 'always';
  /** The probability that an attempt gets the fault, above 0 and at most 1. @default 1 */
  readonly probability?: number;
  /** How long `delay` and `reorder` (by the simulator's clock) and `slow_body` (real time) take. @default 5000, 5000, 2000 */
  readonly delayMs?: number | null;
}

/** An active fault. */
export interface Fault extends Required<FaultRule> {
  readonly id: string;
  remaining: number | 'always';
}

const MAX_DELAY_MS = 7 * 86_400_000;

const isFrom = (least: number, most: number) => (value: unknown) =>
  typeof value === 'number' && value >= least && value <= most;
const isCount = (value: unknown) => value === 'always' || (Number.isInteger(value) && isFrom(1, 1e9)(value));

export const faultRule = z.object({
  kind: z.enum(faultKinds, {
    error: ({ input }) =>
      `The kind must be one of ${faultKinds.join(', ')}.${didYouMean(String(input), faultKinds)}`,
  }),
  event: z
    .custom<string>(isEventPattern, 'The event must be an event name or a pattern such as "transaction.*".')
    .nullable()
    .default(null),
  webhook: z.string('The webhook must be the id of a webhook.').nullable().default(null),
  times: z.custom<number | 'always'>(isCount, 'The times must be "always" or an integer from 1.').default(1),
  probability: z
    .custom<number>(isFrom(Number.MIN_VALUE, 1), 'The probability must be above 0 and at most 1.')
    .default(1),
  delayMs: z
    .custom<number>(isFrom(0, MAX_DELAY_MS), 'The delayMs must be between 0 and 7 days, in milliseconds.')
    .nullable()
    .default(null),
});

export type Faults = ReturnType<typeof faultList>;

export function faultList(randomness: Randomness, changed: () => void) {
  const faults = new Map<string, Fault>();
  return {
    list: (): Fault[] => [...faults.values()].map((fault) => ({ ...fault })),

    /** @param given an untrusted rule @throws {HttpError} with the errors of every field */
    add(given: unknown): Fault {
      if (!isMap(given)) throw new HttpError(422, "The fault must be an object such as { kind: 'drop' }.");
      const rule: Required<FaultRule> = readFields(faultRule, given);
      const fault = { id: randomness.uuid(), ...rule, remaining: rule.times };
      faults.set(fault.id, fault);
      changed();
      return { ...fault };
    },

    restore(fault: Fault): void {
      faults.set(fault.id, { ...fault });
    },

    remove(id: string): boolean {
      const known = faults.delete(id);
      if (known) changed();
      return known;
    },

    clear(): void {
      faults.clear();
      changed();
    },

    /** The first fault that applies to this attempt; counts as one of its `times`. */
    pick(eventName: string, webhookId: string, except: readonly FaultKind[]) {
      const fault = [...faults.values()].find(
        ({ kind, webhook, event, probability }) =>
          !except.includes(kind) &&
          (webhook === null || webhook === webhookId) &&
          (event === null || matchesEvent(event, eventName)) &&
          randomness.chance(probability),
      );
      if (!fault) return undefined;
      const { id, kind, delayMs } = fault;
      if (fault.remaining !== 'always') {
        fault.remaining -= 1;
        if (fault.remaining === 0) faults.delete(id);
        changed();
      }
      return { kind, delayMs, postponed: false };
    },
  };
}
