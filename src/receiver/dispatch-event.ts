// Station 5: event -> your handlers, awaited.
import { withDeadline } from '../delivery/deadline.js';
import type { Delivery, Dispatched } from '../delivery/delivery.js';
import { describeHandlerError } from '../delivery/describe-error.js';
import { Rejection } from '../delivery/rejection.js';
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
}

type Rules = Pick<Configuration, 'observer' | 'timeout' | 'reports'>;

const RETRY_AFTER_MS = 5_000;
const GIVEN_UP =
  'a handler took its signal and returned after it had aborted, so it counts as failed: it may have given up';

/**
 * Runs the handlers concurrently and waits for all of them, but no longer than `timeout`: then they go on, and the
 * delivery's answer is a rejection, never a 2xx. Never rejects.
 */
export async function dispatchEvent(
  handlers: readonly Registration[],
  dispatch: Dispatch,
  rules: Rules,
): Promise<Dispatched> {
  const round = new Round(dispatch, rules);
  const pending: Promise<void>[] = [];
  for (const handler of handlers) {
    const settling = run(handler, round);
    if (settling) pending.push(settling);
  }
  // A handler that waits for nothing has settled after this, and needs no timer.
  await undefined;
  if (round.running.length === 0) return round;
  dispatch.onPending();
  const all = Promise.all(pending).then(() => round);
  return withDeadline<Dispatched>(all, rules.timeout, () => {
    dispatch.delivery.abort('HANDLER_TIMEOUT');
    const names = round.running.map(({ name }) => name).join(', ');
    const hint = `Still running after ${rules.timeout} ms: ${names}.`;
    const rejection = new Rejection('HANDLER_TIMEOUT', { hint, retryAfterMs: RETRY_AFTER_MS });
    return {
      failures: [],
      finished: round.finished,
      reports: round.reports,
      unsettled: { rejection, rest: all },
    };
  });
}

type Report = { -readonly [Field in keyof HandlerReport]: HandlerReport[Field] };

/** A dispatch under way, and what has come of it so far. */
class Round implements Dispatched {
  readonly failures: unknown[] = [];
  finished: readonly string[];
  readonly reports: Report[] = [];
  readonly running: Registration[] = [];
  readonly dispatch: Dispatch;
  readonly rules: Rules;

  constructor(dispatch: Dispatch, rules: Rules) {
    this.dispatch = dispatch;
    this.rules = rules;
    this.finished = dispatch.attempt.finished;
  }

  /** Undefined without an observer. */
  report({ name }: Registration, status: Report['status']): Report | undefined {
    if (!this.rules.reports) return undefined;
    const report = { name, status, durationMs: 0 };
    this.reports.push(report);
    return report;
  }

  /** @returns the status of its report */
  succeeded({ rememberedAs }: Registration): 'fulfilled' {
    if (rememberedAs !== undefined) this.finished = [...this.finished, rememberedAs];
    return 'fulfilled';
  }

  /** @returns the status of its report */
  failed({ name }: Registration, failure: unknown, fields: object, message: string): 'rejected' {
    this.failures.push(failure);
    writeLog(this.dispatch.delivery.log, 'error', { handler: name, ...fields }, message);
    return 'rejected';
  }
}

/** What the handler throws is among the failures of the round. @returns undefined when it has settled at once */
function run(handler: Registration, round: Round): Promise<void> | undefined {
  const { delivery, attempt } = round.dispatch;
  if (handler.rememberedAs !== undefined && attempt.finished.includes(handler.rememberedAs)) {
    round.report(handler, 'skipped');
    return undefined;
  }
  round.running.push(handler);
  const report = round.report(handler, 'running');
  const startedAt = report ? performance.now() : 0;
  const called = new HandlerRun(delivery);
  const settle = (status: Report['status']) => {
    round.running.splice(round.running.indexOf(handler), 1);
    if (report) Object.assign(report, { status, durationMs: performance.now() - startedAt });
  };
  const returned = () =>
    settle(
      called.mayHaveGivenUp
        ? round.failed(handler, new WebhookError('HANDLER_TIMEOUT'), {}, GIVEN_UP)
        : round.succeeded(handler),
    );
  const threw = (error: unknown) =>
    settle(round.failed(handler, error, { error: describeHandlerError(error) }, 'a handler failed'));
  try {
    const result = call(handler, round, called.context(attempt));
    if (isThenable(result)) return Promise.resolve(result).then(returned, threw);
    returned();
  } catch (error) {
    threw(error);
  }
  return undefined;
}

/** @throws what the handler throws, now or by a promise */
function call(handler: Registration, { dispatch, rules }: Round, context: object): unknown {
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
