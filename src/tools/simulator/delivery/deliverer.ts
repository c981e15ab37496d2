// Delivers events to their webhooks: in order, at the scheduled time, one attempt of a delivery at a time.
import { describeError, writeLog } from '../../../logger.js';
import { type AttemptCause, Attempts, type ServiceParts } from './attempts.js';
import type { FaultKind } from './faults.js';
import { type PlannedFault, SimulatedDelivery, type SimulatedEvent } from './simulated-delivery.js';

const DEFAULT_DELAY_MS = 5_000;

export class Deliverer {
  readonly #parts: ServiceParts;
  readonly #attempts: Attempts;
  /** By webhook: the delivery that the fault `reorder` holds back until another one has been sent. */
  readonly #heldBack = new Map<string, SimulatedDelivery>();
  #inFlight = 0;
  #idleWaiters: (() => void)[] = [];
  #closed = false;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#attempts = new Attempts(parts);
    parts.scheduler.onDue = (delivery) => this.send(delivery);
  }

  /** Records one delivery for each webhook that subscribes to the event. Nothing is sent yet. */
  accept(event: SimulatedEvent, fault?: Omit<PlannedFault, 'postponed'>): SimulatedDelivery[] {
    const { store, randomness, scheduler } = this.#parts;
    return store.subscribers(event.name).map((webhook) => {
      const { id: webhookId, url } = webhook;
      const createdAt = scheduler.now();
      const delivery = new SimulatedDelivery({ id: randomness.uuid(), event, webhookId, url, createdAt });
      if (fault) delivery.plannedFault = { ...fault, postponed: false };
      if (webhook.paused) store.cancel(delivery, 'webhook_paused');
      else store.saveDelivery(delivery);
      return delivery;
    });
  }

  /** Makes the attempt that is due; resolves when it is settled, or postponed by a fault. */
  send(delivery: SimulatedDelivery): Promise<void> {
    return this.#queue(delivery, 'due');
  }

  /** Makes the scheduled attempt now. */
  retryNow(delivery: SimulatedDelivery): Promise<void> {
    delivery.list?.remove(delivery);
    return this.#queue(delivery, 'retry-now');
  }

  /** Makes one more attempt, whatever the earlier ones did. A pending retry stays unless this one succeeds. */
  resend(delivery: SimulatedDelivery): Promise<void> {
    return this.#queue(delivery, 'resend');
  }

  /** Resolves when no attempt is in flight. Does not wait for scheduled ones. */
  settled(): Promise<void> {
    if (this.#inFlight === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Ends the attempts in flight. Deliveries that are still in the store stay due. */
  async abort(): Promise<void> {
    this.#heldBack.clear();
    this.#attempts.abort();
    await this.settled();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#parts.scheduler.stop();
    this.#attempts.close();
    await this.abort();
  }

  /** The delivery queue: each attempt of a delivery waits for the one before it. */
  #queue(delivery: SimulatedDelivery, cause: AttemptCause): Promise<void> {
    this.#inFlight += 1;
    const deliver = () => this.#deliver(delivery, cause);
    const attempt = (delivery.inFlight ? delivery.inFlight.then(deliver) : deliver())
      .catch((error: unknown) => {
        const fields = { delivery: delivery.id, error: describeError(error) };
        writeLog(this.#parts.settings.logger, 'error', fields, 'attempt failed in the simulator');
      })
      .finally(() => {
        if (delivery.inFlight === attempt) delivery.inFlight = undefined;
        this.#inFlight -= 1;
        if (this.#inFlight === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
      });
    delivery.inFlight = attempt;
    return attempt;
  }

  async #deliver(delivery: SimulatedDelivery, cause: AttemptCause): Promise<void> {
    const webhook = this.#parts.store.webhooks.get(delivery.webhookId);
    if (this.#closed || !webhook || (cause !== 'resend' && delivery.finished)) return;
    const fault = this.#takeFault(delivery, cause);
    if (fault && !fault.postponed && (fault.kind === 'delay' || fault.kind === 'reorder')) {
      this.#postpone(delivery, fault);
      return;
    }
    if (cause !== 'resend') delivery.nextAttemptAt = null;
    const duplicated = fault?.kind === 'duplicate';
    await this.#attempts.make(delivery, cause, duplicated ? undefined : fault);
    if (duplicated) await this.#attempts.make(delivery, 'duplicate', fault);
    await this.#sendHeldBack(delivery);
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
    const fault = this.#parts.faults.pick(delivery.event.name, delivery.webhookId, except);
    return fault && { kind: fault.kind, delayMs: fault.delayMs, postponed: false };
  }

  #postpone(delivery: SimulatedDelivery, fault: PlannedFault): void {
    delivery.plannedFault = { ...fault, postponed: true };
    delivery.status = delivery.attempts.length === 0 ? 'pending' : 'retrying';
    if (fault.kind === 'reorder') this.#heldBack.set(delivery.webhookId, delivery);
    this.#parts.scheduler.schedule(delivery, fault.delayMs ?? DEFAULT_DELAY_MS);
    this.#parts.store.saveDelivery(delivery);
  }

  async #sendHeldBack(overtaking: SimulatedDelivery): Promise<void> {
    const late = this.#heldBack.get(overtaking.webhookId);
    this.#heldBack.delete(overtaking.webhookId);
    if (!late || late === overtaking || late.nextAttemptAt === null) return;
    late.list?.remove(late);
    await this.send(late);
  }
}
