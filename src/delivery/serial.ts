// Handlers with the same serial value take turns: in this process by a queue, and among processes by a claim.
import { setTimeout as pause } from 'node:timers/promises';
import { ConfigurationError, HandlerError } from '../errors.js';
import type { Recipients, Registration } from '../handlers/handlers.js';
import { writeLog } from '../logger.js';
import { show } from '../options/option-checks.js';
import type { Configuration } from '../options/options.js';
import { type Claimant, StoreCalls } from '../stores/call-store.js';
import type { GrantedClaim } from '../stores/claim-answer.js';
import type { IdempotencyStore } from '../stores/store.js';
import { StoreFailure } from '../stores/timed-calls.js';
import type { Deduped, Result } from './delivery.js';
import { handlerErrorFields } from './describe-error.js';
import { digestOf } from './fingerprint.js';
import { Lease } from './lease.js';
import { Rejection, storeUnavailable } from './rejection.js';
import { queueOf } from './turn-queue.js';

/** The serial values of handlers that have one. */
export type Serials = ReadonlyMap<Registration, string>;

type Rules = Pick<
  Configuration,
  'store' | 'namespace' | 'timeout' | 'lease' | 'maxHandlerTime' | 'storeTimeout'
>;

/** Other processes are asked again after a pause that grows from the first to the longest. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;
const RETRY_AFTER_MS = 1_000;
const COMPLETED = 'It has completed the key of a serial value, which nobody completes.';
const WAITED = 'Another event with the same serial value was being handled for all of timeout.';

/** @returns a rejection when one of them cannot be told; undefined where no handler has one */
export function serialsOf(
  { handlers, subject }: Recipients,
  claimant: Claimant,
): Serials | Rejection | undefined {
  if (!handlers.some(isSerial)) return undefined;
  const values = new Map<Registration, string>();
  for (const handler of handlers.filter(isSerial)) {
    try {
      values.set(handler, serialValue(handler, subject));
    } catch (cause) {
      const fields = { handler: handler.name, ...handlerErrorFields(cause) };
      writeLog(claimant.log, 'error', fields, 'the serial function of a handler failed');
      return new Rejection('HANDLER_FAILED', { cause: new HandlerError([cause]) });
    }
  }
  return values;
}

function isSerial({ serial }: Registration): boolean {
  return serial !== undefined;
}

function serialValue(handler: Registration, subject: unknown): string {
  const value = handler.serial?.(subject as never);
  if (typeof value === 'string' && value !== '') return value;
  throw new ConfigurationError(
    `serial of the handler ${handler.name} returned ${show(value)}. Return text that is not empty.`,
  );
}

/** What is done while no other handler with one of the values runs. */
interface SerialWork {
  readonly claimant: Claimant;
  readonly serials: Serials;
  /** @param timeout what is left of it after the wait */
  run(timeout: number): Deduped | Promise<Deduped>;
  refuse(rejection: Rejection): Deduped | Promise<Deduped>;
}

/** Never rejects. */
export async function runSerially(
  work: SerialWork,
  store: IdempotencyStore<object>,
  c: Rules,
): Promise<Deduped> {
  const deadline = performance.now() + c.timeout;
  const turns = new Turns(store, work.claimant, c);
  // In one order for all, so that no two deliveries wait for each other.
  const values = [...new Set(work.serials.values())].sort();
  let late: Deduped['late'];
  try {
    const refused = await turns.take(values, deadline);
    const deduped = refused
      ? await work.refuse(refused)
      : await work.run(Math.max(Math.ceil(deadline - performance.now()), 1));
    late = deduped.late;
    return late ? { ...deduped, late: turns.endAfter(late) } : deduped;
  } finally {
    if (!late) await turns.end();
  }
}

/** The turns of one delivery. */
class Turns {
  readonly #store: IdempotencyStore<object>;
  readonly #claimant: Claimant;
  readonly #rules: Rules;
  readonly #ends: (() => Promise<void> | void)[] = [];
  /** Those of the queue in this process. */
  readonly #leaves: (() => void)[] = [];

  constructor(store: IdempotencyStore<object>, claimant: Claimant, rules: Rules) {
    this.#store = store;
    this.#claimant = claimant;
    this.#rules = rules;
  }

  /** @returns why a turn was not granted; those that were have to be ended then too */
  async take(values: readonly string[], deadline: number): Promise<Rejection | undefined> {
    const queue = queueOf(this.#store);
    for (const value of values) {
      // As it is: UTF-8 would make one key of all values with half a character, and a delivery wait for itself.
      const key = `${this.#rules.namespace}:serial:${digestOf(Buffer.from(value, 'utf16le'))}`;
      const leave = await queue.turn(key, deadline - performance.now());
      if (!leave) return new Rejection('IN_PROGRESS', { hint: WAITED, retryAfterMs: RETRY_AFTER_MS });
      this.#leaves.push(leave);
      this.#ends.push(leave);
      const refused = await this.#claim(key, deadline);
      if (refused) return refused;
    }
    return undefined;
  }

  /** In the opposite order: the next one in this process asks the store when it has been told. */
  async end(): Promise<void> {
    for (const end of this.#ends.reverse()) await end();
  }

  /**
   * Handlers that go on after the answer keep their turn until they settle. One that never does must not keep its value
   * from this process for ever: when its claim is no longer renewed, the next one waits for the end of the lease.
   */
  async endAfter(late: Promise<Result>): Promise<Result> {
    const leave = setTimeout(() => {
      for (const leave of this.#leaves) leave();
    }, this.#rules.maxHandlerTime);
    try {
      return await late;
    } finally {
      clearTimeout(leave);
      await this.end();
    }
  }

  async #claim(key: string, deadline: number): Promise<Rejection | undefined> {
    for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
      const calls = new StoreCalls(this.#store, this.#claimant, this.#rules);
      const answer = await calls.claim(key, 'serial', true);
      if (answer instanceof StoreFailure) return storeUnavailable(answer);
      if (answer.status === 'completed') return storeUnavailable(new StoreFailure(COMPLETED));
      if (answer.status === 'claimed') {
        this.#hold(calls, answer);
        return undefined;
      }
      const pauseMs = wait * (0.5 + Math.random() / 2);
      if (performance.now() + pauseMs >= deadline)
        return new Rejection('IN_PROGRESS', { hint: WAITED, retryAfterMs: RETRY_AFTER_MS });
      await pause(pauseMs);
    }
  }

  #hold(calls: StoreCalls, claim: GrantedClaim): void {
    const lease = new Lease(calls, claim);
    lease.start();
    this.#ends.push(() => {
      lease.stop();
      return calls.release(claim, claim.finished);
    });
  }
}
