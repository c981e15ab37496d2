// sqlStore() through each client and ORM, in a folder of a user: its contract, and deliveries whose handler writes inside
// once(), in both of its forms.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import type { Pool } from 'pg';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { deliverUntilAccepted } from '../setup/persistent-sender.js';
import { quietPool } from '../setup/quiet-pool.js';
import { type Service, startMariadb } from '../setup/services.js';
import { node, type Outcome, ROOT, type Running, start } from '../setup/shell.js';
import { copySqlClients, hasMariadb, LEDGERS, SQL_CLIENTS, SQL_PACKAGES } from '../setup/sql-adapters.js';
import { consumer } from './consumer.js';

const KEY = 'pri_sql';
const { TEST_POSTGRES_URL: url } = process.env;
const isHere = { Postgres: Boolean(url), MariaDB: hasMariadb() };
const CLIENTS = SQL_CLIENTS.map((client) => ({ ...client, missing: !isHere[client.server] }));
const database = `clients_${randomBytes(6).toString('hex')}`;
const TSX = '../node_modules/tsx/dist/cli.mjs';
const TSC = '../node_modules/typescript/bin/tsc';

let folder: string;
const env: Record<string, string> = {};
let mariadb: Service | undefined;
let admin: Pool | undefined;
let pool: Pool | undefined;
let mysqlPool: MysqlPool | undefined;
let contracts: ReadonlyMap<string, Promise<Outcome>>;

beforeAll(async () => {
  const packages = ['typescript@5.9.3', '@types/node@20', 'tsx', ...SQL_PACKAGES];
  const project = await consumer('sql-clients', packages);
  folder = await copySqlClients(ROOT, project.folder);
  // Many processes start at once here, and 1.5 seconds are too short for a connection then.
  for (const { name } of CLIENTS) {
    const adapter = readFileSync(join(folder, `${name}.ts`), 'utf8');
    project.write(`app/${name}.ts`, adapter.replace('1_500', '20_000'));
  }
  if (url) {
    admin = quietPool(url);
    await admin.query(`CREATE DATABASE ${database}`);
    env.DATABASE_URL = Object.assign(new URL(url), { pathname: database }).href;
    pool = quietPool(env.DATABASE_URL, 10);
    await pool.query(LEDGERS.Postgres);
  }
  if (isHere.MariaDB) {
    mariadb = await startMariadb();
    env.MYSQL_URL = mariadb.url;
    mysqlPool = createPool(mariadb.url);
    await mysqlPool.query(LEDGERS.MariaDB);
  }
}, 240_000);

afterAll(async () => {
  await Promise.all([pool?.end(), mysqlPool?.end()]);
  await admin?.query(`DROP DATABASE ${database} WITH (FORCE)`);
  await Promise.all([admin?.end(), mariadb?.stop()]);
});

test('the compiler knows the transaction of once() with each client', async () => {
  const options = '--noEmit --strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes --skipLibCheck';
  const shape = '--target es2022 --module nodenext --types node --allowImportingTsExtensions';
  const ledgers = SQL_CLIENTS.map(({ name }) => `ledger-${name}.ts`);
  const files = ['contexts.ts', 'contract.ts', 'deliveries.ts', ...ledgers];
  const args = [TSC, ...`${options} ${shape}`.split(' '), ...files];
  expect(await node(args, { cwd: folder })).toEqual({ code: 0, stdout: '', stderr: '' });
}, 120_000);

describe('each client', () => {
  // Most of its time each of them waits for a lease or a retention to end.
  beforeAll(() => {
    const run = (CLIENT: string) => node([TSX, 'contract.ts'], { cwd: folder, env: { ...env, CLIENT } });
    const present = CLIENTS.filter(({ missing }) => !missing);
    contracts = new Map(present.map(({ name }) => [name, run(name)]));
  });

  for (const { name, server, missing } of CLIENTS) {
    (missing ? test.skip : test)(
      `${name} keeps the contracts of a store and of dead letters${missing ? ` (needs ${server})` : ''}`,
      async () => {
        const { code, stdout, stderr } = (await contracts.get(name)) as Outcome;
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        const { cases, failures } = JSON.parse(stdout);
        expect(failures).toEqual([]);
        expect(Math.min(...cases)).toBeGreaterThan(20);
      },
      240_000,
    );
  }
});

/** Starts the app of deliveries.ts. */
async function startApp(client: string, more: Readonly<Record<string, string>> = {}) {
  const script = `exec node ${join(folder, TSX)} deliveries.ts`;
  const app = start(script, { ...env, ...more, CLIENT: client }, folder);
  await app.printed(/Listening on \d+\./);
  return { app, port: Number(/Listening on (\d+)\./.exec(app.output())?.[1]) };
}

async function rowsOf(server: string, payment: string): Promise<number> {
  if (server === 'Postgres') {
    const reply = await pool?.query('SELECT FROM ledger WHERE payment = $1', [payment]);
    return reply?.rows.length ?? 0;
  }
  const [rows] = (await mysqlPool?.query('SELECT id FROM ledger WHERE payment = ?', [payment])) ?? [];
  return (rows as unknown[]).length;
}

for (const { name, server, missing } of CLIENTS) {
  (missing ? describe.skip : describe)(`with ${name}${missing ? ` (needs ${server})` : ''}`, () => {
    let app: Running;
    let port: number;

    beforeAll(async () => {
      ({ app, port } = await startApp(name));
    }, 60_000);
    afterAll(() => app?.stop());

    const paid = (order_id: string) => {
      const event = fixtures.transactionPaid({ payload: { transaction: { order_id } } });
      const sent = delivery(event, KEY);
      return {
        deliver: async () => {
          const { status, body } = await send(port, sent);
          const { outcome, code } = body as { outcome?: string; code?: string };
          return [status, outcome ?? code];
        },
        /** How many letters are left of it. */
        letters: async (verb: 'letters' | 'replay' = 'letters') => {
          const answer = await fetch(`http://127.0.0.1:${port}/${verb}/${event.id}`);
          return ((await answer.json()) as { letters: number }).letters;
        },
        untilAccepted: () => deliverUntilAccepted(port, sent),
        rows: () => rowsOf(server, event.id),
      };
    };

    describe.each(['once(work)', 'once(tx, work)'])('%s', (form) => {
      const when = (scene: string) => paid(`${form}: ${scene}`);

      test('commits a write, and the event is done', async () => {
        const event = when('any');
        expect(await event.deliver()).toEqual([200, 'processed']);
        expect(await event.deliver()).toEqual([200, 'duplicate']);
        expect(await event.rows()).toBe(1);
      });

      test('writes once for copies that come at the same moment', async () => {
        const event = when('a slow handler');
        await Promise.all(Array.from({ length: 8 }, event.untilAccepted));
        expect(await event.rows()).toBe(1);
      });

      // MySQL undoes a failed statement alone; Postgres undoes the whole transaction, whatever the client makes of its COMMIT.
      const ignored = 'a failed statement that is ignored';
      const failing = ['a handler that fails', 'the client itself'];
      test.each(server === 'Postgres' ? [...failing, ignored] : failing)(
        'writes nothing with %s, and writes once on the retry',
        async (scene) => {
          const event = when(scene);
          expect(await event.deliver()).toEqual([500, 'HANDLER_FAILED']);
          expect([await event.letters(), await event.rows()]).toEqual([1, 0]);
          expect(await event.deliver()).toEqual([200, 'processed']);
          expect([await event.letters(), await event.rows()]).toEqual([0, 1]);
          expect(await event.deliver()).toEqual([200, 'duplicate']);
        },
      );

      const harmless = ['a handler that commits'];
      test.each(server === 'MariaDB' ? [...harmless, ignored] : harmless)(
        'writes once with %s',
        async (scene) => {
          const event = when(scene);
          expect(await event.deliver()).toEqual([200, 'processed']);
          expect(await event.rows()).toBe(1);
        },
      );

      test('writes nothing with a connection that is lost, and writes once on the retry', async () => {
        const event = when('a connection that is lost');
        // 503 if the pool gives the same connection to the letter, which is then not kept.
        expect([500, 503]).toContain((await event.deliver())[0]);
        expect(await event.rows()).toBe(0);
        await event.untilAccepted();
        expect([await event.letters(), await event.rows()]).toEqual([0, 1]);
        // It has not ended the process.
        expect(await event.deliver()).toEqual([200, 'duplicate']);
      });

      test('writes once with a failure after it', async () => {
        const event = when('a failure after it');
        expect(await event.deliver()).toEqual([500, 'HANDLER_FAILED']);
        expect(await event.rows()).toBe(1);
        expect(await event.deliver()).toEqual([200, 'processed']);
        expect(await event.rows()).toBe(1);
      });

      test('writes once in a replay', async () => {
        const event = when('a handler that fails');
        expect(await event.deliver()).toEqual([500, 'HANDLER_FAILED']);
        expect(await event.letters('replay')).toBe(0);
        expect(await event.rows()).toBe(1);
        expect(await event.deliver()).toEqual([200, 'duplicate']);
      });
    });
  });
}

(isHere.Postgres ? test : test.skip)(
  'a transaction that Prisma ends early is a failure of the handler, and nothing is written',
  async () => {
    const { app, port } = await startApp('prisma', { BRIEF: '1' });
    try {
      const event = fixtures.transactionPaid({
        payload: { transaction: { order_id: 'once(work): a slow handler' } },
      });
      const sent = delivery(event, KEY);
      expect(await send(port, sent)).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
      expect(await rowsOf('Postgres', event.id)).toBe(0);
      await deliverUntilAccepted(port, sent);
      expect(await rowsOf('Postgres', event.id)).toBe(1);
    } finally {
      await app.stop();
    }
  },
  60_000,
);
