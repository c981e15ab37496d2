// Delivers events while faults are injected, then all of them once more, and records what happened.
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type CampaignRecord, findingsFrom, type History, recordsFrom } from './history.js';
import { LEASE_MS, type LedgerRow, readRuns } from './merchant.js';
import { type Fault, type InjectedFault, injectFault } from './nemesis.js';
import { attemptsOf, Sender, type Sent } from './sender.js';
import { startWorkers, type Workers } from './workers.js';

export interface Deliveries {
  readonly campaign: Pick<CampaignRecord, 'mode' | 'once' | 'mayLose'>;
  /** Of the workers. */
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
  readonly workers?: number;
  /** At least this many: the sender continues until all faults are injected. */
  readonly events: number;
  readonly copies?: number;
  /** Of every other event. */
  readonly fewestCopies?: number | undefined;
  /** Deliver exactly `events` events with all copies in random order, instead of the copies of one event at once. */
  readonly crowd?: boolean;
  readonly concurrency?: number;
  readonly leaseMs?: number;
  readonly faults: readonly Fault[];
  /** Between two faults, on average. */
  readonly calmMs?: number;
  /** No fault is injected after this time. */
  readonly mostMs?: number;
  /** The database in which the workers record their runs, if they do. */
  readonly notes?: Pool;
  /** Delivers events of its own, before all others. */
  readonly drive?: ((sender: Sender, workers: Workers) => Promise<void>) | undefined;
  ledger(): Promise<readonly LedgerRow[]>;
  /** Further checks: one sentence for each that failed. */
  findings?(sent: readonly Sent[]): Promise<readonly string[]> | readonly string[];
  progress(line: string): void;
}

export interface Delivered {
  readonly history: History;
  /** As in the history, without the second round. */
  readonly sent: readonly Sent[];
  readonly rows: readonly LedgerRow[];
  readonly faults: readonly InjectedFault[];
  /** What the second round wrote to the ledger. */
  readonly later: readonly LedgerRow[];
}

export async function deliverUnderFaults(run: Deliveries): Promise<Delivered> {
  const { campaign, events, notes, concurrency = 16, leaseMs = LEASE_MS } = run;
  const workers = await startWorkers(run.program, run.workers ?? 4, run.env);
  const sender = new Sender(workers.port, run.copies ?? 2, run.fewestCopies);
  try {
    await run.drive?.(sender, workers);
    let isOver = false;
    const load = run.crowd
      ? sender.deliverShuffled(concurrency, events)
      : sender.deliver(concurrency, (sent) => isOver && sent >= events);
    const faults = await injectAll(run, sender, workers);
    isOver = true;
    sender.calm = true;
    // The claims of the last killed workers keep their leases for as long.
    const calmSince = Date.now() + leaseMs;
    await load;
    const sent = sender.history;
    const rows = await run.ledger();
    const findings = (await run.findings?.(sent)) ?? [];
    const runs = notes ? await readRuns(notes) : [];
    const replayed = await sender.replay(concurrency);
    const known = new Set(rows.map((row) => JSON.stringify(row)));
    const later = (await run.ledger()).filter((row) => !known.has(JSON.stringify(row)));
    const records = [
      ...attemptsOf(sent),
      ...attemptsOf(replayed, true),
      ...recordsFrom('row', [...rows, ...later.map((row) => ({ ...row, replay: true }))]),
      ...recordsFrom('run', runs),
      ...recordsFrom('fault', faults),
      ...recordsFrom('late', workers.late),
      // Read last, to include workers that ended during the second round.
      ...findingsFrom([...workers.unexplained, ...findings]),
    ];
    const about = { ...campaign, calmSince, runs: notes !== undefined };
    const history: History = { campaign: { type: 'campaign', campaign: 'deliveries', ...about }, records };
    return { history, sent, rows, later, faults };
  } finally {
    await workers.close();
  }
}

async function injectAll(
  { faults, calmMs = 90, mostMs = Number.POSITIVE_INFINITY, progress }: Deliveries,
  sender: Sender,
  workers: Workers,
): Promise<InjectedFault[]> {
  const end = performance.now() + mostMs;
  const injected: InjectedFault[] = [];
  for (const fault of faults) {
    await pause(calmMs * (0.5 + Math.random()));
    if (performance.now() > end) break;
    injected.push(await injectFault(fault, workers));
    progress(`${injected.length} of ${faults.length} faults, ${sender.history.length} deliveries`);
  }
  await pause(calmMs);
  return injected;
}
