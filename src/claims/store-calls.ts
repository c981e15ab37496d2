// Calls a store for one delivery, and checks the answers.
import { setTimeout as pause } from 'node:timers/promises';
import type { ErrorCode } from '../errors.js';
import type { Logger } from '../logger.js';
import { type ClaimAnswer, type GrantedClaim, readClaimAnswer, readLockAnswer } from './claim-answer.js';
import type { IdempotencyStore, JoinableLetters, Lock } from './idempotency-store.js';
import { lockOf } from './lock-of-claim.js';
import { StoreFailure, TimedCalls } from './timed-calls.js';

/** Three tries to complete within two seconds, however fast each fails: a server that restarts is back by then. */
const TRIES = 3;
const EVERY_MS = 700;
const COMPLETE_MS = 600;

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
    super(claimant);
    this.#store = store;
    this.rules = rules;
  }

  async claim(key: string, fingerprint: string): Promise<ClaimAnswer | StoreFailure> {
    const { lease: leaseMs, storeTimeout, joined: deadLetters } = this.rules;
    this.#claimed = [key, fingerprint];
    const calledAt = performance.now();
    const called = await this.call<unknown>(
      () => this.#store.claim(key, { leaseMs, fingerprint, deadLetters }),
      storeTimeout,
      (late) => this.#giveBack(readClaimAnswer(late)),
    );
    const ms = performance.now() - calledAt;
    let answer = readClaimAnswer(called);
    if (ms >= leaseMs && isGranted(answer)) {
      this.#giveBack(answer);
      answer = grantedTooLate('claim', ms, leaseMs);
    }
    if (answer instanceof StoreFailure) this.logFailure('the store did not answer', answer);
    return answer;
  }

  /** A store without locks is asked for a claim instead. @returns undefined while another caller has the lock */
  async lock(key: string): Promise<Lock | undefined | StoreFailure> {
    const { lease, storeTimeout } = this.rules;
    const store = this.#store;
    const calledAt = performance.now();
    const called = await this.call<unknown>(
      () => (store.lock ? store.lock(key, lease) : lockOf((request) => store.claim(key, request), lease)),
      storeTimeout,
      (late) => this.#unlock(readLockAnswer(late)),
    );
    const ms = performance.now() - calledAt;
    let lock = readLockAnswer(called);
    if (ms >= lease && lock && !(lock instanceof StoreFailure)) {
      this.#unlock(lock);
      lock = grantedTooLate('lock', ms, lease);
    }
    if (lock instanceof StoreFailure) this.logFailure('the store did not answer', lock);
    return lock;
  }

  async unlock(lock: Lock): Promise<void> {
    const answer = await this.call(() => lock.release(), this.rules.storeTimeout);
    if (answer instanceof StoreFailure) this.logFailure('lock not released, so its lease will lapse', answer);
  }

  async renew(claim: Pick<Lock, 'renew'>): Promise<boolean | StoreFailure> {
    const answer = checkBoolean(
      'renew',
      await this.call(() => claim.renew(this.rules.lease), this.rules.storeTimeout),
    );
    if (answer instanceof StoreFailure) this.logFailure('the claim was not renewed', answer);
    return answer;
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
    const tryOnce = () => this.call(() => claim.complete(), timeout, late);
    const most = transactional ? 1 : TRIES;
    let answer = checkBoolean('complete', await tryOnce());
    for (let tried = 1; answer instanceof StoreFailure && tried < most && !lease.expired; tried += 1) {
      await pause(this.calledAt + EVERY_MS - performance.now());
      answer = checkBoolean('complete', await tryOnce());
    }
    if (answer instanceof StoreFailure)
      this.logFailure(transactional ? 'the store did not answer' : 'processed, but not remembered', answer);
    return answer;
  }

  /**
   * @returns false if the store says that another caller has the event now. True also if it did not answer: then the lease
   *   lapses
   */
  async release({ claim }: GrantedClaim, finished: readonly string[]): Promise<boolean> {
    const answer = await this.call(() => claim.release(finished), this.rules.storeTimeout);
    if (answer instanceof StoreFailure)
      this.logFailure('claim not released, so its lease will lapse', answer);
    return answer !== false;
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
      const completed = await this.call(() => this.#store.completedWith?.(key), this.rules.storeTimeout);
      if (completed instanceof StoreFailure) this.logFailure('the store did not answer', completed);
      return typeof completed === 'string' ? completed : undefined;
    }
    const answer = await this.claim(key, fingerprint);
    if (answer instanceof StoreFailure) return undefined;
    if (answer.status === 'claimed') await this.release(answer, answer.finished);
    return answer.status === 'completed' ? answer.fingerprint : undefined;
  }

  #unlock(lock: Lock | undefined | StoreFailure): void {
    if (lock && !(lock instanceof StoreFailure))
      void this.call(() => lock.release(), this.rules.storeTimeout);
  }

  /** No handler runs under such a claim, so the next delivery need not wait for its lease. */
  #giveBack(answer: ClaimAnswer | StoreFailure): void {
    if (isGranted(answer))
      void this.call(() => answer.claim.release(answer.finished), this.rules.storeTimeout);
  }
}

/** By then another delivery may have the event, so the caller gives it back. */
function grantedTooLate(what: 'claim' | 'lock', ms: number, lease: number): StoreFailure {
  return new StoreFailure(
    `It granted the ${what} after ${Math.round(ms)} ms, when its lease of ${lease} ms had ended.`,
  );
}

function isGranted(answer: ClaimAnswer | StoreFailure): answer is GrantedClaim {
  return 'status' in answer && answer.status === 'claimed';
}

function checkBoolean(verb: 'renew' | 'complete', answer: unknown): boolean | StoreFailure {
  if (typeof answer === 'boolean' || answer instanceof StoreFailure) return answer;
  return new StoreFailure(`Its answer to ${verb}() was neither true nor false.`);
}
