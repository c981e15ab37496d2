// One run of the handlers of an event: starts their calls and tracks their results.
import { withDeadline } from '../claims/deadline.js';
import { WebhookError } from '../errors.js';
import type { EventNames } from '../events/envelope.js';
import { handlerErrorFields, type Logger, type LogLevel, writeLog } from '../logger.js';
import { type HandlerReport, type Observer, observed } from '../observer.js';
import type { Delivery } from './delivery.js';
import { type Attempt, DeliveryContext } from './handler-context.js';
import type { MatchedHandlers, Registration } from './handlers.js';
import type { SerialValues } from './serial-locks.js';
import { type Objection, objectionOf } from './verdict.js';

/** What all calls of a run share. */
interface RunInput {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
  /** The lease of the claim, if there is one. */
  readonly lease?: { readonly expired: boolean } | undefined;
  readonly serialValues?: SerialValues | undefined;
  readonly observer: Observer | undefined;
}

const MAY_HAVE_GIVEN_UP =
  'a handler took its signal and returned after it had aborted, so it counts as failed: it may have given up';

const NOT_STARTED = 'the claim was lost before a handler had its turn, so the handler was not run';

/** How each objection is logged. A wait is not an alert: the event will be delivered again. */
const OBJECTIONS = {
  later: ['info', 'a handler asked for a retry later'],
  never: ['warn', 'a handler refused the event for good'],
  failed: ['error', 'a handler failed'],
} as const satisfies Record<Objection, readonly [LogLevel, string]>;

export class HandlerRun {
  readonly calls: readonly HandlerCall[];
  /** What the failed handlers threw. */
  readonly failures: unknown[] = [];
  /** Completion keys of named handlers that have succeeded, on this attempt or an earlier one. */
  finished: readonly string[];
  /** Resolves when every handler has settled. Never rejects. */
  settled: Promise<unknown> = Promise.resolve();
  readonly input: RunInput;

  constructor({ handlers, subject }: MatchedHandlers, input: RunInput) {
    this.input = input;
    this.finished = input.attempt.finished;
    this.calls = handlers.map((handler) => new HandlerCall(handler, subject, this));
  }

  /** Starts all handlers at once, except that handlers with the same serial value run one after another. */
  start(): void {
    const latest = new Map<string, Promise<void>>();
    const runs = this.calls.map((call) => {
      const value = this.input.serialValues?.get(call.handler);
      if (value === undefined) return call.run();
      const previous = latest.get(value);
      const done = previous ? previous.then(() => call.run()) : call.run();
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
export class HandlerCall implements HandlerReport {
  readonly name: string;
  status: HandlerReport['status'] = 'running';
  durationMs = 0;
  readonly handler: Registration;
  readonly #subject: unknown;
  readonly #run: HandlerRun;
  #tookSignal = false;

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

  /** Never rejects. */
  async run(): Promise<void> {
    const { attempt, delivery, lease, serialValues } = this.#run.input;
    const { completionKey } = this.handler;
    if (completionKey !== undefined && attempt.finished.includes(completionKey)) {
      this.status = 'skipped';
      return;
    }
    // A handler that waited for another one may start long after the claim.
    if (serialValues && (delivery.claimLost || lease?.expired)) {
      this.#fail(new WebhookError('CLAIM_LOST'), {}, 'error', NOT_STARTED);
      return;
    }
    const startedAt = performance.now();
    try {
      await this.#callHandler();
    } catch (error) {
      const [level, message] = OBJECTIONS[objectionOf(error)];
      this.#fail(error, handlerErrorFields(error, delivery.simulated), level, message);
      return;
    } finally {
      this.durationMs = performance.now() - startedAt;
    }
    // The handler could see the abort and returned after it, so it may have given up: it must run again.
    if (this.#tookSignal && delivery.aborted) {
      this.#fail(new WebhookError('HANDLER_TIMEOUT'), {}, 'error', MAY_HAVE_GIVEN_UP);
      return;
    }
    if (completionKey !== undefined) this.#run.finished = [...this.#run.finished, completionKey];
    this.status = 'fulfilled';
  }

  /** @throws what the handler throws, now or by a promise */
  #callHandler(): unknown {
    const { attempt, delivery, observer } = this.#run.input;
    const context = new DeliveryContext(this, delivery, attempt);
    const call = () => this.handler.run(this.#subject as never, context as never);
    const wrap = observer?.handler?.bind(observer);
    if (!wrap || !delivery.event) return call();
    const described = { event: delivery.event, name: this.name, attempt: attempt.attempt };
    return observed(
      (inner) => wrap(described, inner),
      async () => void (await call()),
      delivery,
    );
  }

  #fail(failure: unknown, fields: object, level: LogLevel, message: string): void {
    this.#run.failures.push(failure);
    writeLog(this.log, level, { handler: this.name, ...fields }, message);
    this.status = 'rejected';
  }
}
