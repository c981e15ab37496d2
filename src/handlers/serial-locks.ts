// Locks for `serial` handlers: one delivery at a time per value, across processes.
import { setTimeout as pause } from 'node:timers/promises';
import { digestOf } from '../claims/fingerprint.js';
import { Lease } from '../claims/lease.js';
import { StoreCalls, type StoreRules } from '../claims/store-calls.js';
import { type StoreCaller, StoreFailure } from '../claims/timed-calls.js';
import type { IdempotencyStore } from '../contracts/idempotency-store.js';
import type { Unprocessed } from '../deliveries/delivery.js';
import { ConfigurationError, HandlerError, Rejection, storeUnavailable } from '../errors.js';
import { causeOf, handlerErrorFields, writeLog } from '../logger.js';
import { show } from '../misuse.js';
import { withDeadline } from '../time.js';
import type { MatchedHandlers, Registration, SerialValues } from './handlers.js';

type Rules = StoreRules & { readonly namespace: string };

/** The pause between two attempts grows from the first to the maximum. */
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;
const RETRY_AFTER_MS = 1_000;
const WAITED = 'Another event with the same serial value was being handled until timeout expired.';

/** @returns why the event is not processed if a serial function fails; undefined if no handler has one */
export function serialValuesOf(
  { handlers, subject }: MatchedHandlers,
  caller: StoreCaller & { readonly simulated: boolean },
): SerialValues | (Unprocessed & { readonly rejection: Rejection }) | undefined {
  const serial = handlers.filter((handler) => handler.serial !== undefined);
  if (serial.length === 0) return undefined;
  const values = new Map<Registration, string>();
  for (const handler of serial) {
    try {
      const value = handler.serial?.(subject as never);
      if (typeof value !== 'string' || value === '') {
        // From an async function it is a promise, and one that rejects unhandled would end the process.
        Promise.resolve(value).catch(() => {});
        throw new ConfigurationError(
          `The serial value of the handler ${handler.name} is ${show(value)}. Return text that is not empty.`,
        );
      }
      values.set(handler, value);
    } catch (error) {
      const cause = causeOf(handler.name, error);
      const fields = { handler: handler.name, cause, ...handlerErrorFields(error, caller.simulated) };
      writeLog(caller.log, 'error', fields, 'the serial function of a handler failed');
      const rejection = new Rejection('HANDLER_FAILED', { cause: new HandlerError([error]) });
      return { reason: 'failed', rejection, cause };
    }
  }
  return values;
}

/** The locks that one delivery holds. */
export class SerialLocks {
  readonly #store: IdempotencyStore<object>;
  readonly #caller: StoreCaller;
  readonly #rules: Rules;
  readonly #releases: (() => Promise<void> | void)[] = [];
  readonly #turnEnds: (() => void)[] = [];
  #endingTurns: NodeJS.Timeout | undefined;

  constructor(store: IdempotencyStore<object>, caller: StoreCaller, rules: Rules) {
    this.#store = store;
    this.#caller = caller;
    this.#rules = rules;
  }

  /** @returns why a lock was not granted, if so. In any case the caller must {@link release} */
  async acquire(values: SerialValues, deadline: number): Promise<Rejection | undefined> {
    // Sorted, so that no two deliveries wait for each other.
    for (const value of [...new Set(values.values())].sort()) {
      // UTF-16: in UTF-8 all values with a lone surrogate would share one key, and a delivery would wait for itself.
      const key = `${this.#rules.namespace}:serial:${digestOf(Buffer.from(value, 'utf16le'))}`;
      const endTurn = await waitForTurn(this.#store, key, deadline - performance.now());
      if (!endTurn) return stillLocked();
      this.#turnEnds.push(endTurn);
      this.#releases.push(endTurn);
      const notLocked = await this.#lock(key, deadline);
      if (notLocked) return notLocked;
    }
    return undefined;
  }

  /**
   * For handlers that may never settle: lets the next delivery of this process ask the store after this many milliseconds.
   * By then the lock is no longer renewed, so that delivery gets it when its lease ends.
   */
  endTurnsAfter(ms: number): void {
    this.#endingTurns = setTimeout(() => {
      for (const endTurn of this.#turnEnds) endTurn();
    }, ms);
  }

  /** In reverse order, so that the next delivery of this process asks the store only when the lock there is free. */
  async release(): Promise<void> {
    clearTimeout(this.#endingTurns);
    for (const release of this.#releases.reverse()) await release();
  }

  async #lock(key: string, deadline: number): Promise<Rejection | undefined> {
    for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, MAX_PAUSE_MS)) {
      const calls = new StoreCalls(this.#store, this.#caller, this.#rules);
      const lock = await calls.lock(key);
      if (lock instanceof StoreFailure) return storeUnavailable(lock);
      if (lock) {
        const lease = new Lease(calls, lock);
        lease.start();
        this.#releases.push(() => {
          lease.stop();
          return calls.unlock(lock);
        });
        return undefined;
      }
      const pauseMs = wait * (0.5 + Math.random() / 2);
      if (performance.now() + pauseMs >= deadline) return stillLocked();
      await pause(pauseMs);
    }
  }
}

function stillLocked(): Rejection {
  return new Rejection('IN_PROGRESS', { hint: WAITED, retryAfterMs: RETRY_AFTER_MS });
}

/** The latest turn for each key. Each store has its own, because receivers may share a store. */
const turnsOf = new WeakMap<IdempotencyStore<object>, Map<string, Promise<void>>>();

/**
 * Lets the deliveries of this process that wait for a value ask the store one at a time, in the order of arrival.
 *
 * @returns a function that ends the turn; undefined if the turn did not come in time
 */
async function waitForTurn(
  store: IdempotencyStore<object>,
  key: string,
  ms: number,
): Promise<(() => void) | undefined> {
  const turns = turnsOf.get(store) ?? new Map<string, Promise<void>>();
  turnsOf.set(store, turns);
  const before = turns.get(key);
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const turn = before ? before.then(() => ended) : ended;
  turns.set(key, turn);
  void turn.then(() => {
    if (turns.get(key) === turn) turns.delete(key);
  });
  if (!before) return end;
  const came = before.then(() => true);
  if (await withDeadline(came, Math.max(ms, 0), () => false)) return end;
  end();
  return undefined;
}
