// A campaign of dead letters: workers are killed while letters are kept and while they are replayed; then all is counted.
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { DeadLetter } from 'payment-webhooks';
import { Pool } from 'pg';
import { bundle } from '../setup/bundle.js';
import { copyOfNew, type Service, startPostgres, startRedis } from '../setup/services.js';
import { type SharedStores, sharedStores } from '../setup/shared-stores.js';
import { checkHistory, type Verdict } from './check-history.js';
import { type FaultRecord, type History, recordsFrom } from './history.js';
import { EVENTS, type LetterMode, type Phase, type Reason, SCHEMA, TABLES } from './letter-merchant.js';
import { LetterSender } from './letter-sender.js';
import { type LedgerRow, RUNS, readRuns } from './merchant.js';
import { Workers } from './workers.js';

export interface LetterCampaignOptions {
  readonly mode: LetterMode;
  readonly journal: boolean;
  readonly events: number;
  /** While letters are kept, and as many while they are replayed. */
  readonly kills: number;
  readonly progress: (line: string) => void;
}

export interface LetterCampaign extends Verdict {
  readonly kills: number;
  /** Letters before they are replayed. */
  readonly letters: number;
  readonly seconds: number;
  readonly history: History;
}

const WORKERS = 4;
/** Far more than a replay of all letters takes, with a lease for each kill. */
const PATIENCE_MS = 5 * 60_000;

export async function runLetterCampaign(options: LetterCampaignOptions): Promise<LetterCampaign> {
  const began = performance.now();
  const script = bundle(new URL('./letter-worker.ts', import.meta.url));
  const postgres = await startPostgres(['fsync=off'], copyOfNew);
  const redis = await startRedis();
  const pool = new Pool({ connectionString: postgres.url, max: 4 });
  pool.on('error', () => {});
  const stores = sharedStores(options.mode, SCHEMA, { pool, redisUrl: redis.url });
  try {
    for (const tables of [TABLES, RUNS]) await pool.query(tables);
    await stores.migrate();
    const campaign = new Campaign(options, { postgres, redis, pool, stores, script });
    return { ...(await campaign.run()), seconds: Math.round((performance.now() - began) / 1_000) };
  } finally {
    await stores.close();
    await pool.end();
    await Promise.all([postgres.stop(), redis.stop()]);
    rmSync(dirname(script), { recursive: true, force: true });
  }
}

interface Servers {
  readonly postgres: Service;
  readonly redis: Service;
  readonly pool: Pool;
  readonly stores: SharedStores;
  readonly script: string;
}

class Campaign {
  readonly #options: LetterCampaignOptions;
  readonly #servers: Servers;
  readonly #kills: FaultRecord[] = [];
  readonly #findings: { readonly what: string }[] = [];

  constructor(options: LetterCampaignOptions, servers: Servers) {
    this.#options = options;
    this.#servers = servers;
  }

  async run(): Promise<Omit<LetterCampaign, 'seconds'>> {
    const { mode, journal, events, progress } = this.#options;
    const reasons = Object.keys(EVENTS) as Reason[];
    const first = await this.#phase('before', async (workers) => {
      const sender = new LetterSender(workers.port, journal);
      const load = sender.deliver(events, reasons, 16);
      await this.#kill(workers, (share) => sender.done >= share * events);
      await load;
      return sender;
    });
    const kept = await this.#letters();
    progress(`${this.#name}: ${kept.length} letters of ${events} events`);
    const second = await this.#phase('after', async (workers) => {
      const sender = new LetterSender(workers.port, false);
      const load = sender.deliver(Math.ceil(events / 10), [undefined], 4);
      const waiting = await this.#waiting();
      await this.#kill(workers, async (share) => (await this.#waiting()) <= (1 - share) * waiting);
      await load;
      for (const until = Date.now() + PATIENCE_MS; (await this.#waiting()) > 0 && Date.now() < until; )
        await pause(100);
      return sender;
    });
    const { pool } = this.#servers;
    const ledger = await pool.query<LedgerRow>(
      `SELECT event_id AS event, version, worker, (extract(epoch FROM at) * 1000)::float8 AS at FROM ${SCHEMA}.ledger`,
    );
    const letters = (await this.#letters()).map(({ eventId, reason }) => ({ event: eventId, reason }));
    const transactional = mode === 'transactional';
    // The copies of the second phase are others.
    const copies = Math.max(...first.attempts.map(({ copy }) => copy));
    const history: History = {
      campaign: { type: 'campaign', campaign: 'dead letters', mode, transactional, journal, runs: true },
      records: [
        ...first.attempts,
        ...second.attempts.map((attempt) => ({ ...attempt, copy: attempt.copy + copies })),
        ...recordsFrom('row', ledger.rows),
        ...recordsFrom('run', await readRuns(pool)),
        ...recordsFrom('letter', letters),
        ...this.#kills,
        ...recordsFrom('finding', this.#findings),
      ],
    };
    return { ...checkHistory(history), kills: this.#kills.length, letters: kept.length, history };
  }

  get #name(): string {
    return `${this.#options.mode}${this.#options.journal ? ', journal' : ''}`;
  }

  async #phase<Found>(phase: Phase, run: (workers: Workers) => Promise<Found>): Promise<Found> {
    const { mode, journal } = this.#options;
    const { postgres, redis, script } = this.#servers;
    const workers = await Workers.start(script, WORKERS, {
      ...{ MODE: mode, PHASE: phase, JOURNAL: String(journal) },
      ...{ POSTGRES_URL: postgres.url, REDIS_URL: redis.url },
    });
    try {
      return await run(workers);
    } finally {
      this.#findings.push(...workers.unexplained.map((what) => ({ what })));
      await workers.close();
    }
  }

  /** Spread over the work: each when so much of it is done. */
  async #kill(workers: Workers, isDone: (share: number) => boolean | Promise<boolean>): Promise<void> {
    const { kills, progress } = this.#options;
    for (let kill = 1; kill <= kills; kill += 1) {
      const until = Date.now() + PATIENCE_MS;
      while (!(await isDone(kill / (kills + 2))) && Date.now() < until) await pause(20);
      const worker = workers.any();
      if (!worker) continue;
      const from = Date.now();
      await workers.end(worker, 'SIGKILL');
      const { pid = 0 } = worker.process;
      this.#kills.push({ type: 'fault', kind: 'kill', worker: pid, from, until: Date.now() });
      progress(`${this.#name}: ${this.#kills.length} of ${2 * kills} kills`);
    }
  }

  /** How many letters a replay can process. */
  async #waiting(): Promise<number> {
    const { deadLetters } = this.#servers.stores;
    const query = { namespace: 'default', discarded: false };
    const [all = 0, conflicts = 0] = await Promise.all([
      deadLetters.count(query),
      deadLetters.count({ ...query, reason: 'conflict' }),
    ]);
    return all - conflicts;
  }

  async #letters(): Promise<DeadLetter[]> {
    const { deadLetters } = this.#servers.stores;
    const found: DeadLetter[] = [];
    for (let after: string | undefined; ; ) {
      const query = { namespace: 'default', discarded: false };
      const { letters, next } = await deadLetters.list(query, { limit: 1_000, after });
      found.push(...letters);
      if (next === undefined) return found;
      after = next;
    }
  }
}
