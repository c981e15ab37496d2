// A Postgres with a streaming replica, an address that leads to whichever is the primary, and the ways to change that.
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { type Service, startPostgres } from '../../setup/services.js';
import { type FaultyProxy, startProxy } from '../faulty-proxy.js';

const POLL_MS = 20;
/** More than any step of a switch-over takes here; a campaign fails then. */
const MOST_MS = 60_000;
/** How long a demoted primary keeps its connections before the replica is promoted, and after. */
const DEMOTED_MS = 2_000;

export class PostgresPair {
  /** Where clients connect. */
  readonly front: FaultyProxy;
  /** From the replica to the primary. */
  readonly #link: FaultyProxy;
  readonly #settings: readonly string[];
  readonly #synchronous: boolean;
  #primary: Service;
  #replica: Service;

  private constructor(
    servers: { readonly primary: Service; readonly replica: Service },
    network: { readonly front: FaultyProxy; readonly link: FaultyProxy },
    options: { readonly settings: readonly string[]; readonly synchronous: boolean },
  ) {
    this.#primary = servers.primary;
    this.#replica = servers.replica;
    this.front = network.front;
    this.#link = network.link;
    this.#settings = options.settings;
    this.#synchronous = options.synchronous;
  }

  static async start(synchronous: boolean): Promise<PostgresPair> {
    const link = await startProxy(0);
    const front = await startProxy(0);
    const settings = [
      'fsync=off',
      'wal_keep_size=512MB',
      'wal_retrieve_retry_interval=200ms',
      'wal_receiver_status_interval=1s',
      // Of whichever server is the replica.
      `primary_conninfo=host=127.0.0.1 port=${link.port} user=postgres application_name=replica`,
      ...(synchronous ? ['synchronous_standby_names=replica'] : []),
    ];
    const primary = await startPostgres(settings);
    link.target(primary.port);
    front.target(primary.port);
    const replica = await copyOf(primary, settings);
    const pair = new PostgresPair({ primary, replica }, { front, link }, { settings, synchronous });
    await pair.#streaming();
    return pair;
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.front.port}/postgres`;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#primary.stop(), this.#replica.stop()]);
    await Promise.all([this.front.close(), this.#link.close()]);
  }

  /** Planned: the primary sends all it has to the replica, and ends. It comes back as the replica. */
  async switchOver(): Promise<void> {
    const old = this.#primary;
    await halt(old);
    this.front.set('cut');
    await this.#promote();
    this.front.set('open');
    await this.#follow(old);
  }

  /** @param behindMs for how long the replica got nothing more before the primary was lost for good */
  async killPrimary(behindMs: number): Promise<void> {
    const old = this.#primary;
    this.#link.set('black hole');
    await pause(behindMs);
    await old.kill();
    this.front.set('cut');
    this.#link.set('cut');
    await this.#promote();
    this.#link.set('open');
    this.front.set('open');
    freeSharedMemory(old);
    await old.stop();
    await this.#replace();
  }

  /**
   * The primary becomes read-only and goes on, with its connections, when the replica has all of it and takes over.
   *
   * @param meanwhile while no server takes writes
   */
  async demotePrimary(meanwhile: () => Promise<void>): Promise<void> {
    const old = this.#primary;
    const admin = adminOf(old, 'default_transaction_read_only=off');
    try {
      await admin.query('ALTER SYSTEM SET default_transaction_read_only = on');
      await admin.query('SELECT pg_reload_conf()');
      await until('no transaction writes any more', async () => (await writers(admin)) === 0);
      await meanwhile();
      await until('the replica has everything', async () => (await behind(admin)) === 0);
      await this.#promote();
      await pause(DEMOTED_MS);
    } finally {
      await admin.end();
    }
    // It has written a checkpoint since, which the new primary does not have: it cannot follow.
    await old.stop();
    await this.#replace();
  }

  /** The replica becomes the primary, and new connections lead to it. */
  async #promote(): Promise<void> {
    const admin = adminOf(this.#replica);
    try {
      const { rows } = await admin.query('SELECT pg_promote(true, 60) AS promoted');
      if (rows[0].promoted !== true) throw new Error('The replica was not promoted.');
    } finally {
      await admin.end();
    }
    [this.#primary, this.#replica] = [this.#replica, this.#primary];
    this.#link.target(this.#primary.port);
    this.front.target(this.#primary.port);
  }

  async #replace(): Promise<void> {
    this.#replica = await copyOf(this.#primary, this.#settings);
    await this.#streaming();
  }

  async #follow(old: Service): Promise<void> {
    write(join(old.dir, 'data'), 'standby.signal', '');
    this.#link.set('open');
    await old.start();
    await this.#streaming();
  }

  async #streaming(): Promise<void> {
    const admin = adminOf(this.#primary);
    const wanted = this.#synchronous ? 'streaming sync' : 'streaming async';
    try {
      await until('the replica follows', async () => {
        const { rows } = await admin.query(
          `SELECT state || ' ' || sync_state AS is FROM pg_stat_replication`,
        );
        return rows.length === 1 && rows[0].is === wanted;
      });
    } finally {
      await admin.end();
    }
  }
}

/** Never waits for a replica. */
function adminOf({ url }: Service, ...settings: readonly string[]): Pool {
  const options = ['synchronous_commit=local', ...settings].map((setting) => `-c ${setting}`).join(' ');
  return new Pool({ connectionString: url, max: 1, options }).on('error', () => {});
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
async function copyOf(primary: Service, settings: readonly string[]): Promise<Service> {
  const admin = adminOf(primary);
  try {
    return await startPostgres(settings, async (data) => {
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
    });
  } finally {
    await admin.end();
  }
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

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + MOST_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`Waited ${MOST_MS} ms until ${what}.`);
    await pause(POLL_MS);
  }
}
