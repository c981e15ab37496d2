// Carries deliveries to their webhooks, in their order and at their time.
import { describeError, writeLog } from '../logger.js';
import { Attempts, type AttemptTools, type Cause } from './attempts.js';
import { DeliveryEntry, type HappenedEvent, type PlannedFault } from './delivery.js';
import type { FaultKind } from './fault-kinds.js';
import type { Faults } from './faults.js';
import type { Randomness } from './randomness.js';
import type { Timetable } from './timetable.js';

/** What the courier works with. */
export interface CourierTools extends Omit<AttemptTools, 'timetable'> {
  readonly faults: Faults;
  readonly randomness: Randomness;
  readonly makeTimetable: (run: (delivery: DeliveryEntry) => Promise<void>) => Timetable;
}

const POSTPONE_MS = 5_000;

export class Courier {
  readonly timetable: Timetable;
  readonly #tools: CourierTools;
  readonly #attempts: Attempts;
  /** By webhook, the delivery that the fault `reorder` keeps until another one has overtaken it. */
  readonly #overtakable = new Map<string, DeliveryEntry>();
  #underWay = 0;
  #quietWaiters: (() => void)[] = [];
  #closed = false;

  constructor(tools: CourierTools) {
    this.#tools = tools;
    this.timetable = tools.makeTimetable((delivery) => this.send(delivery));
    this.#attempts = new Attempts({ ...tools, timetable: this.timetable });
  }

  /** Records one delivery for each webhook that subscribes to the event. Nothing is sent yet. */
  accept(event: HappenedEvent, fault?: Omit<PlannedFault, 'postponed'>): DeliveryEntry[] {
    const { ledger, randomness } = this.#tools;
    return ledger.subscribers(event.name).map((webhook) => {
      const { id: webhookId, url } = webhook;
      const createdAt = this.timetable.now();
      const delivery = new DeliveryEntry({ id: randomness.uuid(), event, webhookId, url, createdAt });
      if (fault) delivery.plannedFault = { ...fault, postponed: false };
      if (webhook.paused) ledger.cancel(delivery, 'webhook_paused');
      else ledger.saveDelivery(delivery);
      return delivery;
    });
  }

  /** Makes the attempt that is due; resolves when it is settled, or postponed by a fault. */
  send(delivery: DeliveryEntry): Promise<void> {
    return this.#queue(delivery, 'due');
  }

  /** Makes the attempt now that waits for its time. */
  retryNow(delivery: DeliveryEntry): Promise<void> {
    delivery.list?.remove(delivery);
    return this.#queue(delivery, 'retry-now');
  }

  /** One more attempt, whatever became of the earlier ones. A retry that waits goes on waiting unless it succeeds. */
  resend(delivery: DeliveryEntry): Promise<void> {
    return this.#queue(delivery, 'resend');
  }

  /** Resolves when nothing is under way; what waits for its time is not waited for. */
  settled(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#quietWaiters.push(resolve));
  }

  /** Breaks off what is under way. Deliveries that are still in the ledger stay due. */
  async abort(): Promise<void> {
    this.#overtakable.clear();
    this.#attempts.abort();
    await this.settled();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.timetable.stop();
    this.#attempts.close();
    await this.abort();
  }

  /** Attempts of one delivery follow each other: each waits for the one before it. */
  #queue(delivery: DeliveryEntry, cause: Cause): Promise<void> {
    this.#underWay += 1;
    const carry = () => this.#carry(delivery, cause);
    const flight = (delivery.flight ? delivery.flight.then(carry) : carry())
      .catch((error: unknown) => {
        const fields = { delivery: delivery.id, error: describeError(error) };
        writeLog(this.#tools.settings.logger, 'error', fields, 'attempt broke off');
      })
      .finally(() => {
        if (delivery.flight === flight) delivery.flight = undefined;
        this.#underWay -= 1;
        if (this.#underWay === 0) for (const resolve of this.#quietWaiters.splice(0)) resolve();
      });
    delivery.flight = flight;
    return flight;
  }

  async #carry(delivery: DeliveryEntry, cause: Cause): Promise<void> {
    const webhook = this.#tools.ledger.webhooks.get(delivery.webhookId);
    if (this.#closed || !webhook || (cause !== 'resend' && delivery.finished)) return;
    const fault = this.#faultOf(delivery, cause);
    if (fault && !fault.postponed && (fault.kind === 'delay' || fault.kind === 'reorder')) {
      this.#postpone(delivery, fault);
      return;
    }
    if (cause !== 'resend') delivery.nextAttemptAt = null;
    const repeat = fault?.kind === 'duplicate';
    await this.#attempts.make(delivery, cause, repeat ? undefined : fault);
    if (repeat) await this.#attempts.make(delivery, 'duplicate', fault);
    await this.#sendOvertaken(delivery);
  }

  #faultOf(delivery: DeliveryEntry, cause: Cause): PlannedFault | undefined {
    const planned = delivery.plannedFault;
    const overtaking = this.#overtakable.has(delivery.webhookId);
    if (planned && cause !== 'resend') {
      delivery.plannedFault = undefined;
      return planned.kind === 'reorder' && overtaking && !planned.postponed ? undefined : planned;
    }
    // A person who sends again wants it sent now, and what overtakes another is not held back itself.
    const without: FaultKind[] = cause === 'resend' ? ['delay', 'reorder'] : overtaking ? ['reorder'] : [];
    const fault = this.#tools.faults.pick(delivery, without);
    return fault && { kind: fault.kind, delayMs: fault.delayMs, postponed: false };
  }

  #postpone(delivery: DeliveryEntry, fault: PlannedFault): void {
    delivery.plannedFault = { ...fault, postponed: true };
    delivery.status = delivery.attempts.length === 0 ? 'pending' : 'retrying';
    if (fault.kind === 'reorder') this.#overtakable.set(delivery.webhookId, delivery);
    this.timetable.wait(delivery, fault.delayMs ?? POSTPONE_MS);
    this.#tools.ledger.saveDelivery(delivery);
  }

  async #sendOvertaken(delivery: DeliveryEntry): Promise<void> {
    const late = this.#overtakable.get(delivery.webhookId);
    this.#overtakable.delete(delivery.webhookId);
    if (!late || late === delivery || late.nextAttemptAt === null) return;
    late.list?.remove(late);
    await this.send(late);
  }
}
