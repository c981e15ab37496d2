// The databases of deliveries in flight, each behind one port: what happens to its statements, and how its ledger is read.
import { setTimeout as pause } from 'node:timers/promises';
import { createPool, type RowDataPacket } from 'mysql2/promise';
import { sqlStore } from 'payment-webhooks/stores/sql';
import type { Pool } from 'pg';
import { type Service, startMariadb, startPgBouncer } from '../../setup/services.js';
import { overMysql2 } from '../../setup/sql-clients.js';
import { until } from '../../setup/waiting.js';
import type { Defer, Ledger } from './environment.js';
import { LEDGER, type LedgerRow, readLedger } from './merchant.js';
import type { Inject } from './nemesis.js';

/** A store of deliveries, and what is between it and the database. */
export const STORES = ['postgresStore', 'sqlStore', 'sqlStore, PgBouncer', 'sqlStore, MariaDB'] as const;
export type StoreName = (typeof STORES)[number];

export interface Database {
  readonly port: number;
  readonly faults: Readonly<Record<string, Inject>>;
  /** Of handlers that write inside `once`. */
  readLedger(): Promise<LedgerRow[]>;
}

const forAWhile = () => pause(500 + Math.random() * 1_000);

export async function startDatabase(store: StoreName, ledger: Ledger, defer: Defer): Promise<Database> {
  if (store === 'sqlStore, MariaDB') return mariadb(defer);
  const { postgres, pool } = ledger;
  const faults = { ...postgresFaults(pool), 'restart database': () => postgres.crash() };
  const common = { readLedger: () => readLedger(pool) };
  if (store !== 'sqlStore, PgBouncer') return { ...common, faults, port: postgres.port };
  const bouncer = await startPgBouncer(postgres.port, ['pool_mode = transaction', 'max_client_conn = 500']);
  defer(() => bouncer.stop());
  const restart = async () => {
    await bouncer.kill();
    await pause(300);
    await bouncer.start();
  };
  return { ...common, faults: { ...faults, 'restart bouncer': restart }, port: bouncer.port };
}

/** What happens to statements that carry the calls of many deliveries. */
function postgresFaults(pool: Pool) {
  const others =
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND query LIKE '%json_to_recordset%'";
  return {
    'statements cancelled': async () => {
      for (let time = 0; time < 50; time += 1) {
        await pool.query(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity ${others} AND state = 'active'`,
        );
        await pause(10);
      }
    },
    'connections terminated': async () => {
      await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity ${others}`);
    },
    'rows locked': async () => {
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query('SELECT FROM webhook_event ORDER BY claimed_at DESC LIMIT 20 FOR UPDATE');
      await forAWhile();
      await client.query('COMMIT');
      client.release();
    },
    'writes refused by a trigger': async () => {
      await pool.query(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF random() < 0.05 THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON webhook_event FOR EACH ROW EXECUTE FUNCTION refuse()`);
      await forAWhile();
      await pool.query('DROP TRIGGER refuse ON webhook_event');
    },
  };
}

async function mariadb(defer: Defer): Promise<Database> {
  const service = await startMariadb();
  defer(() => service.stop());
  const admin = createPool({ uri: service.url, connectionLimit: 4 });
  defer(() => admin.end());
  const rowsOf = async (sql: string) => (await admin.query<RowDataPacket[]>(sql))[0];
  const table = 'shop.webhook_event';
  // Triggers cannot be in the database of the URL.
  await rowsOf('CREATE DATABASE shop');
  await sqlStore({ ...overMysql2(admin, 'query'), table }).migrate();
  await rowsOf(
    LEDGER.replace('ledger', 'shop.ledger').replace(/timestamptz.*/, 'datetime(3) DEFAULT now(3))'),
  );
  const kill = async (what: 'KILL' | 'KILL QUERY', which: string) => {
    const all = await rowsOf(
      `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = 'shop' AND ${which}`,
    );
    // It may have ended meanwhile.
    for (const { id } of all) await rowsOf(`${what} ${id}`).catch(() => {});
  };
  const isUp = () => rowsOf('SELECT 1').then(Boolean, () => false);
  const faults = {
    'restart database': () => service.crash(),
    'shut down': () => shutDown(service),
    suspended: async () => {
      process.kill(service.pid, 'SIGSTOP');
      await forAWhile();
      process.kill(service.pid, 'SIGCONT');
    },
    'statements cancelled': async () => {
      for (let time = 0; time < 50; time += 1) {
        await kill('KILL QUERY', "INFO LIKE '%JSON_TABLE%'");
        await pause(10);
      }
    },
    'connections terminated': () => kill('KILL', 'TRUE'),
    'rows locked': async () => {
      const locker = await admin.getConnection();
      // Without the gaps between them.
      await locker.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED');
      await locker.query('START TRANSACTION');
      await locker.query(`SELECT 1 FROM ${table} ORDER BY claimed_at DESC LIMIT 20 FOR UPDATE`);
      await forAWhile();
      await locker.query('COMMIT');
      locker.release();
    },
    'writes refused by a trigger': async () => {
      const events = ['INSERT', 'UPDATE'];
      for (const event of events)
        await rowsOf(`CREATE TRIGGER shop.refuse_${event} BEFORE ${event} ON ${table} FOR EACH ROW
          IF RAND() < 0.05 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF`);
      await forAWhile();
      for (const event of events) await rowsOf(`DROP TRIGGER shop.refuse_${event}`);
    },
  };
  const whenUp = Object.entries(faults).map(([name, inject]) => [name, () => until(isUp).then(inject)]);
  const rows =
    'SELECT event_id AS event, worker, attempt, unix_timestamp(at) * 1000e0 AS at FROM shop.ledger';
  return {
    port: service.port,
    faults: Object.fromEntries(whenUp),
    readLedger: async () => {
      await until(isUp);
      return (await rowsOf(rows)) as LedgerRow[];
    },
  };
}

async function shutDown(service: Service): Promise<void> {
  process.kill(service.pid, 'SIGTERM');
  await until(() => !isRunning(service.pid));
  await service.start();
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
