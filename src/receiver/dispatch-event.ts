// Station 5: event -> your handlers, awaited.
import type { Delivery } from '../delivery.js';
import { Fault, HandlerError } from '../errors.js';
import { type Attempt, DeliveryContext } from '../handler-context.js';
import type { Registration } from '../handlers.js';
import { describeError, writeLog } from '../logger.js';
import { observed } from '../observer.js';
import type { Configuration } from '../options.js';

/** What the handlers of one attempt are called with. */
export interface Dispatch {
  readonly delivery: Delivery;
  readonly attempt: Attempt;
  /** The event; for `onInvalid` handlers the error. */
  readonly subject: unknown;
}

const RETRY_AFTER_MS = 5_000;

/**
 * Runs the handlers concurrently and waits for all of them. Past `timeout` the delivery's answer is settled as
 * a fault, never as a 2xx, while they go on.
 *
 * @throws {HandlerError} when at least one failed
 */
export async function dispatchEvent(
  handlers: readonly Registration[],
  dispatch: Dispatch,
  c: Pick<Configuration, 'observer' | 'deadlines'>,
): Promise<void> {
  const { delivery, attempt, subject } = dispatch;
  const context = new DeliveryContext(delivery, attempt);
  const round: Round = { delivery, attempt, subject, context, observer: c.observer, failures: [] };
  const deadline = c.deadlines.handlers.set(() => {
    delivery.abort('HANDLER_TIMEOUT');
    delivery.settle(new Fault('HANDLER_TIMEOUT', { retryAfterMs: RETRY_AFTER_MS }));
  });
  const runs = handlers.map((handler) => run(handler, round));
  // None rejects, so to wait for one after the other is to wait for all.
  for (const running of runs) await running;
  c.deadlines.handlers.clear(deadline);
  if (round.failures.length > 0) throw new HandlerError(round.failures);
}

/** A dispatch under way. */
interface Round extends Dispatch {
  readonly context: object;
  readonly observer: Configuration['observer'];
  /** What the handlers that failed threw. */
  readonly failures: unknown[];
}

/** Never rejects: what the handler throws is among the failures of the round. */
async function run(handler: Registration, round: Round): Promise<void> {
  const { delivery, attempt } = round;
  const { rememberedAs } = handler;
  const skipped = rememberedAs !== undefined && attempt.finished.includes(rememberedAs);
  const report: Delivery['handlers'][number] = {
    name: handler.name,
    status: skipped ? 'skipped' : 'running',
    durationMs: 0,
  };
  delivery.handlers.push(report);
  if (skipped) return;
  const startedAt = performance.now();
  try {
    await call(handler, round);
    report.status = 'fulfilled';
    if (rememberedAs !== undefined) delivery.finished.push(rememberedAs);
  } catch (error) {
    round.failures.push(error);
    report.status = 'rejected';
    writeLog(
      delivery.log,
      'error',
      { handler: handler.name, error: describeError(error) },
      'a handler failed',
    );
  }
  report.durationMs = performance.now() - startedAt;
}

/** @throws what the handler throws, now or by a promise */
function call(handler: Registration, round: Round): unknown {
  const { delivery, attempt, observer, subject, context } = round;
  const wrap = observer?.handler?.bind(observer);
  if (!wrap || !delivery.event) return handler.run(subject as never, context as never);
  const described = { event: delivery.event, name: handler.name, attempt: attempt.attempt };
  return observed(
    (inner) => wrap(described, inner),
    async () => {
      await handler.run(subject as never, context as never);
    },
    (error) => delivery.observerFailed(error),
  );
}
