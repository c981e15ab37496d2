// What a delivery costs with each store: CPU of the receiver's process, of the store's server, and of who sends it.
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { postgresStore } from '../../src/stores/postgres.js';
import { startPostgres, startRedis } from '../setup/services.js';
import { contestantOf } from './contestants.js';
import type { Costs } from './cost-model.js';
import { endedChildrenCpuTime, familyCpuTime } from './cpu-time.js';
import { type Load, loadFor } from './load.js';
import { median } from './median.js';
import { memoryBytes, postgresBytes, REMEMBERED, redisBytes, rememberMany } from './remembered.js';
import { checkReceiver, type Server, type Surroundings, serve } from './server.js';

export const BODY_BYTES = 1_024;

export interface Effort {
  readonly windows: number;
  readonly seconds: number;
  /** Express needs about 40,000 until its code is optimised; but no more than half a minute. */
  readonly warmUp: number;
}
const MOST_WARM_UP_SECONDS = 30;

/** CPU seconds, of one delivery or of one second. */
export interface Spent {
  readonly receiver: number;
  readonly server: number;
  readonly sender: number;
}

export interface Measured {
  readonly memory: Costs;
  readonly redis: Costs;
  readonly postgres: Costs;
  readonly transactional: Costs;
  /** CPU seconds of Postgres to delete one row that is no longer remembered; in what it costs already. */
  readonly prune: number;
  /** CPU seconds of wrk for one delivery to the receiver with Redis. */
  readonly sender: number;
}

export interface Target {
  readonly servers: readonly Server[];
  readonly loads: readonly Load[];
  readonly storePid: number | undefined;
}

export type Window = Spent & { readonly deliveries: number; readonly seconds: number };

/** One window: a sender for each server, all at once. wrk sleeps between answers, or it would take CPUs from others. */
export async function deliverOnce({ servers, loads, storePid }: Target, seconds: number): Promise<Window> {
  const receivers = () => servers.reduce((sum, server) => sum + server.cpu(), 0);
  const store = () => (storePid === undefined ? 0 : familyCpuTime(storePid));
  const spent = () => [receivers(), store(), endedChildrenCpuTime()].map((nanoseconds) => nanoseconds / 1e9);
  const before = spent();
  const windows = await Promise.all(
    servers.map(({ port }, index) => (loads[index] as Load).deliver(port, seconds, false)),
  );
  const [receiver, server, sender] = spent().map((now, index) => now - (before[index] as number)) as [
    number,
    number,
    number,
  ];
  const wrong = windows.reduce((sum, { refused, broken }) => sum + refused + broken, 0);
  if (wrong > 0) throw new Error(`${wrong} deliveries were refused or failed.`);
  const deliveries = windows.reduce((sum, { requests }) => sum + requests, 0);
  return { receiver, server, sender, deliveries, seconds: Math.max(...windows.map(({ us }) => us)) / 1e6 };
}

/** Receivers with that contestant, checked and warmed up. */
export async function enter(
  name: string,
  count: number,
  surroundings: Surroundings,
): Promise<Pick<Target, 'servers' | 'loads'>> {
  const contestant = contestantOf(name);
  const servers = await Promise.all(Array.from({ length: count }, () => serve(name, surroundings)));
  const [first] = servers;
  if (first) await checkReceiver(contestant, first.port);
  return { servers, loads: servers.map(() => loadFor(contestant, { size: BODY_BYTES, forged: false })) };
}

export async function warmUp(target: Target, { warmUp }: Effort): Promise<void> {
  for (let [done, seconds] = [0, 0]; done < warmUp && seconds < MOST_WARM_UP_SECONDS; seconds += 1)
    done += (await deliverOnce(target, 1)).deliveries / target.servers.length;
}

/** The medians of several windows, for one delivery. */
async function spentOn(
  name: string,
  effort: Effort,
  given: Surroundings & { readonly storePid?: number },
): Promise<Spent> {
  const { storePid, ...surroundings } = given;
  const entered = await enter(name, 1, surroundings);
  const target = { ...entered, storePid };
  try {
    await warmUp(target, effort);
    const windows: Window[] = [];
    while (windows.length < effort.windows) windows.push(await deliverOnce(target, effort.seconds));
    const each = (of: keyof Spent) => median(windows.map((window) => window[of] / window.deliveries));
    return { receiver: each('receiver'), server: each('server'), sender: each('sender') };
  } finally {
    await Promise.all(entered.servers.map((server) => server.stop()));
  }
}

export async function measureCosts(
  effort: Effort,
  { progress, ...surroundings }: Surroundings & { readonly progress: (text: string) => void },
): Promise<Measured> {
  progress('the memory store');
  const memory = { ...(await spentOn('ours', effort, surroundings)), bytes: await memoryBytes() };
  progress('Redis');
  const redis = await costsOfRedis(effort, surroundings);
  progress('Postgres');
  return { memory, redis, sender: redis.sender, ...(await costsOfPostgres(effort, surroundings)) };
}

async function costsOfRedis(effort: Effort, surroundings: Surroundings): Promise<Costs & Spent> {
  const server = await startRedis();
  const client = new Redis(server.url);
  try {
    const bytes = await redisBytes(client);
    await client.flushall();
    const env = { BENCH_REDIS_URL: server.url };
    return {
      ...(await spentOn('ours-redis', effort, { ...surroundings, env, storePid: server.pid })),
      bytes,
    };
  } finally {
    client.disconnect();
    await server.stop();
  }
}

async function costsOfPostgres(
  effort: Effort,
  surroundings: Surroundings,
): Promise<Pick<Measured, 'postgres' | 'transactional' | 'prune'>> {
  const server = await startPostgres();
  const pool = new Pool({ connectionString: server.url, max: 20 });
  const costs = async (env: Record<string, string>) => {
    const given = { ...surroundings, env: { BENCH_POSTGRES_URL: server.url, ...env } };
    return spentOn('ours-postgres', effort, { ...given, storePid: server.pid });
  };
  try {
    await postgresStore({ pool }).migrate();
    const { written: bytes } = await postgresBytes(pool);
    const prune = await costOfPruning(pool, server.pid);
    const withPruning = (spent: Spent) => ({ ...spent, server: spent.server + prune, bytes });
    const postgres = withPruning(await costs({}));
    return { postgres, transactional: withPruning(await costs({ BENCH_TRANSACTIONAL: 'yes' })), prune };
  } finally {
    await pool.end();
    await server.stop();
  }
}

/** With the vacuum that follows, so that the space can be used again. */
async function costOfPruning(pool: Pool, serverPid: number): Promise<number> {
  const store = postgresStore({ pool, retention: '1s' });
  await pool.query('TRUNCATE webhook_event');
  await rememberMany(store);
  await pause(1_100);
  const before = familyCpuTime(serverPid);
  const pruned = await store.prune();
  await pool.query('VACUUM webhook_event');
  if (pruned !== REMEMBERED) throw new Error(`${pruned} of ${REMEMBERED} rows were pruned.`);
  return (familyCpuTime(serverPid) - before) / 1e9 / REMEMBERED;
}
