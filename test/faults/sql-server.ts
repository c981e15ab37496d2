// A database for a campaign: started, read and broken without the client that is tested.
import { setTimeout as pause } from 'node:timers/promises';
import { createPool, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise';
import type { SqlDatabase } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { type Service, startMariadb, startPostgres } from '../setup/services.js';
import { LEDGERS, type SqlClient } from '../setup/sql-adapters.js';
import { until } from '../setup/waiting.js';
import type { LedgerRow } from './merchant.js';
import type { Targets } from './nemesis.js';

export interface SqlServer {
  readonly url: string;
  readonly port: number;
  /** In lease mode, to create the table. */
  readonly database: Omit<SqlDatabase<object>, 'transaction'>;
  readonly targets: Omit<Targets, 'workers' | 'proxy'>;
  readLedger(): Promise<LedgerRow[]>;
  stop(): Promise<void>;
}

export function startSqlServer(server: SqlClient['server']): Promise<SqlServer> {
  return server === 'MariaDB' ? mariadbServer() : postgresServer();
}

async function nothing(): Promise<void> {}

async function postgresServer(): Promise<SqlServer> {
  const service = await startPostgres();
  const pool = new Pool({ connectionString: service.url, max: 4 });
  pool.on('error', () => {});
  await pool.query(LEDGERS.Postgres);
  const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
    ORDER BY random() LIMIT 1`;
  return {
    ...service,
    database: {
      dialect: 'postgres',
      client: pool,
      query: async (_, sql, values) => (await pool.query(sql, values)).rows,
    },
    targets: {
      crashPostgres: () => service.crash(),
      crashRedis: nothing,
      terminateConnection: () => until(async () => (await pool.query(terminate)).rowCount === 1),
    },
    readLedger: async () => {
      const { rows } = await pool.query<LedgerRow>(
        'SELECT payment AS event, 0 AS worker, 1 AS attempt, (extract(epoch FROM at) * 1000)::float8 AS at FROM ledger',
      );
      return rows;
    },
    stop: () => pool.end().then(() => service.stop()),
  };
}

async function mariadbServer(): Promise<SqlServer> {
  // Each commit reaches the system, so that it outlives the process.
  const service: Service = await startMariadb(['--innodb-flush-log-at-trx-commit=2']);
  const pool = createPool({ uri: service.url, connectionLimit: 4 });
  await pool.query(LEDGERS.MariaDB);
  const open = 'SELECT trx_mysql_thread_id AS id FROM information_schema.innodb_trx ORDER BY rand() LIMIT 1';
  const terminate = async (): Promise<boolean> => {
    // MariaDB looks again only if nobody has asked for a tenth of a second.
    await pause(120);
    const [[found]] = await pool.query<RowDataPacket[]>(open);
    // It may have ended meanwhile.
    const kill = () => pool.query<ResultSetHeader>(`KILL ${found?.id}`);
    return found !== undefined && (await kill().then(Boolean, () => false));
  };
  return {
    ...service,
    database: {
      dialect: 'mysql',
      client: pool,
      query: async (_, sql, values) => (await pool.query(sql, values))[0],
    },
    targets: {
      crashPostgres: nothing,
      crashRedis: nothing,
      crashMariadb: () => service.crash(),
      terminateConnection: () => until(terminate),
    },
    readLedger: async () => {
      const [rows] = await pool.query<RowDataPacket[]>(
        'SELECT payment AS event, 0 AS worker, 1 AS attempt, unix_timestamp(at) * 1000e0 AS at FROM ledger',
      );
      return rows as LedgerRow[];
    },
    stop: () => pool.end().then(() => service.stop()),
  };
}
