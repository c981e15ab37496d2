// Whether the contract notices a broken `once`, and a broken batch: the sources of sqlStore() are damaged in one place at a time.
import * as asyncHooks from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import * as timers from 'node:timers';
import * as timersPromises from 'node:timers/promises';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool, type PoolClient } from 'pg';
import * as lockOfClaim from '../../src/claims/lock-of-claim.js';
import * as token from '../../src/contracts/token.js';
import * as errors from '../../src/errors.js';
import * as logger from '../../src/logger.js';
import * as misuse from '../../src/misuse.js';
import * as observer from '../../src/observer.js';
import * as defineOptions from '../../src/options/define-options.js';
import * as inboxTables from '../../src/stores/inbox/tables.js';
import * as mysqlLetters from '../../src/stores/letters/mysql.js';
import * as postgresLetters from '../../src/stores/letters/postgres.js';
import * as letters from '../../src/stores/letters/sql.js';
import * as sqliteLetters from '../../src/stores/letters/sqlite.js';
import * as connections from '../../src/stores/sql/any-connections.js';
import * as batches from '../../src/stores/sql/batches.js';
import * as conflicts from '../../src/stores/sql/conflicts.js';
import * as dialect from '../../src/stores/sql/dialect.js';
import * as mysql from '../../src/stores/sql/mysql.js';
import * as once from '../../src/stores/sql/once.js';
import * as onceSync from '../../src/stores/sql/once-sync.js';
import * as postgres from '../../src/stores/sql/postgres.js';
import * as sqlite from '../../src/stores/sql/sqlite.js';
import * as sqliteDatabase from '../../src/stores/sql/sqlite-database.js';
import * as statement from '../../src/stores/sql/statement.js';
import type { sqlStore } from '../../src/stores/sql.js';
import { ONCE_CASES } from '../../src/testing/store-contract/once-cases.js';
import { storeContract } from '../../src/testing/store-contract.js';
import * as duration from '../../src/time.js';
import { openSqlite, type Sqlite } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';
import { overPg } from '../setup/sql-clients.js';
import { type Damage, noticesEachDamage } from './damaged-source.js';

const WRITE =
  'const { rows } = yield [this.#sql.writeRow, [row.key, row.token, row.fingerprint, row.keepMs]];';
const WITHOUT_WAITING = `yield [unprepared("SELECT set_config('lock_timeout', '1ms', true)"), []];
    let rows;
    try { ({ rows } = yield [this.#sql.writeRow, [row.key, row.token, row.fingerprint, row.keepMs]]); }
    catch { return { token: 'of another', fingerprint: row.fingerprint }; }`;

interface Own {
  readonly notWaiting: Damage;
  readonly outside: Damage;
}

/** By the beginning of the name of the case that notices. */
const mutants = ({ notWaiting, outside }: Own): Readonly<Record<string, readonly Damage[]>> => ({
  'writes inside once are committed once': [
    ['takes every row for its own', 'if (found.token === row.token) return true;', 'return true;'],
    ['keeps no fingerprint', 'this.skipped = isNew ? this.#skippedBefore : found.fingerprint;', ''],
  ],
  'work that throws writes nothing': [
    ['keeps a failure to itself', 'this.#failure = error ?? ', 'error ?? '],
  ],
  'an attempt waits for the transaction of another one': [notWaiting],
  'a second call in one run writes nothing': [
    ['has one token for a run', 'this.newRow = newRow;', 'const only = newRow(); this.newRow = () => only;'],
  ],
  'an event is not completed while writes': [
    ['reads nothing back', 'call.rows.length > 0 ? dialect.completeAfter(run, call) :', ''],
  ],
  'forget() also forgets what handlers wrote': [
    [
      'keeps what handlers wrote',
      'const writes = (await run(this.#sql.writes, [key])).rows;',
      'const writes = [];',
    ],
  ],
  'once() refuses anything but an open transaction': [outside],
});

const IN_POSTGRES = mutants({
  notWaiting: ['does not wait', WRITE, WITHOUT_WAITING],
  outside: [
    'writes its row outside of a transaction',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as in the source
    "`WHERE current_setting('${ONCE}', true) = $2::uuid::text`",
    "'WHERE $2 IS NOT NULL'",
  ],
});

const IN_SQLITE = mutants({
  notWaiting: [
    'skips the work instead of refusing the call',
    'if (inTransaction(client)) throw this.refuse(NESTED);',
    'if (inTransaction(client)) return undefined;',
  ],
  outside: [
    'writes its row outside of a transaction',
    'yield [ROLLBACK, []];\n      return undefined;',
    'yield [ROLLBACK, []];',
  ],
});

const CONFIRM = 'if (written.has(waiting.call.token)) waiting.settle(confirmed);';
const IN_BATCHES = {
  'one of 24 concurrent claims of a new key': [
    [
      'answers by the key',
      CONFIRM,
      'if (calls.some(({ key, token }) => key === waiting.call.key && written.has(token))) waiting.settle(confirmed);',
    ],
    ['grants what it has not confirmed', CONFIRM, 'if (written) waiting.settle(confirmed);'],
  ],
} as const;

const MODULES = {
  '../../claims/lock-of-claim.js': lockOfClaim,
  '../../contracts/token.js': token,
  '../../errors.js': errors,
  '../errors.js': errors,
  '../../misuse.js': misuse,
  '../misuse.js': misuse,
  '../options/define-options.js': defineOptions,
  '../time.js': duration,
  'node:async_hooks': asyncHooks,
  'node:timers': timers,
  'node:timers/promises': timersPromises,
  './batches.js': batches,
  './conflicts.js': conflicts,
  './dialect.js': dialect,
  './statement.js': statement,
  './sql/any-connections.js': connections,
  './sql/sqlite-database.js': sqliteDatabase,
  './letters/sql.js': letters,
  './letters/mysql.js': mysqlLetters,
  './letters/postgres.js': postgresLetters,
  './letters/sqlite.js': sqliteLetters,
  './inbox/tables.js': inboxTables,
  './sql/mysql.js': mysql,
};
const COMPLAINT = /^The store breaks its contract: /;

needing('SQLite').describe('the store contract, for once with a synchronous driver', () => {
  noticesEachDamage<typeof sqlStore>({
    sources: [
      'stores/sql/once',
      'stores/sql/once-sync',
      'stores/sql/engine',
      'stores/sql/sqlite',
      'stores/sql',
    ],
    exported: 'sqlStore',
    modules: { ...MODULES, './sql/postgres.js': postgres },
    contract: (create) => {
      let db: Sqlite;
      const cases = storeContract<Sqlite>({
        create: async () => {
          db = openSqlite();
          db.exec('CREATE TABLE ledger (line TEXT NOT NULL)');
          const store = create(sqliteDatabase.sqliteDatabase(db));
          await store.migrate();
          return store;
        },
        once: {
          transaction: async (work) => {
            db.exec('BEGIN IMMEDIATE');
            try {
              await work(db);
              db.exec('COMMIT');
            } catch (error) {
              db.exec('ROLLBACK');
              throw error;
            }
          },
          write: (tx, text) => tx.prepare('INSERT INTO ledger (line) VALUES (?)').run(text),
          count: (text) => db.prepare('SELECT line FROM ledger WHERE line = ?').all(text).length,
        },
      });
      return cases.filter(({ name }) => name in ONCE_CASES);
    },
    complaint: COMPLAINT,
    damages: IN_SQLITE,
  });
});

needing('postgres').describe('the store contract, for once', () => {
  const schema = `once_${randomBytes(6).toString('hex')}`;
  const pool = new Pool({ connectionString: process.env.TEST_POSTGRES_URL ?? '' });
  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.ledger (line text NOT NULL)`);
    await postgresStore({ pool, table: `${schema}.webhook_event` }).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  describe('by sqlStore', () => {
    noticesEachDamage<typeof sqlStore>({
      sources: ['stores/sql/once', 'stores/sql/engine', 'stores/sql/postgres', 'stores/sql'],
      exported: 'sqlStore',
      modules: { ...MODULES, './sql/sqlite.js': sqlite, './once-sync.js': onceSync },
      contract: (create) => {
        const cases = storeContract<PoolClient>({
          create: () => create({ ...overPg(pool), table: `${schema}.webhook_event` }),
          once: {
            transaction: overPg(pool).transaction,
            write: (tx, text) => tx.query(`INSERT INTO ${schema}.ledger (line) VALUES ($1)`, [text]),
            count: async (text) =>
              Number(
                (await pool.query(`SELECT count(*) AS n FROM ${schema}.ledger WHERE line = $1`, [text]))
                  .rows[0]?.n,
              ),
          },
        });
        return cases.filter(({ name }) => name in ONCE_CASES);
      },
      complaint: COMPLAINT,
      damages: IN_POSTGRES,
    });
  });

  describe('by sqlStore, for calls that share a statement', () => {
    noticesEachDamage<typeof sqlStore>({
      sources: ['stores/sql/batches', 'stores/sql/engine', 'stores/sql'],
      exported: 'sqlStore',
      modules: {
        ...{
          ...MODULES,
          './batches.js': undefined,
          '../../logger.js': logger,
          '../../observer.js': observer,
        },
        ...{ '../../time.js': duration, './sql/sqlite.js': sqlite, './sql/postgres.js': postgres },
        ...{ './once.js': once, './once-sync.js': onceSync },
      },
      contract: (create) => {
        const cases = storeContract({
          create: () => create({ ...overPg(pool), table: `${schema}.webhook_event` }),
        });
        return cases.filter(({ name }) => Object.keys(IN_BATCHES).some((begin) => name.startsWith(begin)));
      },
      complaint: COMPLAINT,
      damages: IN_BATCHES,
    });
  });
});
