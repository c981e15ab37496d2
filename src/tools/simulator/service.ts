// What the simulated service does, without the HTTP server.
import { builtInEventNames } from '../../events/event.js';
import { writeLog } from '../../logger.js';
import { HttpError } from '../pages/http-error.js';
import type { KeyPair } from './accounts.js';
import { Registrations } from './api/registrations.js';
import { Deliverer } from './delivery/deliverer.js';
import { isoTime } from './delivery/delivery-record.js';
import { faultKinds } from './delivery/faults.js';
import { isFinished, type SimulatedDelivery, type SimulatedEvent } from './delivery/simulated-delivery.js';
import { Parts } from './parts.js';
import { readFields } from './read-fields.js';
import type { SimulatorSettings } from './settings.js';
import { restoreState, takeState } from './state/state.js';
import { StateFile } from './state/state-file.js';
import { createEvents, triggerFields } from './trigger.js';

export class Service extends Parts {
  readonly deliverer = new Deliverer(this);
  readonly registrations = new Registrations(this, this.deliverer);
  /** Known once the port is open. */
  baseUrl = '';
  readonly #file: StateFile | undefined;

  private constructor(settings: SimulatorSettings, file?: StateFile) {
    super(settings, file?.content?.now);
    this.#file = file;
    if (file?.content) restoreState(file.content, this);
  }

  get maxAttempts(): number {
    return this.settings.retry.length + 1;
  }

  /** Restores the state file, and saves every change to it. @throws {ConfigurationError} for an unusable file */
  static async open(settings: SimulatorSettings): Promise<Service> {
    const { state, logger } = settings;
    if (state === undefined) return new Service(settings);
    const file = await StateFile.open(state, logger);
    try {
      const service = new Service(settings, file);
      await file.begin(() => takeState(service));
      service.store.watch(() => file.writeSoon());
      return service;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Schedules the attempts that were pending when the last process ended, and sends those that are due. */
  resume(): void {
    const unfinished = this.store.allDeliveries().filter((one) => !isFinished(one));
    this.scheduler.resume(unfinished.filter(({ nextAttemptAt }) => nextAttemptAt !== null));
    const due = unfinished.filter(({ nextAttemptAt }) => nextAttemptAt === null);
    for (const delivery of due) void this.deliverer.deliver(delivery, 'due');
  }

  /** Records the events and their deliveries; nothing is sent yet. @throws {HttpError} for invalid fields */
  trigger(fields: object): { events: SimulatedEvent[]; deliveries: SimulatedDelivery[] } {
    const trigger = readFields(triggerFields, fields);
    const fault = trigger.fault ?? undefined;
    const events = createEvents(trigger, () => this.randomness.uuid());
    return { events, deliveries: events.flatMap((event) => this.deliverer.accept(event, fault)) };
  }

  /** @throws {HttpError} for an unknown id */
  delivery(id: string): SimulatedDelivery {
    const delivery = this.store.deliveries.get(id);
    if (!delivery) throw HttpError.unknown('delivery', id);
    return delivery;
  }

  /** The delivery, if it can be sent again. @throws {HttpError} if not */
  resendable(id: string): SimulatedDelivery {
    const delivery = this.delivery(id);
    if (this.store.webhooks.has(delivery.webhookId)) return delivery;
    throw new HttpError(409, 'The webhook of this delivery was deleted, so it cannot be sent again.');
  }

  rotateKeys(keys: Partial<Record<keyof KeyPair, unknown>>): void {
    this.accounts.rotate(keys);
    this.store.notify({ kind: 'keys' });
  }

  rotatePrivateKey(): string {
    const privateKey = `pri_sim_${this.randomness.uuid().replaceAll('-', '')}`;
    this.rotateKeys({ privateKey });
    const { logger } = this.settings;
    writeLog(logger, 'warn', {}, 'the private key was rotated, and the old one no longer works');
    return privateKey;
  }

  /** Advances the manual clock; resolves when every attempt that is due by then is settled. */
  async advance(ms: number): Promise<void> {
    // Attempts in flight settle before the clock moves.
    await this.deliverer.settled();
    await this.scheduler.advance(ms);
    await this.deliverer.settled();
    this.store.notify({ kind: 'clock' });
  }

  async reset(): Promise<void> {
    this.store.clear();
    this.faults.clear();
    this.accounts.current = this.accounts.initial;
    await this.deliverer.abort();
  }

  /** Resolves when every change is on disk; at once without a state file. */
  saved(): Promise<void> {
    return this.#file?.saved() ?? Promise.resolve();
  }

  async close(): Promise<void> {
    await this.deliverer.close();
    await this.#file?.close();
  }

  /** The settings and the status that the page and the CLI read. */
  describe(): object {
    const { settings } = this;
    return {
      ready: true,
      simulator: 'payment-webhooks',
      pid: process.pid,
      started_at: isoTime(this.startedAt),
      now: isoTime(this.scheduler.now()),
      clock: settings.clock,
      retry: settings.retry,
      max_attempts: this.maxAttempts,
      timeout_ms: settings.timeout,
      signature_header: settings.signatureHeader,
      sandbox_signing: settings.sandboxSigning,
      event_names: builtInEventNames,
      fault_kinds: faultKinds,
      state: settings.state !== undefined,
      state_error: this.#file?.error ?? null,
    };
  }
}
