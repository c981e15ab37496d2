// Makes one attempt: signs and sends the request, records the result and schedules the retry.
import { silentLogger, writeLog } from '../../../logger.js';
import type { Accounts } from '../accounts.js';
import type { Targets } from '../address/targets.js';
import type { Randomness } from '../randomness.js';
import { soon } from '../real-time.js';
import type { SimulatorSettings } from '../settings.js';
import type { SimulatorStore } from '../simulator-store.js';
import { buildRequest, isAuthentic } from './apply-fault.js';
import { logFields } from './delivery-record.js';
import { diagnose, retryAfterOf } from './diagnose.js';
import type { FaultKind, Faults } from './faults.js';
import type { Scheduler } from './scheduler.js';
import { RequestSender } from './send-request.js';
import type {
  AttemptResult,
  PlannedFault,
  SimulatedAttempt,
  SimulatedDelivery,
} from './simulated-delivery.js';

/** The parts of the simulated service that work together on deliveries. */
export interface ServiceParts {
  readonly settings: SimulatorSettings;
  readonly store: SimulatorStore;
  readonly accounts: Accounts;
  readonly targets: Targets;
  readonly faults: Faults;
  readonly randomness: Randomness;
  readonly scheduler: Scheduler;
}

/** Why an attempt is made. `due` and `retry-now` use up the retry schedule. */
export type AttemptCause = 'due' | 'retry-now' | 'duplicate' | 'resend';

// More at once make an endpoint slower, not faster.
const MAX_IN_FLIGHT_PER_HOST = 64;
const DEFAULT_SLOW_MS = 2_000;
const DROPPED: AttemptResult = {
  response: null,
  error: { code: 'DROPPED', message: 'The delivery was not sent.' },
  durationMs: 0,
};

export class Attempts {
  readonly #parts: ServiceParts;
  readonly #sender: RequestSender;
  readonly #semaphores = new Map<string, Semaphore>();
  #closed = false;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#sender = new RequestSender(parts.settings.timeout);
  }

  /** Resolves when the attempt is settled and recorded. */
  async make(
    delivery: SimulatedDelivery,
    cause: AttemptCause,
    fault: PlannedFault | undefined,
  ): Promise<void> {
    const { store, targets } = this.#parts;
    const { host } = targets.of(delivery.url);
    const semaphore = this.#semaphores.get(host) ?? new Semaphore(MAX_IN_FLIGHT_PER_HOST);
    this.#semaphores.set(host, semaphore);
    await semaphore.acquire();
    try {
      const webhook = store.webhooks.get(delivery.webhookId);
      const cancelled = delivery.status === 'cancelled' && cause !== 'resend';
      if (!webhook || cancelled || this.#isForgotten(delivery)) return;
      delivery.url = webhook.url;
      delivery.status = 'in_flight';
      store.saveDelivery(delivery);
      const attempt = await this.#send(delivery, cause, fault);
      if (!this.#isForgotten(delivery)) this.#record(delivery, cause, attempt);
    } finally {
      semaphore.release();
      if (semaphore.idle) this.#semaphores.delete(host);
    }
  }

  abort(): void {
    this.#sender.abort();
  }

  /** From now on nothing is sent or recorded. */
  close(): void {
    this.#closed = true;
    this.#sender.close();
  }

  /** Closed or reset in the meantime, so there is nothing to record it in. */
  #isForgotten(delivery: SimulatedDelivery): boolean {
    return this.#closed || this.#parts.store.deliveries.get(delivery.id) !== delivery;
  }

  async #send(
    delivery: SimulatedDelivery,
    cause: AttemptCause,
    plan: PlannedFault | undefined,
  ): Promise<SimulatedAttempt> {
    const { scheduler, settings, targets, accounts } = this.#parts;
    // Read now: it may be rotated while the endpoint answers.
    const { privateKey } = accounts.current;
    const startedAt = scheduler.now();
    const target = targets.of(delivery.url);
    const request = this.#request(delivery, target.host, plan?.kind);
    const slowMs = plan?.delayMs ?? DEFAULT_SLOW_MS;
    const result =
      plan?.kind === 'drop'
        ? DROPPED
        : await this.#sender.send(target, { ...request, fault: plan?.kind, slowMs });
    const { response } = result;
    const succeeded = response !== null && response.status >= 200 && response.status < 300;
    const fault = plan?.kind ?? null;
    const newKey = this.#isNewKey(delivery, privateKey, succeeded && isAuthentic(fault));
    return {
      ...result,
      number: delivery.nextNumber,
      trigger: cause === 'resend' || cause === 'retry-now' ? 'manual' : 'automatic',
      startedAt,
      succeeded,
      fault,
      diagnosis: diagnose({ ...result, fault, succeeded, newKey }, settings.timeout),
      url: delivery.url,
      ...request,
      nextAttemptAt: null,
    };
  }

  /** Whether the endpoint has yet to accept this key; remembers one that it accepted. */
  #isNewKey({ webhookId, event }: SimulatedDelivery, key: string, accepted: boolean): boolean {
    const { store, accounts, settings } = this.#parts;
    const webhook = store.webhooks.get(webhookId);
    // The sandbox key signed.
    if (!webhook || (event.sandbox && settings.sandboxSigning === 'sandbox-key')) return false;
    if (accepted) webhook.acceptedKey = key;
    return (webhook.acceptedKey ?? accounts.initial.privateKey) !== key;
  }

  #request({ id, event, nextNumber }: SimulatedDelivery, host: string, fault: FaultKind | undefined) {
    const { settings, accounts } = this.#parts;
    const { signatureHeader = settings.signatureHeader } = event;
    const key = accounts.signingKey(event.sandbox && settings.sandboxSigning === 'sandbox-key');
    const request = buildRequest({ host, body: event.body, key, signatureHeader }, fault);
    if (settings.debugHeaders) {
      request.headers.push(['X-SIM-DELIVERY', id], ['X-SIM-ATTEMPT', String(nextNumber)]);
      if (fault) request.headers.push(['X-SIM-FAULT', fault]);
    }
    return request;
  }

  #record(delivery: SimulatedDelivery, cause: AttemptCause, attempt: SimulatedAttempt): void {
    const { store, settings, scheduler } = this.#parts;
    if (attempt.succeeded) {
      delivery.dropRetry();
      delivery.deliveredAt ??= scheduler.now();
      delivery.cancelledBecause = undefined;
    } else if (cause === 'due' || cause === 'retry-now') this.#scheduleRetry(delivery, attempt);
    attempt.nextAttemptAt = attempt.succeeded ? null : delivery.nextAttemptAt;
    delivery.addAttempt(attempt);
    delivery.status = statusOf(delivery);
    store.saveDelivery(delivery);
    // Collecting the fields of every attempt for nobody would take a tenth of the time.
    if (settings.logger !== silentLogger)
      writeLog(settings.logger, 'info', logFields(delivery, attempt), 'attempt settled');
  }

  #scheduleRetry(delivery: SimulatedDelivery, { response }: SimulatedAttempt): void {
    const { retry, heedRetryAfter } = this.#parts.settings;
    const asked = heedRetryAfter ? retryAfterOf(response) : undefined;
    const pause = retry[delivery.retries] && asked !== undefined ? asked * 1_000 : retry[delivery.retries];
    if (pause === undefined || delivery.cancelledBecause || delivery.deliveredAt !== null) return;
    delivery.retries += 1;
    this.#parts.scheduler.schedule(delivery, pause);
  }
}

function statusOf(delivery: SimulatedDelivery): SimulatedDelivery['status'] {
  if (delivery.deliveredAt !== null) return 'delivered';
  if (delivery.nextAttemptAt !== null) return 'retrying';
  return delivery.cancelledBecause ? 'cancelled' : 'failed';
}

class Semaphore {
  readonly #limit: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  get idle(): boolean {
    return this.#running === 0;
  }

  /** Resolves when it is the caller's turn, which ends with {@link release}. */
  async acquire(): Promise<void> {
    if (this.#running < this.#limit) {
      this.#running += 1;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const next = this.#waiting.shift();
    // Requests that start in one turn of the event loop are sent together: an idle endpoint wakes up once.
    if (next) soon(next);
    else this.#running -= 1;
  }
}
