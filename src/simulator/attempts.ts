// Makes one attempt: signs, posts, records how it went and decides whether another one follows.
import { type Logger, silentLogger, writeLog } from '../logger.js';
import { messageOf } from './damage.js';
import { type AttemptEntry, type DeliveryEntry, type PlannedFault, time } from './delivery.js';
import { diagnose } from './diagnose.js';
import type { FaultKind } from './fault-kinds.js';
import type { Keyring } from './keyring.js';
import type { Ledger } from './ledger.js';
import { makeWire, type Outcome, post, type Wire } from './post.js';
import type { Settings } from './settings.js';
import type { Targets } from './target.js';
import type { Timetable } from './timetable.js';
import { Turnstile } from './turnstile.js';

/** What attempts are made with. */
export interface AttemptTools {
  readonly settings: Settings;
  readonly ledger: Ledger;
  readonly keyring: Keyring;
  readonly targets: Targets;
  readonly timetable: Timetable;
}

/** Why an attempt is made. The first two use up the retry schedule. */
export type Cause = 'due' | 'retry-now' | 'duplicate' | 'resend';

// More at once make an endpoint slower, not faster.
const AT_ONCE_PER_HOST = 64;
const SLOW_MS = 2_000;
const DROPPED: Outcome = {
  response: null,
  error: { code: 'DROPPED', message: 'The delivery was not sent.' },
  durationMs: 0,
};

export class Attempts {
  readonly #tools: AttemptTools;
  readonly #wire: Wire;
  readonly #turnstiles = new Map<string, Turnstile>();
  #closed = false;

  constructor(tools: AttemptTools) {
    this.#tools = tools;
    this.#wire = makeWire(tools.settings.timeout);
  }

  /** Resolves when the attempt is settled and recorded. */
  async make(delivery: DeliveryEntry, cause: Cause, fault: PlannedFault | undefined): Promise<void> {
    const { ledger, targets } = this.#tools;
    const { host } = targets.of(delivery.url);
    const turnstile = this.#turnstiles.get(host) ?? new Turnstile(AT_ONCE_PER_HOST);
    this.#turnstiles.set(host, turnstile);
    await turnstile.enter();
    try {
      const webhook = ledger.webhooks.get(delivery.webhookId);
      const cancelled = delivery.status === 'cancelled' && cause !== 'resend';
      if (!webhook || cancelled || this.#isGone(delivery)) return;
      delivery.url = webhook.url;
      delivery.status = 'in_flight';
      ledger.saveDelivery(delivery);
      const attempt = await this.#send(delivery, cause, fault);
      if (!this.#isGone(delivery)) this.#record(delivery, cause, attempt);
    } finally {
      turnstile.leave();
      if (turnstile.idle) this.#turnstiles.delete(host);
    }
  }

  abort(): void {
    for (const request of this.#wire.open) request.destroy();
  }

  /** Nothing is sent or recorded any more. */
  close(): void {
    this.#closed = true;
    this.#wire.agents.http.destroy();
    this.#wire.agents.https.destroy();
  }

  /** Closed or reset in the meantime: there is nothing left to record it in. */
  #isGone(delivery: DeliveryEntry): boolean {
    return this.#closed || this.#tools.ledger.deliveries.get(delivery.id) !== delivery;
  }

  async #send(delivery: DeliveryEntry, cause: Cause, fault: PlannedFault | undefined): Promise<AttemptEntry> {
    const { timetable, settings, targets } = this.#tools;
    const startedAt = timetable.now();
    const target = targets.of(delivery.url);
    const message = this.#message(delivery, target.host, fault?.kind);
    const slowMs = fault?.delayMs ?? SLOW_MS;
    const outcome =
      message.manner === 'dropped' ? DROPPED : await post(this.#wire, target, { message, slowMs });
    const { response, error, durationMs } = outcome;
    const succeeded = response !== null && response.status >= 200 && response.status < 300;
    const kind = fault?.kind ?? null;
    return {
      number: delivery.nextNumber,
      trigger: cause === 'resend' || cause === 'retry-now' ? 'manual' : 'automatic',
      startedAt,
      durationMs,
      succeeded,
      fault: kind,
      diagnosis: diagnose({ fault: kind, response, error, succeeded }, settings.timeout),
      url: delivery.url,
      headers: message.headers,
      body: message.body,
      response,
      error,
      nextAttemptAt: null,
    };
  }

  #message({ id, event, nextNumber }: DeliveryEntry, host: string, fault: FaultKind | undefined) {
    const { settings, keyring } = this.#tools;
    const { signatureHeader } = settings;
    const key = keyring.signingKey(event.sandbox && settings.sandboxSigning === 'sandbox-key');
    const message = messageOf({ host, body: event.body, key, signatureHeader }, fault);
    if (settings.debugHeaders) {
      message.headers.push(['X-SIM-DELIVERY', id], ['X-SIM-ATTEMPT', String(nextNumber)]);
      if (fault) message.headers.push(['X-SIM-FAULT', fault]);
    }
    return message;
  }

  #record(delivery: DeliveryEntry, cause: Cause, attempt: AttemptEntry): void {
    const { ledger, settings, timetable } = this.#tools;
    if (attempt.succeeded) {
      delivery.dropRetry();
      delivery.deliveredAt ??= timetable.now();
      delivery.cancelledBecause = undefined;
    } else if (cause === 'due' || cause === 'retry-now') this.#scheduleRetry(delivery);
    attempt.nextAttemptAt = attempt.succeeded ? null : delivery.nextAttemptAt;
    delivery.add(attempt);
    delivery.status = statusOf(delivery);
    ledger.saveDelivery(delivery);
    log(settings.logger, delivery, attempt);
  }

  #scheduleRetry(delivery: DeliveryEntry): void {
    const pause = this.#tools.settings.retry[delivery.retries];
    if (pause === undefined || delivery.cancelledBecause || delivery.deliveredAt !== null) return;
    delivery.retries += 1;
    this.#tools.timetable.wait(delivery, pause);
  }
}

function log(logger: Logger, { id, event, status }: DeliveryEntry, attempt: AttemptEntry): void {
  // Thousands of fields that nobody reads would cost a tenth of the time.
  if (logger === silentLogger) return;
  const { number, durationMs, url, response, error, fault, diagnosis } = attempt;
  const fields = {
    ...{ delivery: id, event: event.id, eventName: event.name, url },
    ...{ attempt: number, status, answer: response?.status ?? error?.code, durationMs, fault, diagnosis },
    nextAttemptAt: time(attempt.nextAttemptAt),
  };
  writeLog(logger, 'info', fields, 'attempt settled');
}

function statusOf(delivery: DeliveryEntry): DeliveryEntry['status'] {
  if (delivery.deliveredAt !== null) return 'delivered';
  if (delivery.nextAttemptAt !== null) return 'retrying';
  return delivery.cancelledBecause ? 'cancelled' : 'failed';
}
