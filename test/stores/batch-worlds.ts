// The databases whose stores share statements: each statement watched, rows locked, writes refused, and plans explained.
import type { Pool as MysqlPool } from 'mysql2/promise';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { type SqlStore, sqliteDatabase, sqlStore, type WithOnce } from 'payment-webhooks/stores/sql';
import { openSqlite } from '../setup/open-sqlite.js';
import type { OwnMariadb } from '../setup/own-mariadb.js';
import { overMysql2, overPg } from '../setup/sql-clients.js';
import { mariadbWorld, postgresWorld, type World } from './worlds.js';

/** Sees each statement of a store, and decides what becomes of it. */
export type Hook = (sent: Sent, send: () => Promise<unknown>) => Promise<unknown>;

export interface Sent {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Of several calls. */
  readonly isBatch: boolean;
}

export interface BatchWorld {
  readonly table: string;
  open(hook?: Hook): SqlStore<WithOnce<object>>;
  /** Every row of the table, by its key: its token and how its lease stands. */
  rows(): Promise<ReadonlyMap<string, 'running' | 'completed'>>;
  /** Another connection locks the row until the returned function is called. Undefined where rows have no locks. */
  readonly lock: ((key: string) => Promise<() => Promise<void>>) | undefined;
  /** From now on, a trigger refuses writes to rows with this key. */
  refuse(key: string): Promise<unknown>;
  /** Deletes a row. */
  forgetRow(key: string): Promise<unknown>;
  /** Adds this many rows. */
  fill(rows: number): Promise<unknown>;
  /** The steps of a plan that read rows of events by anything but their key. */
  misplanned(sent: Sent): Promise<readonly string[]>;
  close(): Promise<void>;
}

const sentOf = (text: string, values: readonly unknown[] = []): Sent => ({
  ...{ text, values },
  isBatch: /\bc\.(?:k|value)\b/.test(text),
});

const passOn: Hook = (_, send) => send();

export async function batchesOnPostgres(by: 'postgresStore' | 'sqlStore'): Promise<BatchWorld> {
  const world = await postgresWorld(by);
  const { table, observe } = world;
  const { pool } = world.open({ max: 20 });
  return {
    table,
    open: (hook = passOn) => {
      const query = (config: { text: string; values?: unknown[] }) =>
        hook(sentOf(config.text, config.values), () => pool.query(config));
      const watched = { query, on: () => {}, connect: () => pool.connect() } as never;
      const { query: send, ...rest } = overPg(pool);
      const store =
        by === 'postgresStore'
          ? postgresStore({ pool: watched, table })
          : sqlStore({
              ...rest,
              query: (client, text, values) => hook(sentOf(text, values), () => send(client, text, values)),
              table,
            });
      return store as SqlStore<WithOnce<object>>;
    },
    rows: () => rowsOf(world, "lease_ends = 'infinity'"),
    forgetRow: (key) => observe(`DELETE FROM ${table} WHERE key = '${key}'`),
    lock: async (key) => {
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query(`SELECT FROM ${table} WHERE key = $1 FOR UPDATE`, [key]);
      return async () => {
        await client.query('COMMIT');
        client.release();
      };
    },
    refuse: (key) =>
      observe(`
        CREATE FUNCTION ${world.schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.key = '${key}' THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${world.schema}.refuse()`),
    fill: async (rows) => {
      await observe(`ALTER TABLE ${table} SET UNLOGGED`);
      await observe(`INSERT INTO ${table} (key, token, attempt, finished, fingerprint, lease_ends, forget_at)
        SELECT 'filled ${rows} ' || n, gen_random_uuid(), 1, '[]', repeat('a', 64), 'infinity', now() + interval '30 days'
        FROM generate_series(1, ${rows}) n`);
    },
    misplanned: async ({ text, values }) => {
      // As a prepared statement is planned for good, and as it is planned for its first values.
      const client = await pool.connect();
      const lines: string[] = [];
      const quoted = values.map((value) => (value === null ? 'NULL' : `'${value}'`)).join();
      try {
        for (const mode of ['force_generic_plan', 'force_custom_plan']) {
          await client.query(`SET plan_cache_mode = ${mode}`);
          await client.query(`PREPARE explained AS ${text}`);
          const { rows } = await client.query(`EXPLAIN EXECUTE explained(${quoted})`);
          lines.push(...rows.map((row) => String(row['QUERY PLAN'])));
          await client.query('DEALLOCATE explained');
        }
      } finally {
        client.release(true);
      }
      // For one row, the primary key as an index and as a bitmap cost the same.
      return lines.filter((line) =>
        /Seq Scan on webhook_event|Hash| Index .*Scan (?:using|on) (?!webhook_event_pkey\b)/.test(line),
      );
    },
    close: () => world.close(),
  };
}

export async function batchesOnMariadb(mariadb: OwnMariadb, verb: 'query' | 'execute'): Promise<BatchWorld> {
  const world = await mariadbWorld(mariadb, verb);
  const { table, observe } = world;
  const { client } = world.open({ max: 20 });
  const pool = client as MysqlPool;
  const { query: send, ...rest } = overMysql2(pool, verb);
  return {
    table,
    open: (hook = passOn) =>
      sqlStore({
        ...rest,
        query: (on, text, values) => hook(sentOf(text, values), () => send(on, text, values as string[])),
        table,
      }) as SqlStore<WithOnce<object>>,
    rows: () => rowsOf(world, "lease_ends = '9999-12-31'"),
    forgetRow: (key) => observe(`DELETE FROM ${table} WHERE \`key\` = '${key}'`),
    lock: async (key) => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query(`SELECT 1 FROM ${table} WHERE \`key\` = ? FOR UPDATE`, [key]);
      return async () => {
        await connection.commit();
        connection.release();
      };
    },
    refuse: async (key) => {
      for (const event of ['INSERT', 'UPDATE'])
        await pool.query(`CREATE TRIGGER ${world.schema}.refuse_${event} BEFORE ${event} ON ${table} FOR EACH ROW
          IF NEW.\`key\` = '${key}' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF`);
    },
    fill: (rows) =>
      observe(`INSERT INTO ${table} SELECT CONCAT('filled ${rows} ', seq), REPLACE(UUID(), '-', ''), 1, '[]', REPEAT('a', 64),
        '9999-12-31', UTC_TIMESTAMP(6) + INTERVAL 30 DAY, UTC_TIMESTAMP(6) FROM ${world.schema}.seq_1_to_${rows}`),
    misplanned: async ({ text, values }) => {
      const [rows] = (await pool.query(`EXPLAIN ${text}`, [...values])) as unknown as [
        Record<string, unknown>[],
      ];
      return rows
        .filter(({ table: alias, key }) => alias === 'e' && key !== 'PRIMARY')
        .concat(
          rows.filter(
            ({ table: alias, type }) => alias === 'e' && /^(?:ALL|index|range)$/.test(String(type)),
          ),
        )
        .map((row) => JSON.stringify(row));
    },
    close: () => world.close(),
  };
}

/** @param isAsync whether its statements answer by a promise, as those of libSQL do */
export async function batchesOnSqlite(isAsync: boolean): Promise<BatchWorld> {
  const db = openSqlite();
  const { query: send, ...database } = sqliteDatabase(db);
  const table = 'webhook_event';
  const open = (hook: Hook = passOn) => {
    const { transaction, inTransaction, ...rest } = database;
    const query = (client: object, text: string, values: (string | null)[]) => {
      const answer = () => send(client as typeof db, text, values as string[]);
      // Inside `once` the answer must be no promise.
      return inTransaction(db) ? answer() : hook(sentOf(text, values), async () => answer());
    };
    return sqlStore({
      ...rest,
      ...(!isAsync && { transaction, inTransaction }),
      query,
    } as never) as unknown as SqlStore<WithOnce<object>>;
  };
  await open().migrate();
  return {
    table,
    open,
    rows: async () => {
      const rows = db.prepare(
        `SELECT key, lease_ends > 8e15 AS done FROM ${table} WHERE key NOT LIKE 'filled%'`,
      );
      return new Map(
        (rows.all() as { key: string; done: number }[]).map(({ key, done }) => [
          key,
          done ? 'completed' : 'running',
        ]),
      );
    },
    lock: undefined,
    forgetRow: async (key) => db.exec(`DELETE FROM ${table} WHERE key = '${key}'`),
    refuse: async (key) => {
      for (const event of ['INSERT', 'UPDATE'])
        db.exec(`CREATE TRIGGER refuse_${event} BEFORE ${event} ON ${table} WHEN NEW.key = '${key}'
          BEGIN SELECT RAISE(ABORT, 'refused'); END`);
    },
    fill: async (rows) =>
      db.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
        INSERT INTO ${table} SELECT 'filled ${rows} ' || i, hex(randomblob(16)), 1, '[]', 'a', 9000000000000000, 8e12, 1 FROM n`),
    misplanned: async ({ text, values }) => {
      const steps = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as string[])) as {
        detail: string;
      }[];
      return steps
        .map(({ detail }) => detail)
        .filter((detail) => /SCAN (?!c\b|r\b)|SEARCH .*(?<!PRIMARY KEY) \(/.test(detail));
    },
    close: async () => void db.close(),
  };
}

async function rowsOf({ table, keyColumn, observe }: World, completed: string) {
  const rows = await observe(
    `SELECT ${keyColumn} AS k, CASE WHEN ${completed} THEN 'completed' ELSE 'running' END AS state FROM ${table} WHERE ${keyColumn} NOT LIKE 'filled%'`,
  );
  return new Map(rows.map(({ k, state }) => [String(k), state as 'running' | 'completed']));
}
