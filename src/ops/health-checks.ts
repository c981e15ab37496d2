// The checks of a receiver's health: a name, whether it is ok, a value, and what to fix.

import type { Reachable } from '../deliveries/receiver-stats.js';
import type { DeadLetterCount } from '../stores/letters/count-letters.js';
import type { HealthRules } from './health-options.js';

/** One check. Nothing in it comes from outside. */
export interface HealthCheck {
  readonly name:
    | 'closing'
    | 'silence'
    | 'refused'
    | 'store'
    | 'deadLetterStore'
    | 'deadLetters'
    | 'deadLetterAge';
  readonly ok: boolean;
  /** Seconds, a share from 0 to 1, a number of letters, or a word; null when it is not known. */
  readonly value: number | string | boolean | null;
  /** The largest value that is ok; null without a limit. */
  readonly threshold: number | null;
  /** What to do, as a sentence. */
  readonly advice: string;
}

export interface HealthReport {
  readonly status: 'ok' | 'failing' | 'closing';
  /** When the latest authentic delivery arrived in this process, as an ISO date; null before the first one. */
  readonly lastDelivery: string | null;
  readonly checks: readonly HealthCheck[];
}

/** With fewer deliveries a share says little: a single stray request could be 100%. */
const MIN_SAMPLE = 20;
const NOTHING_TO_DO = 'Nothing to do.';

type Measured = Omit<HealthCheck, 'name' | 'threshold'> & { readonly threshold?: number | undefined };

function check(name: HealthCheck['name'], { value, threshold, ok, advice }: Measured): HealthCheck {
  return { name, ok, value, threshold: threshold ?? null, advice: ok ? NOTHING_TO_DO : advice };
}

const NOT_KNOWN = 'Not known: the store does not answer.';
const NOT_COUNTED = 'Not known: the store did not count its letters in time. Raise timeout of health().';

function within(value: number | null, threshold: number | undefined): boolean {
  return threshold === undefined || (value !== null && value <= threshold);
}

export function closingCheck(closing: boolean): HealthCheck {
  const advice = 'The receiver is closing and refuses deliveries. Send them to another process.';
  return check('closing', { value: closing, ok: !closing, advice });
}

/** @param ms since the latest authentic delivery, or since the start before the first */
export function silenceCheck(ms: number, { silence }: HealthRules): HealthCheck {
  return check('silence', {
    value: Math.floor(ms / 1_000),
    threshold: silence === undefined ? undefined : silence / 1_000,
    ok: within(ms, silence),
    advice:
      'No authentic delivery has arrived for too long. Check that the webhook is active at the service, and that its URL ' +
      'reaches this process.',
  });
}

/** Snapshots per window: the precision of the share. */
const PARTS = 60;

interface Counted {
  readonly authentic: number;
  readonly refused: number;
}

interface Snapshot extends Counted {
  /** Milliseconds by the monotonic clock. */
  readonly at: number;
}

/** The share of recent deliveries with a wrong signature, from two counters that only grow. */
export class RefusedShare {
  readonly #window: number;
  /** Oldest first. The first is from the start of the window, or the oldest there is. */
  #snapshots: Snapshot[];

  /** @param window milliseconds */
  constructor(window: number, startedAt: number) {
    this.#window = window;
    this.#snapshots = [{ at: startedAt, authentic: 0, refused: 0 }];
  }

  /** In the last window, or since the last call if that is longer ago. */
  since({ authentic, refused }: Counted, now: number): Counted {
    const outside = this.#snapshots.findLastIndex(({ at }) => now - at >= this.#window);
    this.#snapshots = this.#snapshots.slice(Math.max(outside, 0));
    const first = this.#snapshots[0];
    const last = this.#snapshots.at(-1);
    if (!last || now - last.at >= this.#window / PARTS) this.#snapshots.push({ at: now, authentic, refused });
    return { authentic: authentic - (first?.authentic ?? 0), refused: refused - (first?.refused ?? 0) };
  }
}

export function refusedCheck(
  { authentic, refused }: Counted,
  { refused: maxShare }: HealthRules,
): HealthCheck {
  const all = authentic + refused;
  const share = all === 0 ? null : refused / all;
  return check('refused', {
    value: share === null ? null : Number(share.toFixed(3)),
    threshold: maxShare,
    ok: all < MIN_SAMPLE || within(share, maxShare),
    advice:
      'Too many deliveries have a wrong signature. Compare the private key with that of the service, and check that no proxy ' +
      'changes bodies. Anyone can send unsigned requests, so look at who sends them.',
  });
}

/** @param reached undefined when it did not answer in time */
export function storeCheck(reached: Reachable | undefined): HealthCheck {
  const value = reached ?? 'unreachable';
  const advice =
    'The idempotency store does not answer or cannot be used, so deliveries are answered 503. The log names the cause.';
  const result = check('store', { value, ok: value !== 'unreachable', advice });
  if (value !== 'unknown') return result;
  return { ...result, advice: 'Add a ping() method to your store, so that this check can call it.' };
}

/** @param count undefined when the store did not count them in time */
export function letterChecks(
  reached: boolean,
  count: DeadLetterCount | undefined,
  { deadLetters: maxLetters, deadLetterAge: maxAgeMs }: HealthRules,
): HealthCheck[] {
  const value = reached ? 'reachable' : 'unreachable';
  const advice =
    'The dead-letter store does not answer, so an event that cannot be processed is answered 503. Check its server and ' +
    'the network.';
  const findOutWhy =
    'Find out why with the dead-letter page or hooks.deadLetters.list(), fix it, and replay them.';
  const letters = count ? lettersIn(count) : null;
  const ageMs = count ? ageOf(count) : null;
  const checks = [
    check('deadLetters', {
      value: letters,
      threshold: maxLetters,
      ok: within(letters, maxLetters),
      advice: `Too many events were not processed. ${findOutWhy}`,
    }),
    check('deadLetterAge', {
      value: ageMs === null ? null : Math.floor(ageMs / 1_000),
      threshold: maxAgeMs === undefined ? undefined : maxAgeMs / 1_000,
      ok: within(ageMs, maxAgeMs),
      advice: `An event has been waiting for too long. ${findOutWhy}`,
    }),
  ];
  return [
    check('deadLetterStore', { value, ok: reached, advice }),
    ...(count ? checks : checks.map((unknown) => unknownCheck(unknown, reached))),
  ];
}

/** A store that is down is the finding, and what it has is not. One that counts too slowly must not pass for one with few letters. */
function unknownCheck(unknown: HealthCheck, reached: boolean): HealthCheck {
  return reached ? { ...unknown, advice: NOT_COUNTED } : { ...unknown, ok: true, advice: NOT_KNOWN };
}

/** Not the `unfinished` letters of the journal, which are being processed. If their process died, their age shows it. */
function lettersIn({ groups }: DeadLetterCount): number {
  return groups.reduce((sum, { reason, count }) => sum + (reason === 'unfinished' ? 0 : count), 0);
}

/** 0 without letters, or if the clock of the store is ahead. */
function ageOf({ oldest }: DeadLetterCount): number {
  return oldest ? Math.max(Date.now() - oldest.getTime(), 0) : 0;
}
