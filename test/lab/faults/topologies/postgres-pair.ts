// A Postgres with a streaming replica, an address that leads to whichever is the primary, and the ways to change that.
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { type Service, startPostgres } from '../../../setup/services.js';
import type { Defer } from '../environment.js';
import { startProxy } from '../faulty-proxy.js';
import { until } from './redis-node.js';

/** How long a demoted primary keeps its connections before the replica is promoted, and after. */
const DEMOTED_MS = 2_000;

export async function startPostgresPair(synchronous: boolean, defer: Defer) {
  /** Where clients connect, and from the replica to the primary. */
  const [front, link] = [await startProxy(0), await startProxy(0)];
  defer(() => Promise.all([front.close(), link.close()]));
  const settings = [
    'fsync=off',
    'wal_keep_size=512MB',
    'wal_retrieve_retry_interval=200ms',
    'wal_receiver_status_interval=1s',
    // Of whichever server is the replica.
    `primary_conninfo=host=127.0.0.1 port=${link.port} user=postgres application_name=replica`,
    ...(synchronous ? ['synchronous_standby_names=replica'] : []),
  ];
  let primary = await startPostgres(settings);
  defer(() => primary.stop());
  const leadToPrimary = () => {
    link.target(primary.port);
    front.target(primary.port);
  };
  leadToPrimary();
  let replica = await copyOf(primary, settings);
  defer(() => replica.stop());

  const streaming = () =>
    asAdmin(primary, [], async (admin) => {
      const wanted = synchronous ? 'streaming sync' : 'streaming async';
      const query = `SELECT state || ' ' || sync_state AS is FROM pg_stat_replication`;
      await until('the replica follows', async () => {
        const { rows } = await admin.query(query);
        return rows.length === 1 && rows[0].is === wanted;
      });
    });
  /** The replica becomes the primary, and new connections lead to it. */
  const promote = async () => {
    await asAdmin(replica, [], async (admin) => {
      const { rows } = await admin.query('SELECT pg_promote(true, 60) AS promoted');
      if (rows[0].promoted !== true) throw new Error('The replica was not promoted.');
    });
    [primary, replica] = [replica, primary];
    leadToPrimary();
  };
  const replaceReplica = async () => {
    replica = await copyOf(primary, settings);
    await streaming();
  };

  await streaming();
  return {
    port: front.port,
    url: `postgres://postgres@127.0.0.1:${front.port}/postgres`,

    /** Planned: the primary sends all it has to the replica, and ends. It comes back as the replica. */
    async switchOver(): Promise<void> {
      const old = primary;
      await halt(old);
      front.set('cut');
      await promote();
      front.set('open');
      write(join(old.dir, 'data'), 'standby.signal', '');
      link.set('open');
      await old.start();
      await streaming();
    },

    /** @param behindMs for how long the replica got nothing more before the primary was lost for good */
    async killPrimary(behindMs: number): Promise<void> {
      const old = primary;
      link.set('black hole');
      await pause(behindMs);
      await old.kill();
      front.set('cut');
      link.set('cut');
      await promote();
      link.set('open');
      front.set('open');
      freeSharedMemory(old);
      await old.stop();
      await replaceReplica();
    },

    /**
     * The primary becomes read-only and goes on, with its connections, when the replica has all of it and takes over.
     *
     * @param meanwhile while no server takes writes
     */
    async demotePrimary(meanwhile: () => Promise<void>): Promise<void> {
      const old = primary;
      await asAdmin(old, ['default_transaction_read_only=off'], async (admin) => {
        await admin.query('ALTER SYSTEM SET default_transaction_read_only = on');
        await admin.query('SELECT pg_reload_conf()');
        await until('no transaction writes any more', async () => (await writers(admin)) === 0);
        await meanwhile();
        await until('the replica has everything', async () => (await behind(admin)) === 0);
        await promote();
        await pause(DEMOTED_MS);
      });
      // It has written a checkpoint since, which the new primary does not have: it cannot follow.
      await old.stop();
      await replaceReplica();
    },
  };
}

/** On a connection that never waits for a replica. */
async function asAdmin<Found>(
  { url }: Service,
  settings: readonly string[],
  work: (admin: Pool) => Promise<Found>,
): Promise<Found> {
  const options = ['synchronous_commit=local', ...settings].map((setting) => `-c ${setting}`).join(' ');
  const admin = new Pool({ connectionString: url, max: 1, options }).on('error', () => {});
  return work(admin).finally(() => admin.end());
}

async function writers(admin: Pool): Promise<number> {
  const { rows } = await admin.query(
    'SELECT count(*)::int AS n FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()',
  );
  return rows[0].n;
}

/** What the replica has it replays before it is promoted. */
async function behind(admin: Pool): Promise<number> {
  const { rows } = await admin.query(
    'SELECT (pg_current_wal_lsn() - flush_lsn)::float8 AS bytes FROM pg_stat_replication',
  );
  return rows[0]?.bytes ?? Number.NaN;
}

/** What pg_basebackup does, which the binaries of npm do not have. */
function copyOf(primary: Service, settings: readonly string[]): Promise<Service> {
  return asAdmin(primary, [], (admin) =>
    startPostgres(settings, async (data) => {
      // It begins and ends in one session.
      await admin.query(`SELECT pg_backup_start('replica', true)`);
      // Files that vanish meanwhile are in the log that the replica gets.
      spawnSync('cp', ['-a', join(primary.dir, 'data'), data]);
      const { rows } = await admin.query('SELECT labelfile FROM pg_backup_stop(false)');
      rmSync(join(data, 'postmaster.pid'), { force: true });
      for (const file of readdirSync(join(data, 'pg_wal')))
        rmSync(join(data, 'pg_wal', file), { recursive: true });
      write(data, 'backup_label', rows[0].labelfile);
      write(data, 'standby.signal', '');
    }),
  );
}

/** A file of the server's own user. */
function write(data: string, name: string, text: string): void {
  const file = join(data, name);
  writeFileSync(file, text);
  const { uid, gid } = statSync(data);
  chownSync(file, uid, gid);
}

/** A fast shutdown, which ends only when the replica has everything. */
async function halt({ pid }: Service): Promise<void> {
  process.kill(pid, 'SIGINT');
  await until('the primary is down', async () => !isAlive(pid));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A Postgres that is started again frees what it left; this one never is. */
function freeSharedMemory({ dir }: Service): void {
  const id = readFileSync(join(dir, 'data', 'postmaster.pid'), 'utf8')
    .split('\n')[6]
    ?.trim()
    .split(/\s+/)[1];
  if (id === undefined) return;
  try {
    execFileSync('ipcrm', ['-m', id], { stdio: 'ignore' });
  } catch {}
}
