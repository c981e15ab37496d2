// An inbox in each database of this run, whose server a test can end, and whose rows it can count.
import { randomBytes } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Inbox } from 'payment-webhooks';
import { postgresInbox } from 'payment-webhooks/stores/postgres';
import { redisInbox } from 'payment-webhooks/stores/redis';
import { sqlInbox, sqliteInbox } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { forThisFile } from '../../setup/for-this-file.js';
import { openSqlite, type Sqlite, sqliteFile } from '../../setup/open-sqlite.js';
import { ownMariadb } from '../../setup/own-mariadb.js';
import { needing } from '../../setup/platform.js';
import { freePort } from '../../setup/ports.js';
import { type Service, startRedis } from '../../setup/services.js';
import { overMysql2, overPg } from '../../setup/sql-clients.js';

export interface InboxOptions {
  readonly retention?: number;
  readonly prune?: boolean;
}

export interface Place {
  readonly server: Pick<Service, 'kill' | 'start'>;
  /** The checks of `health()` that fail then. A file that is locked can still be read. */
  readonly tellsWhenDown: readonly string[];
  /** On a client of its own. @param name of its tables or keys */
  open(name: string, options?: InboxOptions): Inbox<object>;
  /** How many ids and letters the database holds, expired or not. */
  rows(name: string): Promise<number>;
}

const BOTH = ['store', 'deadLetterStore'];
const closing: (() => unknown)[] = [];
const closeAll = async () => {
  for (const close of closing.splice(0)) await close();
};
afterAll(closeAll);

/** One client counts the rows of a place: a test asks hundreds of times a second, and a server takes 150 clients. */
function oneOf<Client>(open: () => Client): () => Client {
  let client: Client | undefined;
  return () => {
    client ??= open();
    return client;
  };
}

function pgPool(url: string): Pool {
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: 20_000 });
  pool.on('error', () => {});
  closing.push(() => pool.end());
  return pool;
}

/** An index of letters once had the name of this table of events, so that it was not created. */
const tables = (name: string) => ({ eventTable: `${name}_event`, deadLetterTable: name });
const COUNT = (name: string) =>
  `SELECT (SELECT count(*) FROM ${name}_event) + (SELECT count(*) FROM ${name}) AS n`;

/** The Postgres of the run, behind a wire that can be cut. */
function inPostgres(by: 'postgresInbox' | 'sqlInbox'): Place {
  const schema = `inbox_${randomBytes(6).toString('hex')}`;
  const url = process.env.TEST_POSTGRES_URL ?? '';
  const own = forThisFile(
    async () => {
      await pgPool(url).query(`CREATE SCHEMA ${schema}`);
      return startWire(new URL(url));
    },
    async (wire) => {
      await closeAll();
      const pool = new Pool({ connectionString: url });
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
      await wire.kill();
    },
  );
  const counting = oneOf(() => pgPool(url));
  return {
    tellsWhenDown: BOTH,
    get server() {
      return own();
    },
    open(name, options = {}) {
      const pool = pgPool(Object.assign(new URL(url), { port: String(own().port) }).href);
      const given = { ...tables(`${schema}.${name}`), ...options };
      return by === 'sqlInbox' ? sqlInbox({ ...overPg(pool), ...given }) : postgresInbox({ pool, ...given });
    },
    rows: async (name) => Number((await counting().query(COUNT(`${schema}.${name}`))).rows[0].n),
  };
}

/** Passes bytes on to a server, unless it is down. */
async function startWire({ hostname, port }: URL) {
  const sockets = new Set<Socket>();
  const wire = createServer((socket) => {
    const server = connect(Number(port), hostname);
    for (const end of [socket, server]) {
      sockets.add(end);
      end.on('error', () => {});
      end.on('close', () => sockets.delete(end));
    }
    socket.pipe(server).pipe(socket);
  });
  const own = await freePort();
  const start = () => new Promise<void>((resolve) => wire.listen(own, '127.0.0.1', resolve));
  await start();
  return {
    port: own,
    start,
    kill: () =>
      new Promise<void>((resolve) => {
        wire.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function inMariadb(): Place {
  const mariadb = ownMariadb();
  const counting = oneOf(() => mariadb.pool());
  return {
    tellsWhenDown: BOTH,
    get server() {
      return mariadb.server;
    },
    open: (name, options = {}) => sqlInbox({ ...overMysql2(mariadb.pool()), ...tables(name), ...options }),
    rows: async (name) => {
      const [[row]] = (await counting().query(COUNT(name))) as unknown as [[{ n: number }]];
      return Number(row.n);
    },
  };
}

function inRedis(): Place {
  const own = forThisFile(
    () => startRedis(),
    (server) => server.stop(),
  );
  const clientOf = () => {
    const client = new Redis(own().url, { maxRetriesPerRequest: 1 });
    client.on('error', () => {});
    closing.push(() => client.disconnect());
    return client;
  };
  const counting = oneOf(clientOf);
  return {
    tellsWhenDown: BOTH,
    get server() {
      return own();
    },
    open(name, options = {}) {
      const client = clientOf();
      return redisInbox({
        sendCommand: (...args) => client.call(...(args as [string])),
        prefix: `${name}:`,
        ...options,
      });
    },
    rows: async (name) => {
      const client = counting();
      const keys = await client.keys(`${name}:*`);
      const ids = keys.filter((key) => !key.includes('{dead-letters}'));
      return ids.length + (await client.zcard(`${name}:{dead-letters}:order`));
    },
  };
}

/** A file has no server. While another connection keeps its lock, nobody can write. */
function inSqlite(): Place {
  const own = forThisFile(
    async () => sqliteFile(),
    async ({ remove }) => {
      await closeAll();
      remove();
    },
  );
  const connection = () => {
    const db = openSqlite(own().file);
    closing.push(() => db.close());
    return db;
  };
  const counting = oneOf(connection);
  let locking: Sqlite | undefined;
  return {
    tellsWhenDown: ['store', 'deadLetters'],
    server: {
      kill: async () => {
        locking = connection();
        locking.exec('BEGIN EXCLUSIVE');
      },
      start: async () => {
        locking?.exec('COMMIT');
      },
    },
    open: (name, options = {}) => sqliteInbox(connection(), { ...tables(name), ...options }),
    rows: async (name) => Number((counting().prepare(COUNT(name)).all() as [{ n: number }])[0].n),
  };
}

/** Each begins in a `describe`. */
export const PLACES: readonly (readonly [name: string, program: string, begin: () => Place])[] = [
  ['postgresInbox()', 'postgres', () => inPostgres('postgresInbox')],
  ['sqlInbox() in Postgres', 'postgres', () => inPostgres('sqlInbox')],
  ['sqlInbox() in MariaDB', 'mariadbd', inMariadb],
  ['redisInbox()', 'redis-server', inRedis],
  ['sqliteInbox()', 'SQLite', inSqlite],
];

export function inEachPlace(tests: (place: Place) => void): void {
  for (const [name, program, begin] of PLACES)
    needing(program).describe(name, () => {
      tests(begin());
    });
}
