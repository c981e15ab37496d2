// Station 5: event -> your handlers, awaited.
import type { Dispatched } from '../delivery/delivery.js';
import { Rejection } from '../delivery/rejection.js';
import type { Serials } from '../delivery/serial.js';
import type { Registration } from '../handlers/handlers.js';
import { type Call, type Dispatch, type DispatchRules, Round } from '../handlers/round.js';

const RETRY_AFTER_MS = 5_000;

/**
 * Runs the handlers concurrently and waits for all of them, but no longer than `timeout`: then they go on, and the
 * delivery's answer is a rejection, never a 2xx. Never rejects.
 */
export function dispatchEvent(
  handlers: readonly Registration[],
  dispatch: Dispatch,
  rules: DispatchRules,
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
    round.whenSettled = resolve;
    // A handler that waits for nothing has settled by then, and needs no timer.
    Promise.resolve().then(() => {
      if (round.running === 0) return;
      dispatch.lease.start();
      round.deadline = setTimeout(() => resolve(timedOut(round)), rules.timeout);
    });
  });
}

function timedOut(round: Round): Dispatched {
  const { dispatch, rules, finished, reports } = round;
  dispatch.delivery.abort('HANDLER_TIMEOUT');
  const names = reports.filter(({ status }) => status === 'running').map(({ name }) => name);
  const hint = `Not finished after ${rules.timeout} ms: ${names.join(', ')}.`;
  const rejection = new Rejection('HANDLER_TIMEOUT', { hint, retryAfterMs: RETRY_AFTER_MS });
  const rest = new Promise<Dispatched>((resolve) => {
    round.whenSettled = resolve;
  });
  return { failures: [], finished, reports, unsettled: { rejection, rest } };
}
