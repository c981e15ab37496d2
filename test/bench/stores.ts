// What a claim costs in each store, beside one bare round trip of the same client in the same run.
// npm run bench:stores [-- --seconds 2 --only postgres] starts its own Redis and Postgres.
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { createClient } from 'redis';
import { memoryStore } from '../../src/stores/memory.js';
import { postgresStore } from '../../src/stores/postgres.js';
import { redisStore, type SendCommand } from '../../src/stores/redis.js';
import type { IdempotencyStore } from '../../src/stores/store.js';
import { startPostgres, startRedis } from '../setup/services.js';

const CONCURRENCY = 64;
const ROUNDS = 5;
const REMEMBERED = 100_000;
const { seconds, only } = parseArgs({
  options: { seconds: { type: 'string', default: '1' }, only: { type: 'string', default: '' } },
}).values;
const windowMs = Number(seconds) * 1_000;
const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(64) };

interface Contestant {
  readonly name: string;
  readonly work: () => Promise<unknown>;
}
/** Microseconds for one operation. */
interface Figure {
  /** From one finished operation to the next, all 64 callers together: what else runs on the machine counts too. */
  readonly wall: number;
  /** CPU of this process. */
  readonly client: number;
  /** CPU of the server and its children, read from /proc; 0 without a server or without /proc. */
  readonly server: number;
}

/** Flat, as text that was parsed is: what randomUUID gives is a tree of pieces, five times as large. */
const key = () => Buffer.from(`default:live:${randomUUID()}`).toString('latin1');

async function claim(store: IdempotencyStore<object>) {
  const result = await store.claim(key(), request);
  if (result.status !== 'claimed') throw new Error(result.status);
  return result.claim;
}

/** Claim and complete are counted as one operation. */
const once = (store: IdempotencyStore<object>) => async () => {
  if (!(await (await claim(store)).complete())) throw new Error('not completed');
};

async function measure(work: Contestant['work'], ms: number): Promise<Figure> {
  let done = 0;
  const [startedAt, client, server] = [performance.now(), process.cpuUsage(), serverCpu()];
  const end = startedAt + ms;
  const caller = async () => {
    while (performance.now() < end) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, caller));
  const { user, system } = process.cpuUsage(client);
  return {
    wall: ((performance.now() - startedAt) * 1_000) / done,
    client: (user + system) / done,
    server: (serverCpu() - server) / done,
  };
}

/** The server under test; undefined where CPU cannot be read. */
let serverPid: number | undefined;

/** Microseconds of CPU that the server and its children have used so far. */
function serverCpu(): number {
  if (serverPid === undefined) return 0;
  let ticks = 0;
  for (const pid of readdirSync('/proc').map(Number)) {
    // A process may end while the list is read.
    const stat = pid > 0 && readStat(pid);
    if (stat && (pid === serverPid || Number(stat[1]) === serverPid))
      ticks += Number(stat[11]) + Number(stat[12]);
  }
  return ticks * 10_000;
}

function readStat(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ');
  } catch {
    return undefined;
  }
}

/** In turns, in another order each round; of each contestant the least disturbed window counts. */
async function compare(contestants: readonly Contestant[]): Promise<void> {
  const windows = new Map<Contestant, Figure[]>(contestants.map((contestant) => [contestant, []]));
  for (const { work } of contestants) await measure(work, windowMs);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [{ work }, figures] of [...windows].toSorted(() => Math.random() - 0.5))
      figures.push(await measure(work, windowMs));
  }
  let bare: Figure | undefined;
  for (const [{ name }, figures] of windows) {
    const best = (part: keyof Figure) => Math.min(...figures.map((figure) => figure[part]));
    const figure = { wall: best('wall'), client: best('client'), server: best('server') };
    bare ??= figure;
    console.log(row(name, figure, bare));
  }
}

function row(name: string, { wall, client, server }: Figure, bare: Figure): string {
  const cpu = (client + server) / (bare.client + bare.server);
  return [
    name.padEnd(46),
    `${Math.round(1e6 / wall).toLocaleString('en')}/s`.padStart(10),
    `CPU ${client.toFixed(1).padStart(5)} + ${server.toFixed(1).padStart(5)} µs`,
    `${(wall / bare.wall).toFixed(2)} x time`,
    `${cpu.toFixed(2)} x CPU`,
  ].join('  ');
}

async function redisClients(url: string): Promise<void> {
  const node = await createClient({ url }).connect();
  const io = new Redis(url);
  const clients: Record<string, SendCommand> = {
    redis: (...args) => node.sendCommand(args),
    ioredis: (...args) => io.call(...args),
  };
  for (const [name, sendCommand] of Object.entries(clients)) {
    const store = redisStore({ sendCommand, retention: '1h' });
    await compare([
      { name: `${name}: SET NX PX, bare`, work: () => sendCommand('SET', key(), 'x', 'NX', 'PX', '60000') },
      { name: `${name}: claim`, work: () => claim(store) },
      { name: `${name}: claim + complete`, work: once(store) },
    ]);
    await io.flushall();
  }
  const used = async () => Number(/used_memory:(\d+)/.exec(await io.info('memory'))?.[1]);
  const before = await used();
  await remember(redisStore({ sendCommand: clients.ioredis as SendCommand }));
  console.log(
    `Redis memory per remembered event: ${Math.round(((await used()) - before) / REMEMBERED)} bytes`,
  );
  node.destroy();
  io.disconnect();
}

async function postgres(connectionString: string): Promise<void> {
  const pool = new Pool({ connectionString, max: 20 });
  const store = postgresStore({ pool });
  const transactional = postgresStore({ pool, table: 'in_transaction', transactional: true });
  await store.migrate();
  await transactional.migrate();
  await pool.query('CREATE TABLE bare (key text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())');
  const insert = () =>
    pool.query({ name: 'bare', text: 'INSERT INTO bare (key) VALUES ($1)', values: [key()] });
  await compare([
    { name: 'pg: prepared INSERT of one row, bare', work: insert },
    { name: 'pg: claim', work: () => claim(store) },
    { name: 'pg: claim + complete', work: once(store) },
    { name: 'pg: claim + complete, transactional', work: once(transactional) },
  ]);
  await pool.query('TRUNCATE webhook_event');
  await remember(store);
  const size = async () =>
    Number((await pool.query("SELECT pg_total_relation_size('webhook_event') AS bytes")).rows[0].bytes) /
    REMEMBERED;
  const written = await size();
  await pool.query('VACUUM FULL webhook_event');
  console.log(
    `Postgres bytes per remembered event, with indexes: ${Math.round(written)} as written, ${Math.round(await size())} compacted`,
  );
  await pool.end();
}

async function remember(store: IdempotencyStore<object>): Promise<void> {
  let left = REMEMBERED;
  const caller = async () => {
    for (; left > 0; ) {
      left -= 1;
      await once(store)();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, caller));
}

async function memory(): Promise<void> {
  await compare([
    { name: 'memory: Map, bare', work: bareMap() },
    { name: 'memory: claim + complete', work: once(memoryStore()) },
  ]);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const store = memoryStore();
  for (let id = 0; id < 1_000_000; id += 1) await once(store)();
  globalThis.gc?.();
  const used = process.memoryUsage().heapUsed - before;
  // Asked once more, so that the store is still there when its memory is counted.
  await once(store)();
  console.log(
    `memory: 1,000,000 ids through 100,000 entries hold ${(used / 1e6).toFixed(1)} MB, ${Math.round(used / 1e5)} bytes each`,
  );
}

function bareMap(): () => Promise<void> {
  const seen = new Map<string, number>();
  return async () => {
    seen.set(key(), 1);
    if (seen.size > 100_000) seen.clear();
  };
}

async function against(start: typeof startRedis, run: (url: string) => Promise<void>): Promise<void> {
  const server = await start();
  serverPid = existsSync('/proc/self/stat') ? server.pid : undefined;
  try {
    await run(server.url);
  } finally {
    await server.stop();
  }
}

const suites = {
  memory,
  redis: () => against(startRedis, redisClients),
  postgres: () => against(startPostgres, postgres),
};
for (const [name, suite] of Object.entries(suites)) if (name.startsWith(only)) await suite();
