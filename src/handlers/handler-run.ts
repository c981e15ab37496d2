// One run of the handlers of an event: starts their calls and tracks their results.

import type { GrantedClaim } from '../claims/claim-reply.js';
import type { Lease } from '../claims/lease.js';
import type { HandlerClaim } from '../contracts/idempotency-store.js';
import type { CalledHandler, Delivery } from '../deliveries/delivery.js';
import { type Objection, objectionOf } from '../deliveries/verdict.js';
import { ConfigurationError, type ErrorCode, WebhookError } from '../errors.js';
import type { EventNames } from '../events/envelope.js';
import { causeOf, causeText, handlerErrorFields, type Logger, type LogLevel, writeLog } from '../logger.js';
import { isUnawaited } from '../misuse.js';
import { type Observer, observed } from '../observer.js';
import { withDeadline } from '../time.js';
import { DeliveryContext, NO_ONCE, ONCE_UNNAMED } from './handler-context.js';
import type { MatchedHandlers, Registration, SerialValues } from './handlers.js';

/** What all calls of a run share. */
interface RunInput {
  readonly delivery: Delivery;
  /** What handlers see of the claim. */
  readonly claim: Pick<GrantedClaim, 'attempt' | 'finished' | 'forHandler'>;
  /** The lease of the claim, if there is one. */
  readonly lease?: Lease | undefined;
  readonly observer: Observer | undefined;
}

const MAY_HAVE_GIVEN_UP =
  'a handler took its signal and returned after it had aborted, so it counts as failed: it may have given up';

const NOT_STARTED = 'the claim was lost before a handler had its turn, so the handler was not run';

const LATE_ONCE =
  'once() was called after its handler had ended: the event was answered without these writes. Await every transaction in the handler';

const UNAWAITED =
  'The handler resolved with an array of promises, which nobody awaits. Await them: await Promise.all([…]).';

const UNCOMMITTED =
  'The writes of once() are not committed, although the handler resolved. Await the transaction around once(), and let its errors reach the handler.';

/** How each objection is logged. A wait is not an alert: the event will be delivered again. */
const OBJECTIONS = {
  later: ['info', 'a handler asked for a retry later'],
  never: ['warn', 'a handler refused the event for good'],
  failed: ['error', 'a handler failed'],
} as const satisfies Record<Objection, readonly [LogLevel, string]>;

export class HandlerRun {
  readonly calls: readonly HandlerCall[];
  /** What the failed handlers threw. */
  readonly errors: unknown[] = [];
  /** Completion keys of named handlers that have succeeded, on this attempt or an earlier one. */
  completedHandlers: readonly string[];
  /** Resolves when every handler has settled. Never rejects. */
  settled: Promise<unknown> = Promise.resolve();
  readonly input: RunInput;
  readonly serialValues: SerialValues | undefined;

  constructor({ handlers, subject, serialValues }: MatchedHandlers, input: RunInput) {
    this.input = input;
    this.serialValues = serialValues;
    this.completedHandlers = input.claim.finished;
    this.calls = handlers.map((handler) => new HandlerCall(handler, subject, this));
  }

  /** Starts all handlers at once, except that handlers with the same serial value run one after another. */
  start(): void {
    const latest = new Map<string, Promise<void>>();
    const runs = this.calls.map((call) => {
      const value = this.serialValues?.get(call.handler);
      if (value === undefined) return call.start();
      const previous = latest.get(value);
      const done = previous ? previous.then(() => call.start()) : call.start();
      latest.set(value, done);
      return done;
    });
    // Most events have one handler, and `Promise.all` takes a microsecond.
    const [first, ...others] = runs;
    this.settled = first && others.length === 0 ? first : Promise.all(runs);
  }

  get hasSettled(): boolean {
    return this.calls.every(({ status }) => status !== 'running');
  }

  /** Names of the handlers that have not settled. */
  get unsettled(): readonly string[] {
    return this.calls.filter(({ status }) => status === 'running').map(({ name }) => name);
  }

  /** Whether completing the event must find writes of `once` that this attempt relies on. */
  get wrote(): boolean {
    return this.calls.some(({ wrote }) => wrote);
  }

  /** Handlers whose writes of `once` are not committed have failed. @param names the keys of their writes */
  failUncommitted(names: readonly string[]): void {
    for (const call of this.calls) if (names.includes(call.handler.onceKey ?? '')) call.failUncommitted();
    // A store of a user's own may name none of them.
    if (this.errors.length === 0) this.errors.push(new ConfigurationError(UNCOMMITTED));
  }

  /** Whether all handlers settle within this many milliseconds. */
  settlesWithin(ms: number): Promise<boolean> {
    return withDeadline(
      this.settled.then(() => true),
      ms,
      () => false,
    );
  }
}

/** The call of one handler. It is also the handler's report, and the source of its context. */
export class HandlerCall implements CalledHandler {
  readonly name: string;
  status: CalledHandler['status'] = 'running';
  durationMs = 0;
  objection: Objection | undefined;
  cause: string | undefined;
  wrote = false;
  readonly handler: Registration;
  readonly #subject: unknown;
  readonly #run: HandlerRun;
  #tookSignal = false;
  /** The handler called `once`, and the store has none. */
  #onceError: ConfigurationError | undefined;
  /**
   * Its writes of `once` may not be committed, or are those of other bytes. A next attempt that took it for finished would
   * lose the writes, or the conflict. It runs once more instead, and `once` skips what is committed.
   */
  #isUnproven = false;

  constructor(handler: Registration, subject: unknown, run: HandlerRun) {
    this.name = handler.name;
    this.handler = handler;
    this.#subject = subject;
    this.#run = run;
  }

  get event(): EventNames | undefined {
    return this.#run.input.delivery.event;
  }

  get signal(): AbortSignal {
    this.#tookSignal = true;
    return this.#run.input.delivery.signal;
  }

  get log(): Logger {
    return this.#run.input.delivery.log;
  }

  get rawBody(): Buffer {
    return this.#run.input.delivery.bytesForHandlers;
  }

  get #mayHaveGivenUp(): boolean {
    return this.#tookSignal && this.#run.input.delivery.aborted;
  }

  /** Never rejects. */
  async start(): Promise<void> {
    const { claim, delivery, lease } = this.#run.input;
    const { completionKey } = this.handler;
    if (completionKey !== undefined && claim.finished.includes(completionKey)) {
      this.status = 'skipped';
      return;
    }
    // A handler that waited for another one may start long after the claim.
    if (this.#run.serialValues && (delivery.claimLost || lease?.expired)) {
      this.#stop('CLAIM_LOST', NOT_STARTED);
      return;
    }
    const startedAt = performance.now();
    try {
      refuseUnawaited(await this.#callHandler());
      if (this.#onceError) throw this.#onceError;
    } catch (error) {
      this.#fail(error, delivery.simulated);
      return;
    } finally {
      this.durationMs = performance.now() - startedAt;
    }
    // The handler could see the abort and returned after it, so it may have given up: it must run again.
    if (this.#mayHaveGivenUp) {
      this.#stop('HANDLER_TIMEOUT', MAY_HAVE_GIVEN_UP);
      return;
    }
    if (completionKey !== undefined && !this.#isUnproven)
      this.#run.completedHandlers = [...this.#run.completedHandlers, completionKey];
    this.status = 'fulfilled';
  }

  /** Remembered, because the handler has failed even if it catches the error. */
  refuseOnce(): ConfigurationError {
    const { claim } = this.#run.input;
    this.#onceError ??= new ConfigurationError(claim.forHandler ? ONCE_UNNAMED : NO_ONCE);
    return this.#onceError;
  }

  failUncommitted(): void {
    const { completionKey } = this.handler;
    this.#run.completedHandlers = this.#run.completedHandlers.filter((key) => key !== completionKey);
    this.#fail(new ConfigurationError(UNCOMMITTED));
  }

  /** @throws what the handler throws, now or by a promise */
  #callHandler(): unknown {
    const { forHandler } = this.#run.input.claim;
    const { onceKey } = this.handler;
    if (!forHandler || onceKey === undefined) return this.#callWith(undefined);
    const beforeCommit = () => {
      if (this.#mayHaveGivenUp) throw new WebhookError('HANDLER_TIMEOUT');
    };
    return this.#callUnder(forHandler(onceKey, beforeCommit));
  }

  /** @throws also if a write of the handler failed, although the handler caught its error */
  async #callUnder(claim: HandlerClaim<object>): Promise<void> {
    const { delivery } = this.#run.input;
    const onLateCall = () => writeLog(this.log, 'error', { handler: this.name }, LATE_ONCE);
    try {
      refuseUnawaited(await this.#callWith(claim.context));
    } catch (error) {
      claim.end(onLateCall, true);
      throw error;
    }
    const { failure, wrote, skipped } = claim.end(onLateCall);
    if (failure !== undefined) throw failure;
    this.wrote = wrote;
    const conflicts = skipped !== undefined && !delivery.fingerprint.matches(skipped);
    if (conflicts) delivery.conflict = true;
    this.#isUnproven = conflicts || (wrote && skipped === undefined);
  }

  #callWith(added: object | undefined): unknown {
    const { claim, delivery, observer } = this.#run.input;
    const context = new DeliveryContext(this, delivery, claim.attempt, added);
    const call = () => this.handler.fn(this.#subject as never, context as never);
    const wrap = observer?.handler?.bind(observer);
    if (!wrap || !delivery.event) return call();
    const described = { event: delivery.event, name: this.name, attempt: claim.attempt };
    return observed(
      (inner) => wrap(described, inner),
      async () => refuseUnawaited(await call()),
      delivery,
    );
  }

  #fail(error: unknown, simulated = false): void {
    const objection = objectionOf(error);
    const [level, message] = OBJECTIONS[objection];
    const fields = { cause: causeOf(this.name, error), ...handlerErrorFields(error, simulated) };
    this.#end(error, objection, fields, [level, message]);
  }

  /** It did not fail itself: the claim or the time was over. */
  #stop(code: ErrorCode, message: string): void {
    this.#end(new WebhookError(code), 'failed', { cause: causeText(this.name, code) }, ['error', message]);
  }

  #end(
    error: unknown,
    objection: Objection,
    fields: { readonly cause: string },
    [level, message]: readonly [LogLevel, string],
  ): void {
    this.#run.errors.push(error);
    this.objection = objection;
    this.cause = fields.cause;
    writeLog(this.log, level, { handler: this.name, ...fields }, message);
    this.status = 'rejected';
  }
}

/** @throws {ConfigurationError} */
function refuseUnawaited(value: unknown): void {
  if (isUnawaited(value)) throw new ConfigurationError(UNAWAITED);
}
