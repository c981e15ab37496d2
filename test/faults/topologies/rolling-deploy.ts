// Two versions of the package on one store: deployed one worker after the other, killed, and rolled back.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { bundle } from '../../setup/bundle.js';
import { startPostgres, startRedis } from '../../setup/services.js';
import { count } from '../history.js';
import { LEDGER, type Mode } from '../merchant.js';
import type { TopologyCampaign } from '../topologies.js';
import type { Workers } from '../workers.js';
import { killWorker, runTopologyCampaign, type Topology } from './campaign.js';
import { countConflicts } from './witness.js';

/**
 * The last commit of 0.1.0: its fingerprints are SHA-256 in 64 digits, it has no plain insert before a claim, and its
 * scripts of Redis are others.
 */
const OLD = '0940b30';
const EVENTS = 600;
const WORKERS = 4;
const KILLS = 20;

type Version = 'old' | 'new';

interface Programs extends Record<Version, string> {
  remove(): void;
}

const WORKER = new URL('../worker.ts', import.meta.url);

/** The worker of the campaign with the source of either version. */
function bundleBoth(): Programs {
  const now = bundle(WORKER);
  const source = mkdtempSync(join(dirname(dirname(now)), 'old-'));
  const archive = execFileSync('git', ['archive', OLD, 'src'], { maxBuffer: 64 * 2 ** 20 });
  execFileSync('tar', ['-x', '-C', source], { input: archive });
  const old = bundle(WORKER, {
    'payment-webhooks/stores/postgres': join(source, 'src/stores/postgres.ts'),
    'payment-webhooks/stores/redis': join(source, 'src/stores/redis.ts'),
    'payment-webhooks': join(source, 'src/index.ts'),
  });
  const remove = () => {
    for (const folder of [dirname(now), dirname(old), source])
      rmSync(folder, { recursive: true, force: true });
  };
  return { old, new: now, remove };
}

interface RunningStore {
  readonly port: number;
  readonly url: string;
  /** Lengths of the fingerprints that it has. */
  fingerprints(): Promise<readonly number[]>;
  stop(): Promise<void>;
}

async function startPostgresStore(): Promise<RunningStore> {
  const postgres = await startPostgres(['fsync=off']);
  const pool = new Pool({ connectionString: postgres.url, max: 1 }).on('error', () => {});
  await pool.query(LEDGER);
  return {
    port: postgres.port,
    url: postgres.url,
    fingerprints: async () => {
      const { rows } = await pool.query(
        'SELECT DISTINCT length(fingerprint) AS digits FROM webhook_event ORDER BY 1',
      );
      return rows.map(({ digits }) => digits);
    },
    stop: async () => {
      await pool.end();
      await postgres.stop();
    },
  };
}

async function startRedisStore(): Promise<RunningStore> {
  const redis = await startRedis();
  const client = new Redis(redis.url).on('error', () => {});
  return {
    port: redis.port,
    url: redis.url,
    fingerprints: async () => {
      const keys = await client.keys('webhook:*');
      const all = await Promise.all(keys.map((key) => client.hget(key, 'fingerprint')));
      return [...new Set(all.map((text) => text?.length ?? 0))].sort((a, b) => a - b);
    },
    stop: async () => {
      client.disconnect();
      await redis.stop();
    },
  };
}

async function start(mode: Mode, first: Version): Promise<Topology> {
  const programs = bundleBoth();
  const store = await (mode === 'redis' ? startRedisStore() : startPostgresStore());
  const second = first === 'old' ? 'new' : 'old';
  let next: () => Version = () => first;
  const deploy = (version: Version) => ({
    times: WORKERS,
    inject: (workers: Workers) => {
      next = () => version;
      return replaceOldest(workers);
    },
  });
  const kill = {
    times: KILLS,
    inject: (workers: Workers) => {
      next = () => (Math.random() < 0.5 ? 'old' : 'new');
      return killWorker(workers);
    },
  };
  return {
    store: store.port,
    storeUrl: store.url,
    program: () => programs[next()],
    faults: [deploy(second), kill, deploy(first)],
    check: async (_sent, notes) => [
      ...((await store.fingerprints()).join() === '12,64'
        ? []
        : ['both versions did not write to the store']),
      ...count(
        await countConflicts(notes, programs.new),
        'duplicates were taken for other bytes by the new version',
      ),
    ],
    stop: async () => {
      await store.stop();
      programs.remove();
    },
  };
}

/** In the order in which they started, so that each gets its turn. */
async function replaceOldest(workers: Workers): Promise<number | undefined> {
  const worker = workers.oldest();
  if (worker) await workers.end(worker, 'SIGTERM');
  return worker?.process.pid;
}

const MODES = {
  postgres: { words: 'postgres, rolling deploy', promise: 'at least once, deduplicated' },
  transactional: {
    words: 'postgres, rolling deploy, transactional',
    promise: 'exactly once in the transaction',
  },
  redis: { words: 'redis, rolling deploy', promise: 'at least once, deduplicated' },
} as const;

function campaign(mode: keyof typeof MODES, first: Version): TopologyCampaign {
  const { words, promise } = MODES[mode];
  return {
    name: `${words}: ${first === 'old' ? '0.1 to this, and back' : 'this to 0.1, and back'}`,
    promise,
    run: (progress) =>
      runTopologyCampaign({ mode, calmMs: 400, crowd: EVENTS, start: () => start(mode, first) }, progress),
  };
}

export const ROLLING_DEPLOY: readonly TopologyCampaign[] = (
  ['postgres', 'transactional', 'redis'] as const
).flatMap((mode) => [campaign(mode, 'old'), campaign(mode, 'new')]);
