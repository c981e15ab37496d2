// Two versions of the package on one store: deployed one worker after the other, killed, and rolled back.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { bundleProgram, type Defer, startLedger, startOwnRedis } from '../environment.js';
import { count } from '../history.js';
import { LEDGER, type Mode } from '../merchant.js';
import type { Workers } from '../workers.js';
import type { Topology, TopologyCampaign } from './campaign.js';

/**
 * The last commit of 0.1.0: its fingerprints are SHA-256 in 64 digits, it has no plain insert before a claim, and its
 * scripts of Redis are others.
 */
const OLD = '0940b30';
const EVENTS = 600;
const WORKERS = 4;
const KILLS = 20;

type Version = 'old' | 'new';

/** The worker of the campaign with the source of either version. */
function bundleBoth(defer: Defer): Record<Version, string> {
  const now = bundleProgram('./worker.ts', defer);
  const source = mkdtempSync(join(dirname(dirname(now)), 'old-'));
  defer(() => rmSync(source, { recursive: true, force: true }));
  const archive = execFileSync('git', ['archive', OLD, 'src'], { maxBuffer: 64 * 2 ** 20 });
  execFileSync('tar', ['-x', '-C', source], { input: archive });
  const old = bundleProgram('./worker.ts', defer, {
    'payment-webhooks/stores/postgres': join(source, 'src/stores/postgres.ts'),
    'payment-webhooks/stores/redis': join(source, 'src/stores/redis.ts'),
    'payment-webhooks': join(source, 'src/index.ts'),
  });
  return { old, new: now };
}

interface RunningStore {
  readonly port: number;
  readonly url: string;
  /** Lengths of the fingerprints that it has. */
  fingerprints(): Promise<readonly number[]>;
}

async function startPostgresStore(defer: Defer): Promise<RunningStore> {
  const { postgres, pool } = await startLedger(defer, [LEDGER]);
  const query = 'SELECT DISTINCT length(fingerprint) AS digits FROM webhook_event ORDER BY 1';
  return {
    ...postgres,
    fingerprints: async () => (await pool.query(query)).rows.map(({ digits }) => digits),
  };
}

async function startRedisStore(defer: Defer): Promise<RunningStore> {
  const redis = await startOwnRedis(defer);
  const client = new Redis(redis.url).on('error', () => {});
  defer(() => client.disconnect());
  return {
    ...redis,
    fingerprints: async () => {
      const keys = await client.keys('webhook:*');
      const all = await Promise.all(keys.map((key) => client.hget(key, 'fingerprint')));
      return [...new Set(all.map((text) => text?.length ?? 0))].sort((a, b) => a - b);
    },
  };
}

async function start(mode: Mode, first: Version, defer: Defer): Promise<Topology> {
  const programs = bundleBoth(defer);
  const store = await (mode === 'redis' ? startRedisStore(defer) : startPostgresStore(defer));
  let next: () => Version = () => first;
  const deploy = (version: Version) => ({
    times: WORKERS,
    // In the order in which they started, so that each gets its turn.
    inject: (workers: Workers) => {
      next = () => version;
      return workers.endOldest('SIGTERM');
    },
  });
  const kill = {
    times: KILLS,
    inject: (workers: Workers) => {
      next = () => (Math.random() < 0.5 ? 'old' : 'new');
      return workers.endAny('SIGKILL');
    },
  };
  return {
    store: store.port,
    storeUrl: store.url,
    program: () => programs[next()],
    faults: [deploy(first === 'old' ? 'new' : 'old'), kill, deploy(first)],
    check: async (_sent, notes) => [
      ...((await store.fingerprints()).join() === '12,64'
        ? []
        : ['both versions did not write to the store']),
      ...count(
        await countConflicts(notes, programs.new),
        'duplicates were taken for other bytes by the new version',
      ),
    ],
  };
}

/** Duplicates that this program took for other bytes. */
async function countConflicts(notes: Pool, program: string): Promise<number> {
  const { rows } = await notes.query('SELECT 1 FROM conflict WHERE program = $1', [program]);
  return rows.length;
}

const NAMES = {
  postgres: 'postgres, rolling deploy',
  redis: 'redis, rolling deploy',
} as const;

export const ROLLING_DEPLOY: readonly TopologyCampaign[] = (['postgres', 'redis'] as const).flatMap((mode) =>
  (['old', 'new'] as const).map((first) => ({
    name: `${NAMES[mode]}: ${first === 'old' ? '0.1 to this, and back' : 'this to 0.1, and back'}`,
    ...{ mode, calmMs: 400, crowd: EVENTS },
    start: (defer) => start(mode, first, defer),
  })),
);
