// The parts of the simulated service: what deliveries, registrations and the state file work on.
import { Accounts } from './accounts.js';
import { Targets } from './address/targets.js';
import { Faults } from './delivery/faults.js';
import { Scheduler } from './delivery/scheduler.js';
import { Randomness } from './randomness.js';
import { now } from './real-time.js';
import type { SimulatorSettings } from './settings.js';
import { SimulatorStore } from './simulator-store.js';

export class Parts {
  readonly settings: SimulatorSettings;
  readonly startedAt = now();
  readonly store = new SimulatorStore();
  readonly accounts: Accounts;
  readonly randomness: Randomness;
  readonly targets: Targets;
  readonly faults: Faults;
  readonly scheduler: Scheduler;

  /** @param time at which a manual clock starts, if it is not now */
  constructor(settings: SimulatorSettings, time?: number) {
    this.settings = settings;
    this.accounts = new Accounts(settings);
    this.randomness = new Randomness(settings.seed);
    this.targets = new Targets(settings.allowTargets);
    this.faults = new Faults(this.randomness, () => this.store.notify({ kind: 'faults' }));
    this.scheduler = new Scheduler(settings.clock === 'manual' ? (time ?? this.startedAt) : undefined);
  }
}
