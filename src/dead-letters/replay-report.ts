// What a replay comes to: how each letter ended, in all and for each name of an event.
import type { Issue } from '../errors.js';

/** How many letters ended in which way. */
export interface ReplayCounts {
  /** Every handler succeeded; the letter is removed. */
  readonly processed: number;
  /** A handler failed, or the claim was not granted; the letter stays. */
  readonly failed: number;
  /** Nobody declares its name; the letter stays. */
  readonly stillUnknown: number;
  /** It does not fit its schema; the letter stays. */
  readonly stillInvalid: number;
  /** Another delivery or replay works on the event; the letter stays. */
  readonly inProgress: number;
  /** The event was processed before; the letter is removed, and no handler ran. */
  readonly duplicates: number;
  /** An event of the same id was processed with other bytes; the letter stays, for somebody to look at. */
  readonly conflicts: number;
  /** No handler wants it, or the option `sandbox` does not; the letter stays. */
  readonly ignored: number;
  /** What the store has is not what was kept; the letter stays. */
  readonly unreadable: number;
  /** Its private key is not configured; the letter stays: replay with `keys: 'any'`, or discard it if the key has leaked. */
  readonly keyNotConfigured: number;
  /** It was processed or discarded while the replay was on its way. */
  readonly gone: number;
}

export type ReplayEnd = keyof ReplayCounts;

/** The letters of one name. */
export interface ReplayedEvents extends ReplayCounts {
  readonly eventName: string;
  /** Where payloads do not fit their schema, and in how many letters. */
  readonly issues: readonly { readonly path: string; readonly count: number }[];
}

/** With `dryRun` each count says what would happen, as far as decoding tells: `processed` are those that have a handler. */
export interface ReplayReport extends ReplayCounts {
  readonly dryRun: boolean;
  readonly events: readonly ReplayedEvents[];
  /** Why it ended before the last letter; the others can be replayed later. */
  readonly stopped?: 'aborted' | 'closing';
}

type Counts = Record<ReplayEnd, number>;

const NONE: Readonly<Counts> = {
  processed: 0,
  failed: 0,
  stillUnknown: 0,
  stillInvalid: 0,
  inProgress: 0,
  duplicates: 0,
  conflicts: 0,
  ignored: 0,
  unreadable: 0,
  keyNotConfigured: 0,
  gone: 0,
};

export class ReplayTally {
  readonly counts: Counts = { ...NONE };
  done = 0;
  readonly #events = new Map<string, { readonly counts: Counts; readonly issues: Map<string, number> }>();

  add(eventName: string, end: ReplayEnd, issues: readonly Issue[] = []): void {
    const event = this.#events.get(eventName) ?? { counts: { ...NONE }, issues: new Map() };
    this.#events.set(eventName, event);
    this.done += 1;
    this.counts[end] += 1;
    event.counts[end] += 1;
    const paths = new Set(issues.map(({ path }) => path));
    for (const path of paths) event.issues.set(path, (event.issues.get(path) ?? 0) + 1);
  }

  report(dryRun: boolean, stopped: ReplayReport['stopped']): ReplayReport {
    const events = [...this.#events].map(([eventName, { counts, issues }]) => ({
      eventName,
      ...counts,
      issues: [...issues].map(([path, count]) => ({ path, count })),
    }));
    return { ...this.counts, dryRun, events, ...(stopped && { stopped }) };
  }
}
