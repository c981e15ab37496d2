// Records deliveries, makes their attempts and retries, and decides their status.

import { matchesEvent } from '../../../events/event-pattern.js';
import { describeError, silentLogger, writeLog } from '../../../logger.js';
import type { Parts } from '../parts.js';
import { soon } from '../real-time.js';
import { DEVELOPER } from '../seeds.js';
import { buildRequest, isAuthentic, passedOnHeaders } from './apply-fault.js';
import { logFields } from './delivery-record.js';
import { diagnose, retryAfterOf } from './diagnose.js';
import type { FaultKind } from './faults.js';
import { requestSender } from './send-request.js';
import {
  type AttemptResult,
  type CancelReason,
  isFinished,
  newDelivery,
  nextNumber,
  type PlannedFault,
  type SimulatedAttempt,
  type SimulatedDelivery,
  type SimulatedEvent,
} from './simulated-delivery.js';

/** Only `due` and `retry-now` use up the retry schedule. A `resend` is made whatever the status. */
type AttemptCause = 'due' | 'retry-now' | 'duplicate' | 'resend';

const DEFAULT_DELAY_MS = 5_000;
const DEFAULT_SLOW_MS = 2_000;
const MAX_ATTEMPTS_KEPT = 100;
const DROPPED: AttemptResult = {
  response: null,
  error: { code: 'DROPPED', message: 'The delivery was not sent.' },
  durationMs: 0,
};

/** The answer to a captured delivery if there is no app. */
const RECORDED: AttemptResult = {
  response: { status: 200, headers: [], body: '', body_truncated: false },
  error: null,
  durationMs: 0,
};

export class Deliverer {
  readonly #parts: Parts;
  readonly #sender: ReturnType<typeof requestSender>;
  readonly #semaphores = new Map<string, Semaphore>();
  /** By webhook: the delivery that the fault `reorder` holds back until the next one is sent. */
  readonly #heldBack = new Map<string, SimulatedDelivery>();
  readonly #inFlight = new Set<Promise<void>>();
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sender = requestSender(parts.settings.timeout, parts.targets);
    parts.scheduler.onDue = (delivery) => this.deliver(delivery, 'due');
  }

  /** Records one delivery for each webhook that subscribes to the event. Nothing is sent yet. */
  accept(event: SimulatedEvent, plannedFault: PlannedFault | undefined): SimulatedDelivery[] {
    const { store, randomness, scheduler } = this.#parts;
    const createdAt = scheduler.now();
    const subscribers = store
      .webhooksOf(DEVELOPER)
      .filter(({ events }) => events.some((pattern) => matchesEvent(pattern, event.name)));
    return subscribers.map(({ id: webhookId, url, paused }) => {
      const id = randomness.uuid();
      const delivery = newDelivery({ id, event, webhookId, url, createdAt, plannedFault });
      if (paused) this.cancel(delivery, 'webhook_paused');
      else store.saveDelivery(delivery);
      return delivery;
    });
  }

  /** Makes an attempt after those that the delivery has queued; resolves when it is settled, or postponed by a fault. */
  deliver(delivery: SimulatedDelivery, cause: AttemptCause): Promise<void> {
    if (delivery.event.headers) return this.passOn(delivery, delivery.url, 'resend');
    if (cause === 'retry-now') this.#parts.scheduler.remove(delivery);
    const work = () => this.#deliver(delivery, cause);
    return this.#track(delivery, delivery.inFlight ? delivery.inFlight.then(work) : work());
  }

  /**
   * Sends a captured delivery to the app as it came, or answers it if there is no app. It waits for no other attempt: the
   * sender did not either.
   */
  passOn(
    delivery: SimulatedDelivery,
    url: string,
    cause: 'due' | 'resend',
    answered?: (result: AttemptResult, body: Buffer) => void,
  ): Promise<void> {
    return this.#track(delivery, this.#passOn(delivery, url, cause, answered));
  }

  #track(delivery: SimulatedDelivery, work: Promise<void>): Promise<void> {
    const attempt = work
      .catch((error: unknown) => {
        const fields = { delivery: delivery.id, error: describeError(error) };
        writeLog(this.#parts.settings.logger, 'error', fields, 'attempt failed in the simulator');
      })
      .finally(() => {
        if (delivery.inFlight === attempt) delivery.inFlight = undefined;
        this.#inFlight.delete(attempt);
      });
    delivery.inFlight = attempt;
    this.#inFlight.add(attempt);
    return attempt;
  }

  /** Cancels a pending delivery at once, and one in flight when its attempt is settled. */
  cancel(delivery: SimulatedDelivery, reason: CancelReason): void {
    delivery.cancelledBecause = reason;
    this.#dropRetry(delivery);
    if (delivery.status === 'in_flight') return;
    delivery.status = 'cancelled';
    this.#parts.store.saveDelivery(delivery);
  }

  cancelAll(webhookId: string, reason: CancelReason): void {
    for (const delivery of this.#parts.store.deliveries.values()) {
      if (delivery.webhookId === webhookId && !isFinished(delivery)) this.cancel(delivery, reason);
    }
  }

  /** Resolves when no attempt is in flight. Does not wait for scheduled ones. */
  async settled(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
  }

  /** Aborts the attempts in flight, and cancels the timers of scheduled ones. */
  async abort(): Promise<void> {
    this.#heldBack.clear();
    this.#parts.scheduler.clear();
    this.#sender.abort();
    await this.settled();
  }

  /** Stops sending and recording. Unfinished deliveries in the store stay due. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.abort();
  }

  async #passOn(
    delivery: SimulatedDelivery,
    url: string,
    cause: 'due' | 'resend',
    answered: (result: AttemptResult, body: Buffer) => void = () => {},
  ): Promise<void> {
    const { store, scheduler, settings } = this.#parts;
    const startedAt = scheduler.now();
    // The service may send the event again during the attempt, with other bytes.
    const { event } = delivery;
    delivery.url = url;
    delivery.status = 'in_flight';
    store.saveDelivery(delivery);
    const request = { url, headers: passedOnHeaders(event, url), body: event.body, fault: null, slowMs: 0 };
    const isForwarded = settings.capture?.forward !== undefined;
    if (!isForwarded) answered(RECORDED, Buffer.alloc(0));
    const result = isForwarded ? await this.#sender.send({ ...request, answered }) : RECORDED;
    if (this.#isForgotten(delivery)) return;
    // After the answer, so that its time tells a stranger nothing about the signature.
    const inspected = settings.capture?.inspect(event, result.response) ?? { headers: [] };
    const succeeded = isSuccess(result);
    this.#record(delivery, cause, {
      ...result,
      ...inspected,
      ...{ url, body: event.body, startedAt, succeeded, fault: null, nextAttemptAt: null },
      number: nextNumber(delivery),
      trigger: cause === 'resend' ? 'manual' : 'automatic',
      diagnosis: diagnose({ ...result, succeeded, fault: null, captured: true }, settings.timeout),
    });
  }

  async #deliver(delivery: SimulatedDelivery, cause: AttemptCause): Promise<void> {
    const webhook = this.#parts.store.webhooks.get(delivery.webhookId);
    if (this.#closed || !webhook || (cause !== 'resend' && isFinished(delivery))) return;
    const fault = this.#takeFault(delivery, cause);
    if (fault && !fault.postponed && (fault.kind === 'delay' || fault.kind === 'reorder')) {
      this.#postpone(delivery, fault);
      return;
    }
    if (cause !== 'resend') delivery.nextAttemptAt = null;
    const duplicated = fault?.kind === 'duplicate';
    await this.#attempt(delivery, cause, duplicated ? undefined : fault);
    if (duplicated) await this.#attempt(delivery, 'duplicate', fault);
    // It has overtaken the delivery that was held back.
    const late = this.#heldBack.get(delivery.webhookId);
    this.#heldBack.delete(delivery.webhookId);
    if (!late || late === delivery || late.nextAttemptAt === null) return;
    this.#parts.scheduler.remove(late);
    await this.deliver(late, 'due');
  }

  #takeFault(delivery: SimulatedDelivery, cause: AttemptCause): PlannedFault | undefined {
    const planned = delivery.plannedFault;
    const overtakes = this.#heldBack.has(delivery.webhookId);
    if (planned && cause !== 'resend') {
      delivery.plannedFault = undefined;
      return planned.kind === 'reorder' && overtakes && !planned.postponed ? undefined : planned;
    }
    // A resend is sent at once, and a delivery that overtakes another is not held back itself.
    const except: FaultKind[] = cause === 'resend' ? ['delay', 'reorder'] : overtakes ? ['reorder'] : [];
    return this.#parts.faults.pick(delivery.event.name, delivery.webhookId, except);
  }

  #postpone(delivery: SimulatedDelivery, fault: PlannedFault): void {
    delivery.plannedFault = { ...fault, postponed: true };
    delivery.status = delivery.attempts.length === 0 ? 'pending' : 'retrying';
    if (fault.kind === 'reorder') this.#heldBack.set(delivery.webhookId, delivery);
    this.#parts.scheduler.schedule(delivery, fault.delayMs ?? DEFAULT_DELAY_MS);
    this.#parts.store.saveDelivery(delivery);
  }

  async #attempt(delivery: SimulatedDelivery, cause: AttemptCause, planned?: PlannedFault): Promise<void> {
    const { store, scheduler, settings, accounts } = this.#parts;
    const { host } = new URL(delivery.url);
    const semaphore = this.#semaphores.get(host) ?? new Semaphore();
    this.#semaphores.set(host, semaphore);
    await semaphore.acquire();
    try {
      // Read after the wait, during which the webhook may have changed.
      const webhook = store.webhooks.get(delivery.webhookId);
      const cancelled = delivery.status === 'cancelled' && cause !== 'resend';
      if (!webhook || cancelled || this.#isForgotten(delivery)) return;
      delivery.url = webhook.url;
      delivery.status = 'in_flight';
      store.saveDelivery(delivery);
      const fault = planned?.kind ?? null;
      // Read before sending: the key may rotate while the endpoint answers.
      const { privateKey } = accounts.current;
      const startedAt = scheduler.now();
      const key = accounts.signingKey(delivery.event);
      const request = buildRequest(delivery, fault, { key, ...settings });
      const slowMs = planned?.delayMs ?? DEFAULT_SLOW_MS;
      const result = fault === 'drop' ? DROPPED : await this.#sender.send({ ...request, fault, slowMs });
      const succeeded = isSuccess(result);
      const newKey = this.#isNewKey(delivery, privateKey, succeeded && isAuthentic(fault));
      if (this.#isForgotten(delivery)) return;
      this.#record(delivery, cause, {
        ...result,
        number: nextNumber(delivery),
        trigger: cause === 'resend' || cause === 'retry-now' ? 'manual' : 'automatic',
        startedAt,
        succeeded,
        fault,
        diagnosis: diagnose({ ...result, fault, succeeded, newKey }, settings.timeout),
        ...request,
        nextAttemptAt: null,
      });
    } finally {
      semaphore.release();
    }
  }

  /** Whether the simulator was closed or reset in the meantime. */
  #isForgotten(delivery: SimulatedDelivery): boolean {
    return this.#closed || this.#parts.store.deliveries.get(delivery.id) !== delivery;
  }

  /** Whether the endpoint has not accepted this key yet. Remembers the key if it is accepted now. */
  #isNewKey({ webhookId, event }: SimulatedDelivery, key: string, accepted: boolean): boolean {
    const { store, accounts } = this.#parts;
    const webhook = store.webhooks.get(webhookId);
    if (!webhook || accounts.signsWithSandboxKey(event)) return false;
    if (accepted) webhook.acceptedKey = key;
    return (webhook.acceptedKey ?? accounts.initial.privateKey) !== key;
  }

  #record(delivery: SimulatedDelivery, cause: AttemptCause, attempt: SimulatedAttempt): void {
    const { store, settings, scheduler } = this.#parts;
    if (attempt.succeeded) {
      this.#dropRetry(delivery);
      delivery.deliveredAt ??= scheduler.now();
      delivery.cancelledBecause = undefined;
    } else if (cause === 'due' || cause === 'retry-now') this.#scheduleRetry(delivery, attempt);
    attempt.nextAttemptAt = delivery.nextAttemptAt;
    delivery.attempts.push(attempt);
    if (delivery.attempts.length > MAX_ATTEMPTS_KEPT) delivery.attempts.shift();
    delivery.status = statusOf(delivery);
    store.saveDelivery(delivery);
    // Unused log fields would take a tenth of the time.
    if (settings.logger !== silentLogger)
      writeLog(settings.logger, 'info', logFields(delivery, attempt), 'attempt settled');
  }

  #scheduleRetry(delivery: SimulatedDelivery, { response }: SimulatedAttempt): void {
    const { retry, heedRetryAfter } = this.#parts.settings;
    const pause = retry[delivery.retries];
    if (pause === undefined || delivery.cancelledBecause || delivery.deliveredAt !== null) return;
    const asked = heedRetryAfter ? retryAfterOf(response) : undefined;
    delivery.retries += 1;
    this.#parts.scheduler.schedule(delivery, pause !== 0 && asked !== undefined ? asked * 1_000 : pause);
  }

  /** Cancels the pending retry, also in the record of the attempt that announced it. */
  #dropRetry(delivery: SimulatedDelivery): void {
    this.#parts.scheduler.remove(delivery);
    for (const attempt of delivery.attempts) {
      if (attempt.nextAttemptAt === delivery.nextAttemptAt) attempt.nextAttemptAt = null;
    }
    delivery.nextAttemptAt = null;
    delivery.plannedFault = undefined;
  }
}

function isSuccess({ response }: AttemptResult): boolean {
  return response !== null && response.status >= 200 && response.status < 300;
}

function statusOf(delivery: SimulatedDelivery): SimulatedDelivery['status'] {
  if (delivery.deliveredAt !== null) return 'delivered';
  if (delivery.nextAttemptAt !== null) return 'retrying';
  return delivery.cancelledBecause ? 'cancelled' : 'failed';
}

/** Limits the concurrent requests to one host: more would only slow the endpoint down. */
class Semaphore {
  #free = 64;
  readonly #waiting: (() => void)[] = [];

  async acquire(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const next = this.#waiting.shift();
    // Deferred, so that waiting requests start together and wake an idle endpoint only once.
    if (next) soon(next);
    else this.#free += 1;
  }
}
