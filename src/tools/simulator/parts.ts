// The parts of the simulated service: what deliveries, registrations and the state file work on.
import { Accounts } from './accounts.js';
import { Targets } from './address/targets.js';
import { faultList } from './delivery/faults.js';
import { Scheduler } from './delivery/scheduler.js';
import { Randomness } from './randomness.js';
import { now } from './real-time.js';
import type { SimulatorSettings } from './settings.js';
import { SimulatorStore } from './simulator-store.js';

export type Parts = ReturnType<typeof makeParts>;

/** @param time at which a manual clock starts, if it is not now */
export function makeParts(settings: SimulatorSettings, time?: number) {
  const startedAt = now();
  const store = new SimulatorStore();
  const randomness = new Randomness(settings.seed);
  return {
    ...{ settings, startedAt, store, randomness },
    accounts: new Accounts(settings),
    targets: new Targets(settings.allowTargets),
    faults: faultList(randomness, () => store.notify({ kind: 'faults' })),
    scheduler: new Scheduler(settings.clock === 'manual' ? (time ?? startedAt) : undefined),
  };
}
