// A database for a campaign: started, read and broken without the client that is tested.
import { setTimeout as pause } from 'node:timers/promises';
import { createPool, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise';
import { type SqlStore, sqlStore } from 'payment-webhooks/stores/sql';
import { quietPool } from '../../setup/quiet-pool.js';
import { type Service, startMariadb, startPostgres } from '../../setup/services.js';
import { LEDGERS, type SqlClient } from '../../setup/sql-adapters.js';
import type { Defer } from './environment.js';
import type { LedgerRow } from './merchant.js';

export interface SqlServer {
  readonly service: Service;
  /** To create the table. */
  readonly store: SqlStore;
  /** Ends a connection that has a transaction open, if there is one. */
  terminate(): Promise<boolean>;
  readLedger(): Promise<LedgerRow[]>;
}

export function startSqlServer(server: SqlClient['server'], defer: Defer): Promise<SqlServer> {
  return server === 'MariaDB' ? mariadbServer(defer) : postgresServer(defer);
}

const ledgerRows = (milliseconds: string) =>
  `SELECT payment AS event, 0 AS worker, 1 AS attempt, ${milliseconds} AS at FROM ledger`;

async function postgresServer(defer: Defer): Promise<SqlServer> {
  const service = await startPostgres();
  defer(() => service.stop());
  const pool = quietPool(service.url, 4);
  defer(() => pool.end());
  await pool.query(LEDGERS.Postgres);
  const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
    ORDER BY random() LIMIT 1`;
  const rows = ledgerRows('(extract(epoch FROM at) * 1000)::float8');
  return {
    service,
    store: sqlStore({
      dialect: 'postgres',
      client: pool,
      query: async (_, sql, values) => (await pool.query(sql, values)).rows,
    }),
    terminate: async () => (await pool.query(terminate)).rowCount === 1,
    readLedger: async () => (await pool.query<LedgerRow>(rows)).rows,
  };
}

async function mariadbServer(defer: Defer): Promise<SqlServer> {
  // Each commit reaches the system, so that it outlives the process.
  const service = await startMariadb(['--innodb-flush-log-at-trx-commit=2']);
  defer(() => service.stop());
  const pool = createPool({ uri: service.url, connectionLimit: 4 });
  defer(() => pool.end());
  await pool.query(LEDGERS.MariaDB);
  const open = 'SELECT trx_mysql_thread_id AS id FROM information_schema.innodb_trx ORDER BY rand() LIMIT 1';
  const rows = ledgerRows('unix_timestamp(at) * 1000e0');
  return {
    service,
    store: sqlStore({
      dialect: 'mysql',
      client: pool,
      query: async (_, sql, values) => (await pool.query(sql, values))[0],
    }),
    terminate: async () => {
      // MariaDB looks again only if nobody has asked for a tenth of a second.
      await pause(120);
      const [[found]] = await pool.query<RowDataPacket[]>(open);
      // It may have ended meanwhile.
      const kill = () => pool.query<ResultSetHeader>(`KILL ${found?.id}`);
      return found !== undefined && (await kill().then(Boolean, () => false));
    },
    readLedger: async () => (await pool.query<RowDataPacket[]>(rows))[0] as LedgerRow[],
  };
}
