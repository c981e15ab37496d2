// A receiver on each store that processes share: what one has done the other one knows.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Handler, type IdempotencyStore, receiver } from 'payment-webhooks';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { redisStore } from 'payment-webhooks/stores/redis';
import { Pool } from 'pg';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY } from '../setup/delivery.js';
import { needing } from '../setup/platform.js';
import { gate, until } from '../setup/waiting.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const redisUrl = process.env.TEST_REDIS_URL ?? '';
const name = `receiver_${randomBytes(6).toString('hex')}`;
const table = `${name}.webhook_event`;

const redis = new Redis(redisUrl, { lazyConnect: true });
const pool = new Pool({ connectionString, max: 20 });
const shared: [string, string, () => IdempotencyStore<object>][] = [
  [
    'Redis',
    'redis-server',
    () => redisStore({ sendCommand: (...args) => redis.call(...args), prefix: `${name}:` }),
  ],
  ['Postgres', 'postgres', () => postgresStore({ pool, table })],
  ['Postgres in one transaction', 'postgres', () => postgresStore({ pool, table, transactional: true })],
];

beforeAll(async () => {
  if (!connectionString) return;
  await pool.query(`CREATE SCHEMA ${name}`);
  await pool.query(`CREATE TABLE ${name}.ledger (event text NOT NULL)`);
  await postgresStore({ pool, table }).migrate();
});
afterAll(async () => {
  if (connectionString) await pool.query(`DROP SCHEMA ${name} CASCADE`);
  await pool.end();
  redis.disconnect();
});

/** Two processes, as far as the store can tell, behind one sender. */
async function processes<Extra extends object>(
  make: () => IdempotencyStore<Extra>,
  handle: Handler<'transaction.paid', Extra>,
) {
  const log = captureLog();
  const listening = [make(), make()].map(async (store) => {
    const hooks = receiver<{}, Extra>({ privateKey: KEY, store, logger: log.logger });
    hooks.on('transaction.paid', handle);
    const server = createServer(hooks).listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push(server);
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  const urls = await Promise.all(listening);
  const send = async (event: object, process: 0 | 1) => {
    const { body, headers } = delivery(event);
    const response = await fetch(urls[process] ?? '', { method: 'POST', body, headers });
    const { outcome, code } = (await response.json()) as { outcome?: string; code?: string };
    return [response.status, outcome ?? code];
  };
  return { send, log };
}

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

describe.each(shared)('a receiver on %s', (_name, program, make) => {
  const whenThere = needing(program).test;
  let work = gate();

  beforeEach(() => {
    work = gate();
  });
  // Also when a test fails: what waits behind the gate holds a connection, and the pool would wait for it for ever.
  afterEach(() => work.open());

  whenThere('runs an event once, whichever process gets it', async () => {
    const runs: string[] = [];
    const { send } = await processes(make, async (event) => void runs.push(event.id));
    const event = fixtures.transactionPaid();
    expect(await send(event, 0)).toEqual([200, 'processed']);
    expect(await send(event, 1)).toEqual([200, 'duplicate']);
    expect(await send({ ...event, sandbox: true }, 1)).toEqual([200, 'processed']);
    expect(runs).toHaveLength(2);
  });

  whenThere('knows the bytes of an event again that version 0.1 completed', async () => {
    const { send, log } = await processes(make, () => {});
    const event = fixtures.transactionPaid();
    const fingerprint = createHash('sha256').update(delivery(event).body).digest('hex');
    const result = await make().claim(`default:live:${event.id}`, { leaseMs: 1_000, fingerprint });
    if (result.status !== 'claimed') throw new Error('not granted');
    await result.claim.complete();
    expect(await send(event, 0)).toEqual([200, 'duplicate']);
    expect(log.lines.filter(({ level }) => level === 50)).toEqual([]);
    expect(await send({ ...event, added: true }, 1)).toEqual([200, 'duplicate']);
    expect(log.lines.filter(({ level }) => level === 50)).toMatchObject([
      { msg: expect.stringContaining('delivered again with other bytes') },
    ]);
  });

  whenThere('lets the next process try at once when a handler has failed', async () => {
    let runs = 0;
    const { send } = await processes(make, async () => {
      runs += 1;
      if (runs === 1) throw new Error('not now');
    });
    const event = fixtures.transactionPaid();
    expect(await send(event, 0)).toEqual([500, 'HANDLER_FAILED']);
    expect(await send(event, 1)).toEqual([200, 'processed']);
  });

  whenThere('asks for a later delivery while another process works on the event', async () => {
    let runs = 0;
    const { send } = await processes(make, () => {
      runs += 1;
      return work.opened;
    });
    const event = fixtures.transactionPaid();
    const first = send(event, 0);
    await until(() => runs === 1);
    expect(await send(event, 1)).toEqual([503, 'IN_PROGRESS']);
    work.open();
    expect(await first).toEqual([200, 'processed']);
  });
});

needing('postgres').describe('handlers in one transaction with the event', () => {
  const make = () => postgresStore({ pool, table, transactional: true });
  const write = `INSERT INTO ${name}.ledger (event) VALUES ($1)`;
  const written = async (event: string) =>
    (await pool.query(`SELECT FROM ${name}.ledger WHERE event = $1`, [event])).rowCount;

  test('write what they write exactly when the answer is 200', async () => {
    let fails = true;
    const { send } = await processes(make, async (event, { transaction }) => {
      await transaction.query(write, [event.id]);
      if (fails) throw new Error('not now');
    });
    const event = fixtures.transactionPaid();
    expect([await send(event, 0), await written(event.id)]).toEqual([[500, 'HANDLER_FAILED'], 0]);
    fails = false;
    expect([await send(event, 0), await written(event.id)]).toEqual([[200, 'processed'], 1]);
    expect([await send(event, 1), await written(event.id)]).toEqual([[200, 'duplicate'], 1]);
  });

  test('undo nothing of one another with savepoints when they take turns', async () => {
    const serial = ({ id }: { readonly id: string }) => id;
    const hooks = receiver({ privateKey: KEY, store: make(), logger: false });
    hooks
      .on(
        '*',
        async (_event, { transaction }) => {
          await transaction.query('SAVEPOINT mine');
          await transaction.query('SELECT 1 / 0').catch(() => {});
          await transaction.query('ROLLBACK TO SAVEPOINT mine');
        },
        { serial },
      )
      .on('*', async (event, { transaction }) => void (await transaction.query(write, [event.id])), {
        serial,
      });
    const event = fixtures.transactionPaid();
    const { body, headers } = delivery(event);
    expect(await hooks.receive({ rawBody: body, headers })).toMatchObject({ status: 200 });
    expect(await written(event.id)).toBe(1);
  });

  test('are never answered 200 when the commit fails, and the log says why', async () => {
    const { send, log } = await processes(make, async (event, { transaction }) => {
      await transaction.query(write, [event.id]);
      await transaction.query('SELECT 1 / 0').catch(() => {});
    });
    const event = fixtures.transactionPaid();
    expect([await send(event, 0), await written(event.id)]).toEqual([[503, 'STORE_UNAVAILABLE'], 0]);
    expect(log.lines.filter(({ level }) => level === 50)).not.toEqual([]);
  });

  test('are never answered 200 when one of them has ended the transaction', async () => {
    const { send } = await processes(make, async (event, { transaction }) => {
      await transaction.query(write, [event.id]);
      await transaction.query('COMMIT');
    });
    expect(await send(fixtures.transactionPaid(), 0)).toEqual([503, 'STORE_UNAVAILABLE']);
  });
});
