// Starts what a campaign needs (its workers, a Postgres with the ledger, a Redis), and cleans up when it ends.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Pool } from 'pg';
import { bundle } from '../../setup/bundle.js';
import { quietPool } from '../../setup/quiet-pool.js';
import { copyOfNew, type Service, startPostgres, startRedis } from '../../setup/services.js';
import type { Bug } from '../interleavings/bugs.js';
import { checkHistory, type Verdict } from './check-history.js';
import { type History, recordsOf } from './history.js';

/** Registers a cleanup. They run when the campaign ends, in reverse order. */
export type Defer = (end: () => unknown) => void;

export async function withCleanup<Found>(run: (defer: Defer) => Promise<Found>): Promise<Found> {
  const ends: (() => unknown)[] = [];
  try {
    return await run((end) => void ends.unshift(end));
  } finally {
    for (const end of ends) await end();
  }
}

/** The result of a campaign. */
export interface Campaign extends Verdict {
  readonly faults: number;
  readonly seconds: number;
  readonly history: History;
}

/** Runs a campaign and checks its history. @param run returns the history, and further results */
export function runAndJudge<More>(
  run: (defer: Defer) => Promise<{ readonly history: History } & More>,
): Promise<Campaign & More> {
  return withCleanup(async (defer) => {
    const began = performance.now();
    const found = await run(defer);
    const seconds = Math.round((performance.now() - began) / 1_000);
    const faults = recordsOf(found.history, 'fault').length;
    return { ...checkHistory(found.history), faults, ...found, seconds };
  });
}

/** Bundles a program into one file, for `fork()`. @param bug made in its code */
export function bundleProgram(name: string, defer: Defer, bug?: Bug): string {
  const script = bundle(new URL(name, import.meta.url));
  if (bug) makeBug(script, bug);
  defer(() => rmSync(dirname(script), { recursive: true, force: true }));
  return script;
}

/** A bundler breaks lines elsewhere. */
function makeBug(script: string, { name, find, replace }: Bug): void {
  const words = find.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const parts = readFileSync(script, 'utf8').split(new RegExp(words.join('\\s+')));
  if (parts.length !== 2) throw new Error(`The bug ${name} is not about code of this worker.`);
  writeFileSync(script, parts.join(replace));
}

export interface Ledger {
  readonly postgres: Service;
  readonly pool: Pool;
}

/** A Postgres with these tables. */
export async function startLedger(defer: Defer, tables: readonly string[]): Promise<Ledger> {
  const postgres = await startPostgres(['fsync=off'], copyOfNew);
  defer(() => postgres.stop());
  const pool = quietPool(postgres.url, 4);
  defer(() => pool.end());
  for (const table of tables) await pool.query(table);
  return { postgres, pool };
}

export async function startOwnRedis(defer: Defer): Promise<Service> {
  const redis = await startRedis();
  defer(() => redis.stop());
  return redis;
}
