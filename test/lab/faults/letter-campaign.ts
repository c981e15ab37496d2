// A campaign of dead letters: workers are killed while letters are kept and while they are replayed; then all is counted.
import type { DeadLetter } from 'payment-webhooks';
import { sharedStores } from '../../setup/shared-stores.js';
import { until } from '../../setup/waiting.js';
import { bundleProgram, type Campaign, runAndJudge, startLedger, startOwnRedis } from './environment.js';
import { findingsFrom, type History, recordsFrom } from './history.js';
import { EVENTS, type Phase, type Reason, SCHEMA, storesOf, TABLES } from './letter-merchant.js';
import { LetterSender } from './letter-sender.js';
import { type LedgerRow, type Mode, RUNS, readRuns } from './merchant.js';
import { type InjectedFault, injectFault, KILL } from './nemesis.js';
import { startWorkers, type Workers } from './workers.js';

export interface LetterCampaignOptions {
  readonly mode: Mode;
  readonly journal: boolean;
  readonly events: number;
  /** While letters are kept, and as many while they are replayed. */
  readonly kills: number;
  readonly progress: (line: string) => void;
}

/** With the letters before they are replayed. */
export type LetterCampaign = Campaign & { readonly letters: number };

const WORKERS = 4;
/** Far more than a replay of all letters takes, with a lease for each kill. */
const PATIENCE_MS = 5 * 60_000;
const QUERY = { namespace: 'default', discarded: false };

export function runLetterCampaign(options: LetterCampaignOptions): Promise<LetterCampaign> {
  const { mode, journal, events, kills } = options;
  const progress = (line: string) => options.progress(`${mode}${journal ? ', journal' : ''}: ${line}`);
  return runAndJudge(async (defer) => {
    const program = bundleProgram('./letter-worker.ts', defer);
    const { postgres, pool } = await startLedger(defer, [TABLES, RUNS]);
    const redis = await startOwnRedis(defer);
    const stores = sharedStores(storesOf(mode), SCHEMA, { pool, redisUrl: redis.url });
    defer(() => stores.close());
    await stores.migrate();
    const { deadLetters } = stores;
    const sender = new LetterSender(journal);
    const faults: InjectedFault[] = [];
    const findings: string[] = [];

    const phase = async (name: Phase, run: (workers: Workers) => Promise<unknown>) => {
      const workers = await startWorkers(program, WORKERS, {
        ...{ MODE: mode, PHASE: name, JOURNAL: String(journal) },
        ...{ POSTGRES_URL: postgres.url, REDIS_URL: redis.url },
      });
      await run(workers).finally(() => workers.close());
      findings.push(...workers.unexplained);
    };
    /** Spread over the work: each when so much of it is done. */
    const kill = async (workers: Workers, isDone: (share: number) => boolean | Promise<boolean>) => {
      for (let number = 1; number <= kills; number += 1) {
        await patiently(() => isDone(number / (kills + 2)));
        faults.push(await injectFault(KILL, workers));
        progress(`${faults.length} of ${2 * kills} kills`);
      }
    };
    const allLetters = async () => {
      const found: DeadLetter[] = [];
      for (let after: string | undefined; ; ) {
        const { letters, next } = await deadLetters.list(QUERY, { limit: 1_000, after });
        found.push(...letters);
        if (next === undefined) return found;
        after = next;
      }
    };
    /** How many letters a replay can process. Not by count(), which some stores do not have. */
    const waiting = async () => (await allLetters()).filter(({ reason }) => reason !== 'conflict').length;

    await phase('before', async (workers) => {
      const reasons = Object.keys(EVENTS) as Reason[];
      const inTurn = Array.from({ length: events }, (_, index) => reasons[index % reasons.length]);
      const load = sender.deliver(workers.port, inTurn, 16);
      await kill(workers, (share) => sender.done >= share * events);
      await load;
    });
    const kept = await allLetters();
    progress(`${kept.length} letters of ${events} events`);
    await phase('after', async (workers) => {
      const processable = Array<undefined>(Math.ceil(events / 10)).fill(undefined);
      const load = sender.deliver(workers.port, processable, 4);
      const before = await waiting();
      await kill(workers, async (share) => (await waiting()) <= (1 - share) * before);
      await load;
      await patiently(async () => (await waiting()) === 0);
    });
    const { rows } = await pool.query<LedgerRow>(
      `SELECT event_id AS event, version, worker, (extract(epoch FROM at) * 1000)::float8 AS at FROM ${SCHEMA}.ledger`,
    );
    const left = (await allLetters()).map(({ eventId, reason }) => ({ event: eventId, reason }));
    const about = { mode, once: mode === 'once', journal, runs: true };
    const history: History = {
      campaign: { type: 'campaign', campaign: 'dead letters', ...about },
      records: [
        ...sender.attempts,
        ...recordsFrom('row', rows),
        ...recordsFrom('run', await readRuns(pool)),
        ...recordsFrom('letter', left),
        ...recordsFrom('fault', faults),
        ...findingsFrom(findings),
      ],
    };
    return { history, letters: kept.length };
  });
}

/** The verdict says what has not come to be. */
function patiently(isSo: () => boolean | Promise<boolean>): Promise<void> {
  return until(isSo, PATIENCE_MS, 20).catch(() => {});
}
