// How an inbox creates its tables: without the right to do so, and killed in the middle.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { postgresInbox, postgresStore } from 'payment-webhooks/stores/postgres';
import { sqlInbox, sqliteDatabase, sqliteInbox } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { bundleTo } from '../../setup/bundle.js';
import { processed, startReceiver } from '../../setup/endpoint.js';
import { forThisFile } from '../../setup/for-this-file.js';
import { openSqlite, sqliteFile } from '../../setup/open-sqlite.js';
import { ownMariadb } from '../../setup/own-mariadb.js';
import { needing } from '../../setup/platform.js';
import { ROOT } from '../../setup/shell.js';
import { overMysql2 } from '../../setup/sql-clients.js';
import { PATIENT, until } from '../../setup/waiting.js';

const name = `creating_${randomBytes(6).toString('hex')}`;
const url = process.env.TEST_POSTGRES_URL ?? '';
const tables = (prefix: string) => ({ eventTable: `${prefix}_event`, deadLetterTable: `${prefix}_letter` });
const failing = { '*': () => Promise.reject(new Error('down')) };

const program = join(ROOT, `.scratch/${name}.mjs`);
beforeAll(() => bundleTo(join(__dirname, 'first-delivery.ts'), program));
afterAll(() => rmSync(program));

/** @returns the process, once its first delivery is on its way */
async function firstDelivery(url: string, name: string) {
  const child = spawn(process.execPath, [program, url, name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (text) => {
    said += text;
  });
  const ended = once(child, 'exit');
  await until(() => said.includes('ready'));
  return { child, ended };
}

async function linesOf(started: ReturnType<typeof startReceiver>) {
  expect(await started.post()).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
  await started.hooks.close();
  return started.log.lines.map(({ msg }) => msg);
}

needing('postgres').describe('an inbox in Postgres', () => {
  const pool = forThisFile(
    async () => new Pool({ connectionString: url }),
    (pool) => pool.end(),
  );

  test('whose role may not create tables names the file to run, and works once it was run', async () => {
    const [role, schema] = [`${name}_role`, `${name}_closed`];
    await pool().query(
      `CREATE SCHEMA ${schema}; CREATE ROLE ${role} LOGIN; GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
    );
    const restricted = new Pool({ connectionString: Object.assign(new URL(url), { username: role }).href });
    const inbox = postgresInbox({ pool: restricted, ...tables(`${schema}.shop`) });
    const hooks = () => startReceiver({ ...PATIENT, inbox, redrive: false });
    const FILE = (file: string, table: string) =>
      `The table ${schema}.shop_${table} does not exist, and cannot be created by this role. Run docs/sql/${file} as a role that ` +
      'may create it, and grant this one SELECT, INSERT, UPDATE and DELETE.';
    expect(await linesOf(hooks())).toContain(
      `the store did not answer: ${FILE('webhook-event.sql', 'event')}`,
    );
    await expect(inbox.ping()).rejects.toThrow(FILE('webhook-event.sql', 'event'));

    // As the operator does: another role creates the tables, the first alone at first.
    const grant = (table: string) =>
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${schema}.shop_${table} TO ${role}`;
    const owner = postgresInbox({ pool: pool(), ...tables(`${schema}.shop`) });
    await owner.store.migrate();
    await pool().query(grant('event'));
    expect(await hooks().post()).toMatchObject(processed);
    const broken = startReceiver({ ...PATIENT, inbox, redrive: false, handlers: failing });
    await broken.post();
    expect(broken.log.lines.map(({ msg }) => msg)).toContain(
      `the event was not kept as a dead letter: ${FILE('dead-letter.sql', 'letter')}`,
    );
    await owner.deadLetters.migrate();
    await pool().query(grant('letter'));
    await inbox.ping();
    await broken.post();
    expect(await broken.hooks.deadLetters?.count()).toMatchObject({ total: 1 });
    await restricted.end();
    await pool().query(`DROP SCHEMA ${schema} CASCADE; DROP ROLE ${role}`);
  });

  test('whose schema does not exist says the same', async () => {
    const inbox = postgresInbox({ pool: pool(), ...tables(`${name}_no_schema.shop`) });
    const lines = await linesOf(startReceiver({ ...PATIENT, inbox, redrive: false }));
    expect(lines).toContainEqual(
      expect.stringContaining('cannot be created by this role. Run docs/sql/webhook-event.sql'),
    );
  });

  test('that is killed between the table and its index leaves nothing, and the next process creates both', async () => {
    const schema = `${name}_killed`;
    // Creating the table takes until somebody releases the lock.
    await pool().query(`CREATE SCHEMA ${schema}`);
    await pool().query(`
      CREATE FUNCTION ${schema}.wait() RETURNS event_trigger LANGUAGE plpgsql AS
        $$ BEGIN IF current_setting('application_name') = '${schema}.shop_first' THEN PERFORM pg_sleep(60); END IF; END $$;
      CREATE EVENT TRIGGER ${name}_wait ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION ${schema}.wait()`);
    const { child, ended } = await firstDelivery(url, `${schema}.shop`);
    const sleeping = `FROM pg_stat_activity WHERE application_name = '${schema}.shop_first' AND wait_event = 'PgSleep'`;
    await until(
      async () => (await pool().query(`SELECT ${sleeping.replace('FROM', '1 FROM')}`)).rows.length === 1,
    );
    child.kill('SIGKILL');
    await ended;
    await pool().query(`SELECT pg_terminate_backend(pid) ${sleeping}`);
    await pool().query(`DROP EVENT TRIGGER ${name}_wait`);
    const { rows } = await pool().query(`SELECT FROM pg_tables WHERE schemaname = '${schema}'`);
    expect(rows).toEqual([]);
    const inbox = postgresInbox({ pool: pool(), ...tables(`${schema}.shop`) });
    expect(await startReceiver({ ...PATIENT, inbox, redrive: false }).post()).toMatchObject(processed);
    const indexes = await pool().query(`SELECT FROM pg_indexes WHERE schemaname = '${schema}'`);
    expect(indexes.rows.length).toBeGreaterThanOrEqual(2);
    await pool().query(`DROP SCHEMA ${schema} CASCADE`);
  });

  test('and an older version that calls migrate() at its start do not disturb each other', async () => {
    const schema = `${name}_versions`;
    await pool().query(`CREATE SCHEMA ${schema}`);
    const older = Array.from({ length: 4 }, () =>
      postgresStore({ pool: pool(), table: `${schema}.shop_event` }),
    );
    const inbox = () => postgresInbox({ pool: pool(), ...tables(`${schema}.shop`) });
    const newer = Array.from({ length: 4 }, () =>
      startReceiver({ ...PATIENT, inbox: inbox(), redrive: false }),
    );
    const answers = await Promise.all([
      ...newer.map(({ post }) => post()),
      ...older.map((store) => store.migrate()),
    ]);
    expect(answers.slice(0, 4)).toMatchObject(newer.map(() => processed));
    await pool().query(`DROP SCHEMA ${schema} CASCADE`);
  });
});

needing('mariadbd').describe('an inbox in MariaDB', () => {
  const mariadb = ownMariadb();

  test('whose role may not create tables names the file to run, and works once it was run', async () => {
    const root = mariadb.pool();
    await root.query('CREATE DATABASE shop');
    await root.query("CREATE USER clerk@'127.0.0.1'");
    await root.query("GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO clerk@'127.0.0.1'");
    const asClerk = Object.assign(new URL(mariadb.server.url), { username: 'clerk', pathname: '/shop' }).href;
    const inbox = sqlInbox({ ...overMysql2(mariadb.pool({ uri: asClerk })), ...tables('pay') });
    const hooks = startReceiver({ ...PATIENT, inbox, redrive: false });
    const lines = await linesOf(hooks);
    expect(lines).toContain(
      'the store did not answer: The table pay_event does not exist, and cannot be created by this role. Run ' +
        'docs/sql/webhook-event.mysql.sql as a role that may create it, and grant this one SELECT, INSERT, UPDATE and DELETE.',
    );
    const owner = sqlInbox({ ...overMysql2(root), ...tables('shop.pay') });
    await owner.store.migrate();
    expect(await startReceiver({ ...PATIENT, inbox, redrive: false }).post()).toMatchObject(processed);
  });

  test('that is killed at any moment of creating is created by the next process', async () => {
    const { url } = mariadb.server;
    for (const [round, ms] of [0, 10, 40].entries()) {
      const { child, ended } = await firstDelivery(url, `round_${round}`);
      await pause(ms);
      child.kill('SIGKILL');
      await ended;
      const inbox = sqlInbox({ ...overMysql2(mariadb.pool()), ...tables(`round_${round}`) });
      expect(await startReceiver({ ...PATIENT, inbox, redrive: false }).post()).toMatchObject(processed);
      await inbox.ping();
    }
  });

  test('never creates a table inside a transaction of a handler, which MySQL would commit', async () => {
    const pool = mariadb.pool();
    const inbox = sqlInbox({ ...overMysql2(pool), ...tables('dropped') });
    await pool.query('CREATE TABLE ledger (event VARCHAR(255)) ENGINE=InnoDB');
    const hooks = startReceiver({ ...PATIENT, inbox, redrive: false, handlers: {} });
    hooks.hooks.on(
      'transaction.paid',
      async (event, context) => {
        // Gone between the claim and the writes.
        await pool.query('DROP TABLE dropped_event');
        const { once } = context as unknown as {
          once(work: (tx: typeof pool) => Promise<unknown>): Promise<unknown>;
        };
        await once((tx) => tx.query('INSERT INTO ledger VALUES (?)', [event.id]));
      },
      { name: 'ledger' },
    );
    expect((await hooks.post()).status).toBe(500);
    const [rows] = await pool.query('SELECT * FROM ledger');
    expect(rows).toEqual([]);
  });
});

needing('SQLite').describe('an inbox in SQLite', () => {
  const { file, remove } = sqliteFile();
  const db = forThisFile(
    async () => openSqlite(file),
    (db) => {
      db.close();
      remove();
    },
  );
  const created = (prefix: string) =>
    db()
      .prepare('SELECT name FROM sqlite_master WHERE tbl_name LIKE ? AND sql IS NOT NULL ORDER BY name')
      .all(`${prefix}%`);

  test('that is killed between the statements of creating is created by the next process, with every index', async () => {
    const whole = sqliteInbox(db(), tables('whole'));
    await whole.store.migrate();
    await whole.deadLetters.migrate();
    const names = created('whole').length;
    expect(names).toBe(7);
    // After the table of events, that of letters, and the first of its indexes.
    for (const statements of [1, 3, 4]) {
      const prefix = `killed${statements}`;
      const { signal } = spawnSync(process.execPath, [program, file, prefix, String(statements)]);
      expect(signal).toBe('SIGKILL');
      const inbox = sqliteInbox(db(), tables(prefix));
      const hooks = startReceiver({ ...PATIENT, inbox, redrive: false, handlers: failing });
      expect([prefix, (await hooks.post()).status, await hooks.hooks.deadLetters?.count()]).toMatchObject([
        prefix,
        500,
        { total: 1 },
      ]);
      expect([prefix, created(prefix).length]).toEqual([prefix, names]);
    }
  }, 120_000);

  test('does not wait for ever for a process that never hears whether its table was created', async () => {
    const { transaction: _, inTransaction: _2, ...d1 } = sqliteDatabase(db());
    // As in a Worker whose request has ended, or on a connection that has become silent.
    let silent = 2;
    const query: typeof d1.query = (client, sql, values) =>
      /^CREATE TABLE/m.test(sql) && silent-- > 0
        ? new Promise(() => {})
        : Promise.resolve(d1.query(client, sql, values));
    const inbox = sqlInbox({ ...d1, query, ...tables('silent') });
    const { post } = startReceiver({ storeTimeout: 1_500, inbox, redrive: false });
    const first = [post(), post()];
    await pause(100);
    silent = 0;
    // Its sender comes again sooner than anything else ends.
    await until(async () => (await post()).status === 200, 20_000);
    expect(await Promise.all(first)).toMatchObject([
      { status: 503, body: { code: 'STORE_UNAVAILABLE' } },
      expect.anything(),
    ]);
  }, 60_000);

  test('by a client without transactions finds out that a killed process has left letters without an index', async () => {
    const { transaction: _, inTransaction: _2, ...d1 } = sqliteDatabase(db());
    const hooks = () =>
      startReceiver({
        ...PATIENT,
        inbox: sqlInbox({ ...d1, ...tables('d1') }),
        redrive: false,
        handlers: failing,
      });
    expect((await hooks().post()).status).toBe(500);
    const names = created('d1');
    db().exec('DROP INDEX d1_letter_event_idx; DROP INDEX d1_letter_arrival_idx');
    const next = hooks();
    expect((await next.post()).status).toBe(500);
    expect(await next.hooks.deadLetters?.count()).toMatchObject({ total: 2 });
    expect(created('d1')).toEqual(names);
  });
});
