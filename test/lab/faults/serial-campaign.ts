// The campaign of serial handlers: whether two with one value ever overlap, and what serial costs where none has to wait.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { type Estimate, estimate } from '../bench/statistics.js';
import { bundleProgram, startLedger, startOwnRedis, withCleanup } from './environment.js';
import { publish } from './report.js';
import { type Kind, type Load, PROCESSES, type SerialMode, type Share } from './serial-merchant.js';

interface SerialCampaign {
  readonly figures: readonly unknown[];
  readonly violations: readonly string[];
}

/** Delivered with 100 values. */
const EVENTS = 10_000;
/** Many at a time for each value, so that turns are always waited for. */
const CROWD = { events: EVENTS, concurrency: 25, handlerMs: 5 };
/** Of a round with distinct values and one without `serial`. */
const PAIRS = 30;
/** As many as leave the machine time: what is compared is how long an event takes, not how many fit into two CPUs. */
const ROUND = { events: 800, concurrency: 2, handlerMs: 20 };
/** Of `serial` where no event waits for another: longer than this is too slow. */
const MOST_RATIO = 1.1;
const HEAD = [
  ...['store', 'events', 'handled', 'overlaps', 'put off', 'seconds'],
  ...['distinct values, times plain', 'CPU of an event, ms more'],
];

export async function runSerialCampaigns(progress: (line: string) => void): Promise<SerialCampaign[]> {
  const all = [await runSerialCampaign('redis', progress), await runSerialCampaign('postgres', progress)];
  publish(
    'serial',
    HEAD,
    all.map(({ figures }) => figures),
  );
  return all;
}

function runSerialCampaign(mode: SerialMode, progress: (line: string) => void): Promise<SerialCampaign> {
  return withCleanup(async (defer) => {
    const program = bundleProgram('./serial-worker.ts', defer);
    const redis = await startOwnRedis(defer);
    const { postgres, pool } = await startLedger(defer, []);
    await postgresStore({ pool }).migrate();
    const env = { ...process.env, MODE: mode, REDIS_URL: redis.url, POSTGRES_URL: postgres.url };
    const workers = Array.from({ length: PROCESSES }, (_, index) =>
      fork(program, { env: { ...env, INDEX: String(index) }, execArgv: [] }),
    );
    defer(() => Promise.all(workers.map(end)));
    await Promise.all(workers.map(answerOf));
    let first = 0;
    const deliver = async (kind: Kind, load: Omit<Load, 'kind' | 'first'>) => {
      const began = performance.now();
      const shares = await Promise.all(
        workers.map((worker) => {
          worker.send({ ...load, kind, first } satisfies Load);
          return answerOf(worker) as Promise<Share>;
        }),
      );
      first += load.events;
      const sum = (figure: keyof Share) => shares.reduce((total, share) => total + share[figure], 0);
      const counts = { runs: sum('runs'), overlaps: sum('overlaps'), refused: sum('refused') };
      return { ...counts, cpuMs: sum('cpuMs'), ms: performance.now() - began };
    };

    progress(`${mode}: ${EVENTS} events with one of few values`);
    const { runs, overlaps, refused, ms } = await deliver('same', CROWD);
    for (const kind of ['plain', 'distinct'] as const) await deliver(kind, ROUND);
    const [ratios, costs]: [number[], number[]] = [[], []];
    for (let pair = 0; pair < PAIRS; pair += 1) {
      progress(`${mode}: pair ${pair + 1} of ${PAIRS}`);
      // In turns, so that what else runs on the machine slows both.
      const early = pair % 2 === 0 ? await deliver('distinct', ROUND) : undefined;
      const plain = await deliver('plain', ROUND);
      const distinct = early ?? (await deliver('distinct', ROUND));
      ratios.push(distinct.ms / plain.ms);
      costs.push((distinct.cpuMs - plain.cpuMs) / ROUND.events);
    }
    const [ratio, cpuMs] = [estimate([ratios]), estimate([costs])] as [Estimate, Estimate];

    const violations: string[] = [];
    if (overlaps > 0) violations.push(`${mode}: handlers with one value overlapped ${overlaps} times`);
    if (runs !== EVENTS) violations.push(`${mode}: handlers ran ${runs} times for ${EVENTS} events`);
    if (ratio.low > MOST_RATIO)
      violations.push(
        `${mode}: where no event waits, serial takes ${interval(ratio)} times as long; the limit is ${MOST_RATIO}`,
      );
    const counts = [EVENTS, runs, overlaps, refused, Math.round(ms / 1_000)];
    return { figures: [mode, ...counts, interval(ratio), interval(cpuMs)], violations };
  });
}

function interval({ median, low, high }: Estimate): string {
  return `${median.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

async function end(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  worker.kill('SIGKILL');
  await once(worker, 'exit');
}

function answerOf(worker: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`A worker ended with exit code ${code}.`));
    worker.once('exit', ended).once('message', (message) => {
      worker.off('exit', ended);
      resolve(message);
    });
  });
}
