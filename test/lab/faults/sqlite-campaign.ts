// `npm run test:faults -- --sqlite`: processes that share one file of SQLite are killed, and the file is locked for a while.
import { setTimeout as pause } from 'node:timers/promises';
import { openSqlite, sqliteFile } from '../../setup/open-sqlite.js';
import { deliverUnderFaults } from './deliveries.js';
import { bundleProgram, type Campaign, runAndJudge } from './environment.js';
import type { LedgerRow } from './merchant.js';
import { planFaults, WORKER_FAULTS } from './nemesis.js';

export interface SqliteCampaign {
  /** Whether the handler writes inside `once`. */
  readonly once: boolean;
  readonly events: number;
  readonly kills: number;
  /** How often another connection keeps the lock of the file for longer than a statement waits. */
  readonly locks: number;
  readonly progress: (line: string) => void;
}

export function runSqliteCampaign({
  once,
  events,
  kills,
  locks,
  progress,
}: SqliteCampaign): Promise<Campaign> {
  return runAndJudge(async (defer) => {
    const program = bundleProgram('./sqlite-worker.ts', defer);
    const { file, remove } = sqliteFile();
    defer(remove);
    const db = openSqlite(file);
    defer(() => db.close());
    db.exec('CREATE TABLE ledger (event TEXT, worker INTEGER, attempt INTEGER, at INTEGER) STRICT');
    const mode = once ? 'sqlite, once' : 'sqlite';
    const lock = async () => {
      db.exec('BEGIN EXCLUSIVE');
      await pause(500 + Math.random() * 3_000);
      db.exec('COMMIT');
    };
    const { history } = await deliverUnderFaults({
      campaign: { mode, once },
      program,
      env: { FILE: file, ONCE: once ? 'yes' : '' },
      events,
      copies: 3,
      faults: planFaults(
        { kill: kills, 'file locked': locks },
        { ...WORKER_FAULTS, 'file locked': () => whenFree(lock) },
      ),
      ledger: async () => db.prepare('SELECT * FROM ledger').all() as LedgerRow[],
      progress: (line) => progress(`${mode}: ${line}`),
    });
    return { history };
  });
}

/** A worker may have the lock at this moment. */
async function whenFree(lock: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await lock();
    } catch (error) {
      if (attempt === 200 || !/locked|busy/i.test(String(error))) throw error;
      await pause(10);
    }
  }
}
