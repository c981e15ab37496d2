// The handlers of one attempt under way: each call, and what has come of all of them so far.
import type { Delivery, Dispatched } from '../delivery/delivery.js';
import { handlerErrorFields } from '../delivery/describe-error.js';
import type { HandlerLease } from '../delivery/lease.js';
import type { Serials } from '../delivery/serial.js';
import { isThenable } from '../delivery/thenable.js';
import { WebhookError } from '../errors.js';
import { writeLog } from '../logger.js';
import { type HandlerReport, observed } from '../observer.js';
import type { Configuration } from '../options/options.js';
import { type Attempt, HandlerRun } from './handler-context.js';
import type { Registration } from './handlers.js';

/** What the handlers of one attempt are called with. */
export interface Dispatch {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
  /** The event; for `onInvalid` handlers the error. */
  readonly subject: unknown;
  /** Started when they do not settle at once. */
  readonly lease: HandlerLease;
  /** The serial values of those that have one. */
  readonly serials?: Serials | undefined;
}

export type DispatchRules = Pick<Configuration, 'observer' | 'timeout' | 'reports'>;

const GIVEN_UP =
  'a handler took its signal and returned after it had aborted, so it counts as failed: it may have given up';

const NOT_BEGUN = 'the claim was lost before a handler had its turn, so the handler was not run';

/** A dispatch under way, and what has come of it so far. */
export class Round implements Dispatched {
  readonly failures: unknown[] = [];
  finished: readonly string[];
  readonly reports: readonly Call[];
  /** How many handlers have not settled. */
  running: number;
  /** The `resolve` of a promise itself. V8 would keep a closure of ours alive here, and the whole delivery with it. */
  whenSettled: ((round: Round) => void) | undefined;
  /** Ends the wait for them after `timeout`. */
  deadline: NodeJS.Timeout | undefined;
  readonly dispatch: Dispatch;
  readonly rules: DispatchRules;

  constructor(handlers: readonly Registration[], dispatch: Dispatch, rules: DispatchRules) {
    this.dispatch = dispatch;
    this.rules = rules;
    this.finished = dispatch.attempt.finished;
    this.running = handlers.length;
    this.reports = handlers.map((handler) => new Call(handler, this));
  }
}

/** The call of a handler in a round. What others see of it is its report. */
export class Call implements HandlerReport {
  readonly name: string;
  status: HandlerReport['status'] = 'running';
  durationMs = 0;
  readonly #handler: Registration;
  readonly #round: Round;
  readonly #run: HandlerRun;
  #startedAt = 0;
  #next: Call | undefined;

  constructor(handler: Registration, round: Round) {
    this.name = handler.name;
    this.#handler = handler;
    this.#round = round;
    this.#run = new HandlerRun(round.dispatch.delivery);
  }

  serialValue(serials: Serials): string | undefined {
    return serials.get(this.#handler);
  }

  beginAfter(other: Call): void {
    other.#next = this;
  }

  begin(): void {
    const { dispatch, rules } = this.#round;
    const { rememberedAs } = this.#handler;
    if (rememberedAs !== undefined && dispatch.attempt.finished.includes(rememberedAs)) {
      this.#settle('skipped');
      return;
    }
    // Some begin long after the claim, when those before them have settled.
    if (dispatch.serials && (dispatch.delivery.claimLost || dispatch.lease.lapsed)) {
      this.#fail(new WebhookError('CLAIM_LOST'), {}, NOT_BEGUN);
      return;
    }
    if (rules.reports) this.#startedAt = performance.now();
    try {
      const result = run(this.#handler, this.#round, this.#run.context(dispatch.attempt));
      // A promise of Node's own settles once, whatever the one of a handler does.
      if (isThenable(result)) Promise.resolve(result).then(this.#returned, this.#threw);
      else this.#returned();
    } catch (error) {
      this.#threw(error);
    }
  }

  readonly #returned = (): void => {
    const { rememberedAs } = this.#handler;
    if (this.#run.mayHaveGivenUp) {
      this.#fail(new WebhookError('HANDLER_TIMEOUT'), {}, GIVEN_UP);
      return;
    }
    if (rememberedAs !== undefined) this.#round.finished = [...this.#round.finished, rememberedAs];
    this.#settle('fulfilled');
  };

  readonly #threw = (error: unknown): void => {
    this.#fail(error, handlerErrorFields(error), 'a handler failed');
  };

  #fail(failure: unknown, fields: object, message: string): void {
    const { failures, dispatch } = this.#round;
    failures.push(failure);
    writeLog(dispatch.delivery.log, 'error', { handler: this.name, ...fields }, message);
    this.#settle('rejected');
  }

  #settle(status: HandlerReport['status']): void {
    const round = this.#round;
    this.status = status;
    if (this.#startedAt > 0) this.durationMs = performance.now() - this.#startedAt;
    round.running -= 1;
    this.#next?.begin();
    if (round.running > 0) return;
    clearTimeout(round.deadline);
    round.whenSettled?.(round);
  }
}

/** @throws what the handler throws, now or by a promise */
function run(handler: Registration, { dispatch, rules }: Round, context: object): unknown {
  const { delivery, attempt, subject } = dispatch;
  const { observer } = rules;
  const wrap = observer?.handler?.bind(observer);
  if (!wrap || !delivery.event) return handler.run(subject as never, context as never);
  const described = { event: delivery.event, name: handler.name, attempt: attempt.attempt };
  return observed(
    (inner) => wrap(described, inner),
    async () => {
      await handler.run(subject as never, context as never);
    },
    delivery,
  );
}
