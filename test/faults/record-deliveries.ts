// Delivers events while faults are injected, then all of them once more, and records what happened.
import type { Pool } from 'pg';
import { type CampaignRecord, type History, recordsFrom } from './history.js';
import { LEASE_MS, type LedgerRow, readRuns } from './merchant.js';
import type { InjectedFault } from './nemesis.js';
import { attemptsOf, type Sender, type Sent } from './sender.js';
import type { Workers } from './workers.js';

export interface Deliveries {
  readonly campaign: Pick<CampaignRecord, 'mode' | 'transactional' | 'mayLose'>;
  readonly sender: Sender;
  readonly workers: Workers;
  readonly concurrency: number;
  readonly leaseMs?: number;
  /** Where the workers note their runs, if they do. */
  readonly notes?: Pool;
  /** @param isOver whether all faults were injected */
  load(isOver: () => boolean): Promise<void>;
  inject(): Promise<readonly InjectedFault[]>;
  ledger(): Promise<readonly LedgerRow[]>;
  /** What else has to hold, in sentences that say that it does not. */
  findings?(sent: readonly Sent[]): Promise<readonly string[]> | readonly string[];
}

export async function recordDeliveries(run: Deliveries): Promise<History> {
  const { campaign, sender, workers, notes, leaseMs = LEASE_MS } = run;
  let isOver = false;
  const load = run.load(() => isOver);
  const faults = await run.inject();
  isOver = true;
  sender.calm = true;
  // The claims of the last killed workers keep their leases for as long.
  const calmSince = Date.now() + leaseMs;
  await load;
  const rows = await run.ledger();
  const sent = sender.history;
  const findings = (await run.findings?.(sent)) ?? [];
  const runs = notes ? await readRuns(notes) : [];
  const replayed = await sender.replay(run.concurrency);
  const known = new Set(rows.map((row) => JSON.stringify(row)));
  const later = (await run.ledger()).filter((row) => !known.has(JSON.stringify(row)));
  return {
    campaign: { type: 'campaign', campaign: 'deliveries', ...campaign, calmSince, runs: notes !== undefined },
    records: [
      ...attemptsOf(sent),
      ...attemptsOf(replayed, true),
      ...recordsFrom('row', [...rows, ...later.map((row) => ({ ...row, replay: true }))]),
      ...recordsFrom('run', runs),
      ...recordsFrom('fault', faults),
      ...recordsFrom('late', workers.late),
      ...recordsFrom(
        'finding',
        [...workers.unexplained, ...findings].map((what) => ({ what })),
      ),
    ],
  };
}
