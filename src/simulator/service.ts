// The simulated service without its port: memory, courier and faults, and what happens in it.

import { builtInEventNames } from '../events/event.js';
import { Courier } from './courier.js';
import { type DeliveryEntry, type HappenedEvent, time } from './delivery.js';
import { faultKinds } from './fault-kinds.js';
import { Faults } from './faults.js';
import { Keyring } from './keyring.js';
import { Ledger } from './ledger.js';
import { Randomness } from './randomness.js';
import { epoch } from './real-time.js';
import { Registrations } from './registrations.js';
import type { Settings } from './settings.js';
import { Snapshot } from './snapshot.js';
import { restoreState, takeState } from './state.js';
import type { State } from './state-file.js';
import { Targets } from './target.js';
import { ManualTimetable, RealTimetable } from './timetable.js';
import { composeEvents, type Trigger } from './trigger.js';

/** Events that happened, and the deliveries that they led to. */
export interface Happened {
  readonly events: HappenedEvent[];
  readonly deliveries: DeliveryEntry[];
}

export class Service {
  readonly settings: Settings;
  readonly ledger = new Ledger();
  readonly keyring: Keyring;
  readonly randomness: Randomness;
  readonly targets: Targets;
  readonly faults: Faults;
  readonly courier: Courier;
  readonly registrations: Registrations;
  readonly #startedAt = epoch();
  readonly #due: readonly DeliveryEntry[];
  #snapshot: Snapshot | undefined;

  constructor(settings: Settings, state: State | undefined) {
    const { ledger } = this;
    this.settings = settings;
    this.keyring = new Keyring(settings);
    this.randomness = new Randomness(settings.seed);
    this.targets = new Targets(settings.allowTargets);
    this.faults = new Faults(ledger, this.randomness);
    this.courier = new Courier({
      ...{ settings, ledger, faults: this.faults, keyring: this.keyring },
      ...{ randomness: this.randomness, targets: this.targets },
      makeTimetable: (run) =>
        settings.clock === 'real' ? new RealTimetable(run) : new ManualTimetable(run, state?.now ?? epoch()),
    });
    this.registrations = new Registrations({
      ...{ ledger, targets: this.targets, randomness: this.randomness },
      now: () => this.courier.timetable.now(),
    });
    this.#due = state ? restoreState(state, this) : [];
  }

  /** Begins to keep the state file, and sends what was due when the last process ended. */
  async open(): Promise<void> {
    const { ledger, settings } = this;
    const { state: path, logger } = settings;
    if (path !== undefined) {
      this.#snapshot = await Snapshot.begin({ path, ledger, logger, take: () => takeState(this) });
    }
    for (const delivery of this.#due) void this.courier.send(delivery);
  }

  /** Records the events and their deliveries; nothing is sent yet. */
  happen(trigger: Trigger): Happened {
    const events = composeEvents(trigger, () => this.randomness.uuid());
    return { events, deliveries: events.flatMap((event) => this.courier.accept(event, trigger.fault)) };
  }

  rotateKeys(keys: { readonly privateKey?: unknown; readonly sandboxKey?: unknown }): void {
    this.keyring.rotate(keys);
    this.ledger.tell({ kind: 'keys' });
  }

  /** Moves the manual clock; resolves when every attempt that fell due is settled. */
  async advance(ms: number): Promise<void> {
    // What is under way fails or succeeds at the time at which it began.
    await this.courier.settled();
    await this.courier.timetable.advance(ms);
    await this.courier.settled();
    this.ledger.tell({ kind: 'clock' });
  }

  async reset(): Promise<void> {
    this.ledger.clear();
    this.faults.clear();
    this.keyring.reset();
    await this.courier.abort();
  }

  /** Resolves when what has changed will survive a crash; at once when nothing is kept. */
  saved(): Promise<void> {
    return this.#snapshot?.saved() ?? Promise.resolve();
  }

  async close(): Promise<void> {
    await this.courier.close();
    await this.#snapshot?.close();
  }

  /** What the page and the command line want to know about this simulator. */
  describe(): object {
    const { settings, courier } = this;
    return {
      ready: true,
      simulator: 'payment-webhooks',
      pid: process.pid,
      started_at: time(this.#startedAt),
      now: time(courier.timetable.now()),
      clock: settings.clock,
      retry: settings.retry,
      max_attempts: settings.retry.length + 1,
      timeout_ms: settings.timeout,
      signature_header: settings.signatureHeader,
      sandbox_signing: settings.sandboxSigning,
      event_names: builtInEventNames,
      fault_kinds: faultKinds,
      state: settings.state !== undefined,
      state_error: this.#snapshot?.error ?? null,
    };
  }
}
