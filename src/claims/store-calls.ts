// Calls a store for one delivery: claim, lock, renew, complete, release.
import { setTimeout as pause } from 'node:timers/promises';
import type { Completion, ForgetResult, IdempotencyStore } from '../contracts/idempotency-store.js';
import {
  type ClaimReply,
  type GrantedClaim,
  type GrantedLock,
  readClaimReply,
  readForgetResult,
  readLockReply,
} from './claim-reply.js';
import { lockOf } from './lock-of-claim.js';
import { type StoreCaller, StoreFailure, type StoreReply, TimedCalls } from './timed-calls.js';

/** Three tries to complete within two seconds, however fast each fails: a server that restarts is back by then. */
const TRIES = 3;
const EVERY_MS = 700;
const COMPLETE_MS = 600;

const UNANSWERED = 'the store did not answer';

/** All times in milliseconds. */
export interface StoreRules {
  readonly lease: number;
  readonly maxHandlerTime: number;
  readonly storeTimeout: number;
}

/** No method rejects. */
export class StoreCalls extends TimedCalls {
  readonly rules: StoreRules;
  readonly #store: IdempotencyStore<object>;

  constructor(store: IdempotencyStore<object>, caller: StoreCaller, rules: StoreRules) {
    super(caller, rules.storeTimeout);
    this.#store = store;
    this.rules = rules;
  }

  claim(key: string, fingerprint: string): StoreReply<ClaimReply> {
    const { lease: leaseMs } = this.rules;
    const call = () => this.#store.claim(key, { leaseMs, fingerprint });
    const read = (answer: unknown, calledAt: number) =>
      readClaimReply(answer, { key, fingerprint, calledAt });
    return this.#request('claim', call, read, (answer) => {
      if (answer.status !== 'claimed') return false;
      void this.call(() => answer.claim.release(answer.finished));
      return true;
    });
  }

  /** A store without locks is asked for a claim instead. @returns undefined while another caller has the lock */
  lock(key: string): StoreReply<GrantedLock | undefined> {
    const { lease } = this.rules;
    const store = this.#store;
    const call = () =>
      store.lock ? store.lock(key, lease) : lockOf((request) => store.claim(key, request), lease);
    return this.#request('lock', call, readLockReply, (lock) => {
      if (!lock) return false;
      void this.call(() => lock.claim.release());
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
    read: (answer: unknown, calledAt: number) => Granted | StoreFailure,
    giveBack: (answer: Granted) => boolean,
  ): StoreReply<Granted> {
    const { lease } = this.rules;
    const calledAt = performance.now();
    const check = (given: unknown) => {
      const ms = performance.now() - calledAt;
      const answer = read(given, calledAt);
      // After its lease another delivery may have the event.
      if (ms < lease || answer instanceof StoreFailure || !giveBack(answer)) return answer;
      return new StoreFailure(
        `It granted the ${what} after ${Math.round(ms)} ms, when its lease of ${lease} ms had ended.`,
      );
    };
    return this.checkedCall(UNANSWERED, call, check, giveBack);
  }

  forget(key: string): StoreReply<ForgetResult> {
    return this.checkedCall('the event was not forgotten', () => this.#store.forget?.(key), readForgetResult);
  }

  async unlock({ claim }: GrantedLock): Promise<void> {
    await this.checkedCall('lock not released, so its lease will lapse', () => claim.release());
  }

  renew({ claim }: GrantedClaim | GrantedLock): StoreReply<boolean> {
    const call = () => claim.renew(this.rules.lease);
    return this.checkedCall('the claim was not renewed', call, (answer) => checkBoolean('renew', answer));
  }

  /**
   * Tried up to three times before the lease ends, unless it is answered.
   *
   * @param onLate called if the store reports success after the deadline
   */
  async complete(
    { claim }: GrantedClaim,
    lease: { readonly expired: boolean },
    onLate?: () => unknown,
  ): Promise<Completion | StoreFailure> {
    const late = (answer: unknown) => answer === true && onLate?.();
    const tryOnce = () =>
      this.call(() => claim.complete(), late, Math.min(this.rules.storeTimeout, COMPLETE_MS));
    let triedAt = performance.now();
    let answer = checkCompletion(await tryOnce());
    for (let tried = 1; answer instanceof StoreFailure && tried < TRIES && !lease.expired; tried += 1) {
      await pause(Math.max(triedAt + EVERY_MS - performance.now(), 0));
      triedAt = performance.now();
      answer = checkCompletion(await tryOnce());
    }
    if (answer instanceof StoreFailure) this.logFailure('processed, but not remembered', answer);
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
   * Whether another delivery has completed the event. Only read: a claim could take the event from an owner whose lease has
   * lapsed.
   *
   * @returns the fingerprint with which the event is completed, if it is
   */
  async completedWith({ key }: GrantedClaim): Promise<string | undefined> {
    const completed = await this.checkedCall(UNANSWERED, () => this.#store.completedWith?.(key));
    return typeof completed === 'string' ? completed : undefined;
  }
}

function checkBoolean(verb: 'renew' | 'complete', answer: unknown): boolean | StoreFailure {
  if (typeof answer === 'boolean' || answer instanceof StoreFailure) return answer;
  return new StoreFailure(`Its answer to ${verb}() is neither true nor false.`);
}

/** A getter of the answer may throw. */
function checkCompletion(answer: unknown): Completion | StoreFailure {
  try {
    const { uncommitted } = (answer ?? {}) as { readonly uncommitted?: unknown };
    if (Array.isArray(uncommitted)) return { uncommitted: uncommitted.map(String) };
    return checkBoolean('complete', answer);
  } catch (cause) {
    return new StoreFailure('Its answer to complete() threw when it was read.', cause);
  }
}
