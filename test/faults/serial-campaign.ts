// The campaign of serial handlers: whether two with one value ever overlap, and what serial costs where none has to wait.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { type Estimate, estimate } from '../bench/statistics.js';
import { bundle } from '../setup/bundle.js';
import { startPostgres, startRedis } from '../setup/services.js';
import {
  type Kind,
  type Load,
  PROCESSES,
  SERIAL_TABLE,
  type SerialMode,
  type Share,
} from './serial-merchant.js';

export interface SerialCampaignOptions {
  readonly mode: SerialMode;
  /** Delivered with 100 values. */
  readonly events: number;
  /** Pairs of a round with distinct values and one without `serial`. */
  readonly pairs: number;
  /** Of each round of a pair. */
  readonly eventsOfRound: number;
  readonly progress: (line: string) => void;
}

export interface SerialCampaign {
  readonly events: number;
  readonly runs: number;
  readonly overlaps: number;
  readonly refused: number;
  readonly seconds: number;
  readonly pairs: number;
  /** How long events with distinct values take, beside the same without `serial`. */
  readonly ratio: Estimate;
  /** Milliseconds of CPU time that `serial` takes for an event. */
  readonly cpuMs: Estimate;
}

/** Many at a time for each value, so that turns are always waited for. */
const CROWD = { concurrency: 25, handlerMs: 5 };
/** As many as leave the machine time: what is compared is how long an event takes, not how many fit into two CPUs. */
const PAIR = { concurrency: 2, handlerMs: 20 };

export async function runSerialCampaign(options: SerialCampaignOptions): Promise<SerialCampaign> {
  const script = bundle(new URL('./serial-worker.ts', import.meta.url));
  const redis = await startRedis();
  const postgres = await startPostgres(['fsync=off']);
  const env = { MODE: options.mode, REDIS_URL: redis.url, POSTGRES_URL: postgres.url };
  let workers: SerialWorkers | undefined;
  try {
    await migrate(postgres.url);
    workers = await SerialWorkers.start(script, env);
    return await measure(workers, options);
  } finally {
    await workers?.close();
    await Promise.all([redis.stop(), postgres.stop()]);
    rmSync(dirname(script), { recursive: true, force: true });
  }
}

async function migrate(connectionString: string): Promise<void> {
  const pool = new Pool({ connectionString, max: 1 });
  await postgresStore({ pool, table: SERIAL_TABLE }).migrate();
  await pool.end();
}

async function measure(
  workers: SerialWorkers,
  { mode, events, pairs, eventsOfRound, progress }: SerialCampaignOptions,
): Promise<SerialCampaign> {
  progress(`${mode}: ${events} events with one of few values`);
  const crowd = await workers.deliver('same', { ...CROWD, events });
  const round = (kind: Kind) => workers.deliver(kind, { ...PAIR, events: eventsOfRound });
  for (const kind of ['plain', 'distinct'] as const) await round(kind);
  const [ratios, costs]: [number[], number[]] = [[], []];
  for (let pair = 0; pair < pairs; pair += 1) {
    progress(`${mode}: pair ${pair + 1} of ${pairs}`);
    // In turns, so that what else runs on the machine slows both.
    const order = pair % 2 === 0 ? (['distinct', 'plain'] as const) : (['plain', 'distinct'] as const);
    const results = new Map<Kind, Delivered>();
    for (const kind of order) results.set(kind, await round(kind));
    const [distinct, plain] = [results.get('distinct'), results.get('plain')] as [Delivered, Delivered];
    ratios.push(distinct.ms / plain.ms);
    costs.push((distinct.cpuMs - plain.cpuMs) / eventsOfRound);
  }
  const { runs, overlaps, refused, ms } = crowd;
  return {
    ...{ events, runs, overlaps, refused, pairs, seconds: Math.round(ms / 1_000) },
    ratio: estimated(ratios),
    cpuMs: estimated(costs),
  };
}

function estimated(values: readonly number[]): Estimate {
  const found = estimate([values]);
  if (!found) throw new Error('The campaign has no pair.');
  return found;
}

type Delivered = Share & { readonly ms: number };

/** The processes, each with a share of every load. */
class SerialWorkers {
  readonly #children: readonly ChildProcess[];
  #next = 0;

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children;
  }

  static async start(script: string, env: NodeJS.ProcessEnv): Promise<SerialWorkers> {
    const children = Array.from({ length: PROCESSES }, (_, index) =>
      fork(script, { env: { ...process.env, ...env, INDEX: String(index) }, execArgv: [] }),
    );
    await Promise.all(children.map(answerOf));
    return new SerialWorkers(children);
  }

  async deliver(kind: Kind, load: Omit<Load, 'kind' | 'first'>): Promise<Delivered> {
    const first = this.#next;
    this.#next += load.events;
    const began = performance.now();
    const shares = await Promise.all(
      this.#children.map((child) => {
        const answer = answerOf(child);
        child.send({ ...load, kind, first } satisfies Load);
        return answer as Promise<Share>;
      }),
    );
    const sum = (figure: keyof Share) => shares.reduce((total, share) => total + share[figure], 0);
    return {
      ms: performance.now() - began,
      ...{ runs: sum('runs'), overlaps: sum('overlaps'), refused: sum('refused'), cpuMs: sum('cpuMs') },
    };
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#children.map((child) => {
        if (child.exitCode !== null || child.signalCode !== null) return undefined;
        child.kill('SIGKILL');
        return once(child, 'exit');
      }),
    );
  }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
    throw new Error(`A worker ended with exit code ${code}.`);
  });
  try {
    const [message] = (await Promise.race([
      once(child, 'message', { signal: ended.signal }),
      exit,
    ])) as unknown[];
    return message;
  } finally {
    ended.abort();
    exit.catch(() => {});
  }
}
