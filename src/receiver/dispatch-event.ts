// Station 5: event -> your handlers, awaited.
import type { Delivery } from '../delivery.js';
import { Fault, HandlerError } from '../errors.js';
import type { Registration } from '../handlers.js';
import { describeError, writeLog } from '../logger.js';
import { observed } from '../observer.js';
import type { Configuration } from '../options.js';
import type { Claim } from '../stores/store.js';

/** The part of a claim that handlers come to see. */
export type Attempt = Pick<Claim<object>, 'attempt' | 'finished' | 'context'>;

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
  const { delivery, attempt } = dispatch;
  const context = contextOf(delivery, attempt);
  const failures: unknown[] = [];
  const deadline = c.deadlines.handlers.set(() => {
    delivery.abort('HANDLER_TIMEOUT');
    delivery.settle(new Fault('HANDLER_TIMEOUT', { retryAfterMs: RETRY_AFTER_MS }));
  });
  await Promise.all(handlers.map((handler) => run(handler)));
  c.deadlines.handlers.clear(deadline);
  if (failures.length > 0) throw new HandlerError(failures);

  async function run(handler: Registration): Promise<void> {
    const skipped = handler.named && attempt.finished.includes(handler.name);
    const report: Delivery['handlers'][number] = {
      name: handler.name,
      status: skipped ? 'skipped' : 'running',
      durationMs: 0,
    };
    delivery.handlers.push(report);
    if (skipped) return;
    const startedAt = performance.now();
    try {
      await call(handler);
      report.status = 'fulfilled';
      if (handler.named) delivery.finished.push(handler.name);
    } catch (error) {
      failures.push(error);
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

  async function call(handler: Registration): Promise<void> {
    const work = async () => {
      await handler.run(dispatch.subject as never, context as never);
    };
    const wrap = c.observer?.handler?.bind(c.observer);
    if (!wrap || !delivery.event) return work();
    const described = { event: delivery.event, name: handler.name, attempt: attempt.attempt };
    return observed(
      (inner) => wrap(described, inner),
      work,
      (error) => delivery.observerFailed(error),
    );
  }
}

/** `signal` and `log` are getters: most handlers use neither, and each costs more than the rest together. */
function contextOf(delivery: Delivery, { attempt, context }: Attempt): object {
  const given = {
    get signal() {
      return delivery.signal;
    },
    get log() {
      return delivery.log;
    },
    rawBody: delivery.rawBody,
    headers: delivery.headers,
    attempt,
    keyIndex: delivery.keyIndex,
  };
  return context ? Object.assign(given, context) : given;
}
