// Calls a store for one delivery: claim, lock, renew, complete, release.
import { setTimeout as pause } from 'node:timers/promises';
import type { ErrorCode } from '../errors.js';
import type { Logger } from '../logger.js';
import { type ClaimAnswer, type GrantedClaim, readClaimAnswer, readLockAnswer } from './claim-answer.js';
import type { IdempotencyStore, JoinableLetters, Lock } from './idempotency-store.js';
import { lockOf } from './lock-of-claim.js';
import { type Answer, StoreFailure, TimedCalls } from './timed-calls.js';

/** Three tries to complete within two seconds, however fast each fails: a server that restarts is back by then. */
const TRIES = 3;
const EVERY_MS = 700;
const COMPLETE_MS = 600;

const UNANSWERED = 'the store did not answer';

/** The caller. Failures go to its log, and `abort` tells its handlers that the claim is lost. */
export interface Claimant {
  readonly log: Logger;
  abort(code: ErrorCode): void;
}

/** All times in milliseconds. */
export interface StoreRules {
  readonly lease: number;
  readonly maxHandlerTime: number;
  readonly storeTimeout: number;
  /** Dead letters that the store removes in its commits. */
  readonly joined?: JoinableLetters | undefined;
}

/** No method rejects. */
export class StoreCalls extends TimedCalls<Claimant> {
  readonly rules: StoreRules;
  readonly #store: IdempotencyStore<object>;
  #claimed: readonly [key: string, fingerprint: string] | undefined;

  constructor(store: IdempotencyStore<object>, claimant: Claimant, rules: StoreRules) {
    super(claimant, rules.storeTimeout);
    this.#store = store;
    this.rules = rules;
  }

  claim(key: string, fingerprint: string): Answer<ClaimAnswer> {
    const { lease: leaseMs, joined: deadLetters } = this.rules;
    this.#claimed = [key, fingerprint];
    const call = () => this.#store.claim(key, { leaseMs, fingerprint, deadLetters });
    return this.#request('claim', call, readClaimAnswer, (answer) => {
      if (answer.status !== 'claimed') return false;
      void this.call(() => answer.claim.release(answer.finished));
      return true;
    });
  }

  /** A store without locks is asked for a claim instead. @returns undefined while another caller has the lock */
  lock(key: string): Answer<Lock | undefined> {
    const { lease } = this.rules;
    const store = this.#store;
    const call = () =>
      store.lock ? store.lock(key, lease) : lockOf((request) => store.claim(key, request), lease);
    return this.#request('lock', call, readLockAnswer, (lock) => {
      if (!lock) return false;
      void this.call(() => lock.release());
      return true;
    });
  }

  /**
   * Requests a claim or a lock. Nobody works under one that comes too late, so it is given back: the next delivery need not
   * wait for its lease.
   *
   * @param giveBack releases what the answer grants; false if it grants nothing
   */
  #request<Granted>(
    what: 'claim' | 'lock',
    call: () => unknown,
    read: (answer: unknown) => Granted | StoreFailure,
    giveBack: (answer: Granted) => boolean,
  ): Answer<Granted> {
    const { lease } = this.rules;
    const calledAt = performance.now();
    const check = (given: unknown) => {
      const ms = performance.now() - calledAt;
      const answer = read(given);
      // After its lease another delivery may have the event.
      if (ms < lease || answer instanceof StoreFailure || !giveBack(answer)) return answer;
      return new StoreFailure(
        `It granted the ${what} after ${Math.round(ms)} ms, when its lease of ${lease} ms had ended.`,
      );
    };
    return this.checkedCall(UNANSWERED, call, check, giveBack);
  }

  async unlock(lock: Lock): Promise<void> {
    await this.checkedCall('lock not released, so its lease will lapse', () => lock.release());
  }

  renew(claim: Pick<Lock, 'renew'>): Answer<boolean> {
    const call = () => claim.renew(this.rules.lease);
    return this.checkedCall('the claim was not renewed', call, (answer) => checkBoolean('renew', answer));
  }

  /**
   * True once the event is remembered, false if the claim is lost. In lease mode it is tried up to three times before the
   * lease ends. A commit is tried once, since its outcome does not change.
   *
   * @param onLate called if the store reports success after the deadline
   */
  async complete(
    { claim, transactional }: GrantedClaim,
    lease: { readonly expired: boolean },
    onLate?: () => unknown,
  ): Promise<boolean | StoreFailure> {
    const { storeTimeout } = this.rules;
    const timeout = transactional ? storeTimeout : Math.min(storeTimeout, COMPLETE_MS);
    const late = (answer: unknown) => answer === true && onLate?.();
    const tryOnce = () => this.call(() => claim.complete(), late, timeout);
    const most = transactional ? 1 : TRIES;
    let answer = checkBoolean('complete', await tryOnce());
    for (let tried = 1; answer instanceof StoreFailure && tried < most && !lease.expired; tried += 1) {
      await pause(Math.max(this.calledAt + EVERY_MS - performance.now(), 0));
      answer = checkBoolean('complete', await tryOnce());
    }
    if (answer instanceof StoreFailure)
      this.logFailure(transactional ? UNANSWERED : 'processed, but not remembered', answer);
    return answer;
  }

  /**
   * @returns false if the store says that another caller has the event now. True also if it did not answer: then the lease
   *   lapses
   */
  async release({ claim }: GrantedClaim, finished: readonly string[]): Promise<boolean> {
    const call = () => claim.release(finished);
    return (await this.checkedCall('claim not released, so its lease will lapse', call)) !== false;
  }

  /**
   * Whether another delivery has completed the event. A transactional store is asked with one more claim, which waits for a
   * commit that is about to happen, and is then rolled back. In lease mode a claim could take the event from an owner whose
   * lease has lapsed, so the store is only read.
   *
   * @returns the fingerprint with which the event is completed, if it is
   */
  async completedWith({ transactional }: GrantedClaim): Promise<string | undefined> {
    if (!this.#claimed) return undefined;
    const [key, fingerprint] = this.#claimed;
    if (!transactional) {
      const completed = await this.checkedCall(UNANSWERED, () => this.#store.completedWith?.(key));
      return typeof completed === 'string' ? completed : undefined;
    }
    const answer = await this.claim(key, fingerprint);
    if (answer instanceof StoreFailure) return undefined;
    if (answer.status === 'claimed') await this.release(answer, answer.finished);
    return answer.status === 'completed' ? answer.fingerprint : undefined;
  }
}

function checkBoolean(verb: 'renew' | 'complete', answer: unknown): boolean | StoreFailure {
  if (typeof answer === 'boolean' || answer instanceof StoreFailure) return answer;
  return new StoreFailure(`Its answer to ${verb}() is neither true nor false.`);
}
