// Runs the handlers of one event under its claim, and in turns where they are serial: dedupe and dispatch.
import type { Attempt } from '../handlers/handler-context.js';
import type { Recipients } from '../handlers/handlers.js';
import type { Outcome } from '../observer.js';
import type { Configuration } from '../options/options.js';
import { dedupeDelivery, type Work } from '../receiver/dedupe-delivery.js';
import { dispatchEvent } from '../receiver/dispatch-event.js';
import type { Deduped, Delivery, Dispatched } from './delivery.js';
import type { Ending } from './end-attempt.js';
import type { Fingerprint } from './fingerprint.js';
import type { HandlerLease } from './lease.js';
import { Rejection } from './rejection.js';
import { runSerially, type Serials, serialsOf } from './serial.js';

export interface Task {
  readonly delivery: Delivery;
  readonly recipients: Recipients;
  readonly fingerprint: Fingerprint;
  /** See {@link Work.unworkable}. */
  readonly unworkable?: Ending | undefined;
  /** In place of that of the claim. */
  readonly attempt?: Attempt | undefined;
}

type Rules = Omit<
  Configuration,
  | 'keys'
  | 'signatureHeader'
  | 'limit'
  | 'bodyTimeout'
  | 'maxInFlight'
  | 'deadLetters'
  | 'journal'
  | 'keepHeaders'
>;

/** Never rejects. */
export function runHandlers(task: Task, c: Rules): Deduped | Promise<Deduped> {
  const serials = serialsOf(task.recipients, task.delivery);
  return serials && c.store
    ? runInTurn(task, serials, { ...c, store: c.store })
    : dedupeDelivery(task.delivery, c, new HandlerWork(task, c));
}

function runInTurn(
  task: Task,
  serials: Serials | Rejection,
  c: Rules & { readonly store: NonNullable<Rules['store']> },
): Deduped | Promise<Deduped> {
  const { delivery } = task;
  // Nobody but the sender has the event then, unless it is kept.
  const refuse = (rejection: Rejection) => {
    const unworkable = { reason: 'failed', rejection, result: rejection } as const;
    return delivery.letter
      ? dedupeDelivery(delivery, c, new HandlerWork({ ...task, unworkable }, c))
      : { result: rejection };
  };
  if (serials instanceof Rejection) return refuse(serials);
  const run = (timeout: number) =>
    dedupeDelivery(delivery, c, new HandlerWork(task, { ...c, timeout }, serials));
  return runSerially({ claimant: delivery, serials, run, refuse }, c.store, c);
}

class HandlerWork implements Work {
  readonly fingerprint: Fingerprint;
  readonly outcome: Outcome;
  readonly unworkable: Ending | undefined;
  readonly #task: Task;
  readonly #rules: Rules;
  readonly #serials: Serials | undefined;

  constructor(task: Task, rules: Rules, serials?: Serials) {
    this.fingerprint = task.fingerprint;
    this.outcome = task.recipients.outcome;
    this.unworkable = task.unworkable;
    this.#task = task;
    this.#rules = rules;
    this.#serials = serials;
  }

  run(claim: Attempt, lease: HandlerLease): Dispatched | Promise<Dispatched> {
    const { delivery, recipients, attempt = claim } = this.#task;
    const { handlers, subject } = recipients;
    return dispatchEvent(
      handlers,
      { delivery, attempt, subject, lease, serials: this.#serials },
      this.#rules,
    );
  }
}
