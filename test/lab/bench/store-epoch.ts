// One epoch of a store, in its own process with its own server: store-epoch.ts STORE ROUNDS BUILD [OLD BUILD]
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import type { HandlerClaim, IdempotencyStore, WithOnce } from '../../../src/contracts/idempotency-store.js';
import type { SendCommand } from '../../../src/stores/redis.js';
import { startPostgres, startRedis } from '../../setup/services.js';
import { CALLERS, callersName, DISTANCES, oldName } from './contestants.js';
import { familyCpuTime } from './cpu-time.js';
import type { Round, Sample } from './epoch.js';
import { shuffled } from './statistics.js';

/** Unless the contestant says otherwise. */
const MANY = 64;
const WINDOW_MS = 1_000;

interface OpenStore {
  /** What is compared, by name. */
  readonly works: Readonly<Record<string, () => Promise<unknown>>>;
  /** How many do it at once, by the same names. */
  readonly callers?: Readonly<Record<string, number>>;
  /** Left out where the store has no server. */
  readonly serverPid?: number | undefined;
  readonly close?: () => Promise<unknown>;
}

/** A build under test. */
interface Build {
  /** The name of a contestant of this build. */
  readonly named: (name: string) => string;
  load<Door>(door: string): Promise<Door>;
}

const stores: Readonly<Record<string, (builds: readonly Build[]) => Promise<OpenStore>>> = {
  async memory(builds) {
    const seen = new Map<string, number>();
    const works: Record<string, () => Promise<void>> = {
      'memory: bare Map': async () => {
        seen.set(newKey(), 1);
        if (seen.size > 100_000) seen.clear();
      },
    };
    for (const { named, load } of builds) {
      const { memoryStore } = await load<typeof import('../../../src/stores/memory.js')>('stores/memory.js');
      const store = memoryStore();
      works[named('memory: claim + complete')] = () => remember(store);
    }
    return { works };
  },

  async redis(builds) {
    const server = await startRedis();
    const node = await createClient({ url: server.url }).connect();
    const io = new Redis(server.url);
    const clients: Record<string, SendCommand> = {
      redis: (...args) => node.sendCommand(args),
      ioredis: (...args) => io.call(...args),
    };
    const works: Record<string, () => Promise<unknown>> = {};
    for (const [client, sendCommand] of Object.entries(clients)) {
      works[`${client}: bare SET`] = () => sendCommand('SET', newKey(), 'x', 'NX', 'PX', '60000');
      for (const { named, load } of builds) {
        const { redisStore } = await load<typeof import('../../../src/stores/redis.js')>('stores/redis.js');
        const store = redisStore({ sendCommand, retention: '1h' });
        works[named(`${client}: claim`)] = () => claimOf(store);
        works[named(`${client}: claim + complete`)] = () => remember(store);
      }
    }
    const close = async () => {
      node.destroy();
      io.disconnect();
      await server.stop();
    };
    return { works, serverPid: server.pid, close };
  },

  async callers(builds) {
    const server = await startPostgres();
    const proxy = fork(fileURLToPath(new URL('load-curve/distance-proxy.js', import.meta.url)), [
      String(new URL(server.url).port),
    ]);
    const [far] = await once(proxy, 'message');
    const works: Record<string, () => Promise<unknown>> = {};
    const callers: Record<string, number> = {};
    const pools: Pool[] = [];
    for (const ms of DISTANCES) {
      if (ms > 0) proxy.send(ms);
      const url = new URL(server.url);
      if (ms > 0) url.port = String(far);
      for (const { named, load } of builds) {
        const { postgresStore } =
          await load<typeof import('../../../src/stores/postgres.js')>('stores/postgres.js');
        // A connection that ends takes its CPU time with it.
        const pool = new Pool({ connectionString: url.href, max: 20, idleTimeoutMillis: 0 });
        pools.push(pool);
        // Each begins with an empty table, for which Postgres plans differently.
        const store = postgresStore({ pool, table: `callers_${pools.length}` });
        await store.migrate();
        for (const count of CALLERS) {
          const name = named(callersName(count, ms));
          works[name] = () => remember(store);
          callers[name] = count;
        }
      }
    }
    const close = async () => {
      for (const pool of pools) await pool.end();
      proxy.disconnect();
      await server.stop();
    };
    return { works, callers, serverPid: server.pid, close };
  },

  async postgres(builds) {
    const server = await startPostgres();
    const pool = new Pool({ connectionString: server.url, max: 20 });
    await pool.query('CREATE TABLE bare (key text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())');
    const insert = { name: 'bare', text: 'INSERT INTO bare (key) VALUES ($1)' };
    const works: Record<string, () => Promise<unknown>> = {
      'pg: bare INSERT': () => pool.query({ ...insert, values: [newKey()] }),
    };
    for (const { named, load } of builds) {
      const { postgresStore } =
        await load<typeof import('../../../src/stores/postgres.js')>('stores/postgres.js');
      const store = postgresStore({ pool });
      await store.migrate();
      works[named('pg: claim')] = () => claimOf(store);
      works[named('pg: claim + complete')] = () => remember(store);
      works[named('pg: claim + once + complete')] = () => rememberOnce(store);
    }
    const close = async () => {
      await pool.end();
      await server.stop();
    };
    return { works, serverPid: server.pid, close };
  },
};

/** Flat, as text that was parsed is: what randomUUID gives is a tree of pieces, five times as large. */
const newKey = () => Buffer.from(`default:live:${randomUUID()}`).toString('latin1');

async function claimOf(store: IdempotencyStore<object>) {
  const result = await store.claim(newKey(), { leaseMs: 30_000, fingerprint: 'a'.repeat(64) });
  if (result.status !== 'claimed') throw new Error(result.status);
  return result.claim;
}

async function remember(store: IdempotencyStore<object>): Promise<void> {
  const claim = await claimOf(store);
  if (!(await claim.complete())) throw new Error('not completed');
}

async function rememberOnce(store: IdempotencyStore<object>): Promise<void> {
  const claim = await claimOf(store);
  const handler = claim.forHandler?.('pay') as HandlerClaim<WithOnce<unknown>> | undefined;
  if (!handler) throw new Error('This build has no once.');
  await handler.context.once(() => {});
  handler.end(() => {});
  if ((await claim.complete()) !== true) throw new Error('not completed');
}

const [name = '', count, ...folders] = process.argv.slice(2);
const open = stores[name];
if (!open) throw new Error(`There is no store "${name}".`);
process.once('disconnect', () => process.exit(1));

const builds = folders.map((folder, index) => ({
  named: (one: string) => (index === 0 ? one : oldName(one)),
  load: (door: string) => import(pathToFileURL(join(folder, door)).href),
}));
const { works, callers = {}, serverPid, close } = await open(builds);
try {
  await measureRound(); // To warm up.
  const rounds: Round[] = [];
  while (rounds.length < Number(count)) rounds.push(await measureRound());
  process.send?.(rounds);
} finally {
  await close?.();
  process.removeAllListeners('disconnect');
  process.disconnect();
}

async function measureRound(): Promise<Round> {
  const round: Record<string, Sample> = {};
  for (const [one, work] of shuffled(Object.entries(works)))
    round[one] = await measureWindow(work, callers[one] ?? MANY);
  return round;
}

/** Many callers at once: the time and CPU of an operation, in this process and in the store's server. */
async function measureWindow(work: () => Promise<unknown>, callers: number): Promise<Sample> {
  const serverTime = () => (serverPid === undefined ? 0 : familyCpuTime(serverPid));
  let done = 0;
  const [startedAt, client, server] = [performance.now(), process.cpuUsage(), serverTime()];
  const caller = async () => {
    while (performance.now() < startedAt + WINDOW_MS) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const { user, system } = process.cpuUsage(client);
  return {
    wallUs: ((performance.now() - startedAt) * 1_000) / done,
    clientUs: (user + system) / done,
    serverUs: (serverTime() - server) / 1_000 / done,
  };
}
