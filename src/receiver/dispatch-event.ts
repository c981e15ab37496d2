// Station 5: event -> your handlers, awaited.
import type { Delivery, Dispatched } from '../delivery/delivery.js';
import { describeHandlerError } from '../delivery/describe-error.js';
import { Rejection } from '../delivery/rejection.js';
import type { Serials } from '../delivery/serial.js';
import { isThenable } from '../delivery/thenable.js';
import { WebhookError } from '../errors.js';
import { type Attempt, HandlerRun } from '../handlers/handler-context.js';
import type { Registration } from '../handlers/handlers.js';
import { writeLog } from '../logger.js';
import { type HandlerReport, observed } from '../observer.js';
import type { Configuration } from '../options/options.js';

/** What the handlers of one attempt are called with. */
export interface Dispatch {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
  /** The event; for `onInvalid` handlers the error. */
  readonly subject: unknown;
  /** Called when they do not settle at once. */
  readonly onPending: () => void;
  /** The serial values of those that have one. */
  readonly serials?: Serials | undefined;
}

type Rules = Pick<Configuration, 'observer' | 'timeout' | 'reports'>;

const RETRY_AFTER_MS = 5_000;
const GIVEN_UP =
  'a handler took its signal and returned after it had aborted, so it counts as failed: it may have given up';

const NOT_BEGUN = 'the claim was lost before a handler had its turn, so the handler was not run';

/**
 * Runs the handlers concurrently and waits for all of them, but no longer than `timeout`: then they go on, and the
 * delivery's answer is a rejection, never a 2xx. Never rejects.
 */
export function dispatchEvent(
  handlers: readonly Registration[],
  dispatch: Dispatch,
  rules: Rules,
): Dispatched | Promise<Dispatched> {
  const round = new Round(handlers, dispatch, rules);
  for (const call of dispatch.serials ? firstOfEach(round.reports, dispatch.serials) : round.reports)
    call.begin();
  return round.running === 0 ? round : settledInTime(round);
}

/** Those that have to wait for nobody. Each of the others begins when the one before it with its value has settled. */
function firstOfEach(calls: readonly Call[], serials: Serials): Call[] {
  const latest = new Map<string, Call>();
  return calls.filter((call) => {
    const value = call.serialValue(serials);
    if (value === undefined) return true;
    const before = latest.get(value);
    latest.set(value, call);
    if (before) call.beginAfter(before);
    return before === undefined;
  });
}

function settledInTime(round: Round): Promise<Dispatched> {
  const { dispatch, rules } = round;
  return new Promise((resolve) => {
    let deadline: NodeJS.Timeout | undefined;
    round.whenSettled = () => {
      clearTimeout(deadline);
      resolve(round);
    };
    // A handler that waits for nothing has settled by then, and needs no timer.
    Promise.resolve().then(() => {
      if (round.running === 0) return;
      dispatch.onPending();
      deadline = setTimeout(() => resolve(timedOut(round)), rules.timeout);
    });
  });
}

function timedOut(round: Round): Dispatched {
  const { dispatch, rules, finished, reports } = round;
  dispatch.delivery.abort('HANDLER_TIMEOUT');
  const names = reports.filter(({ status }) => status === 'running').map(({ name }) => name);
  const hint = `Still running after ${rules.timeout} ms: ${names.join(', ')}.`;
  const rejection = new Rejection('HANDLER_TIMEOUT', { hint, retryAfterMs: RETRY_AFTER_MS });
  const rest = new Promise<Dispatched>((resolve) => {
    round.whenSettled = () => resolve(round);
  });
  return { failures: [], finished, reports, unsettled: { rejection, rest } };
}

/** A dispatch under way, and what has come of it so far. */
class Round implements Dispatched {
  readonly failures: unknown[] = [];
  finished: readonly string[];
  readonly reports: readonly Call[];
  /** How many handlers have not settled. */
  running: number;
  whenSettled: (() => void) | undefined;
  readonly dispatch: Dispatch;
  readonly rules: Rules;

  constructor(handlers: readonly Registration[], dispatch: Dispatch, rules: Rules) {
    this.dispatch = dispatch;
    this.rules = rules;
    this.finished = dispatch.attempt.finished;
    this.running = handlers.length;
    this.reports = handlers.map((handler) => new Call(handler, this));
  }
}

/** The call of a handler in a round. What others see of it is its report. */
class Call implements HandlerReport {
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
    if (rememberedAs !== undefined && dispatch.attempt.finished.includes(rememberedAs))
      return this.#settle('skipped');
    // Some begin long after the claim, when those before them have settled.
    if (dispatch.serials && dispatch.delivery.claimLost)
      return this.#fail(new WebhookError('CLAIM_LOST'), {}, NOT_BEGUN);
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
    if (this.#run.mayHaveGivenUp) return this.#fail(new WebhookError('HANDLER_TIMEOUT'), {}, GIVEN_UP);
    if (rememberedAs !== undefined) this.#round.finished = [...this.#round.finished, rememberedAs];
    this.#settle('fulfilled');
  };

  readonly #threw = (error: unknown): void => {
    this.#fail(error, { error: describeHandlerError(error) }, 'a handler failed');
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
    if (round.running === 0) round.whenSettled?.();
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
