// Runs the program of docs/deploying.md, and stops it in the middle of a delivery.
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import type { Pool } from 'pg';
import { delivery } from '../setup/delivery.js';
import { INBOX } from '../setup/doc-blocks.js';
import { send } from '../setup/endpoint.js';
import { fileIn } from '../setup/markdown.js';
import { needing } from '../setup/platform.js';
import { freePort } from '../setup/ports.js';
import { quietPool } from '../setup/quiet-pool.js';
import { openSocket, wire } from '../setup/raw-socket.js';
import { ROOT, type Running, startUntil } from '../setup/shell.js';

const folder = join(ROOT, '.scratch/deploying');
const privateKey = 'pri_deploying';
const paid = () => delivery(fixtures.transactionPaid(), privateKey);
/** Stand for the hooks.ts of the page and for its inbox, which need a Postgres. */
const HOOKS = `
import { receiver } from 'payment-webhooks';
export const hooks = receiver({ handlers: { 'transaction.paid': async () => {} } });
`;
const POOL = 'export const pool = { end: async () => {} };';
let port: number;
let server: Running;

const shown = (file: string) => fileIn(join(ROOT, 'docs/deploying.md'), file);

async function startServer(
  name: string,
  { hooks, inbox }: { hooks: string; inbox: string },
  more: Record<string, string> = {},
): Promise<void> {
  const inside = join(folder, name);
  mkdirSync(inside, { recursive: true });
  writeFileSync(join(inside, 'hooks.ts'), hooks);
  writeFileSync(join(inside, 'inbox.ts'), inbox);
  writeFileSync(join(inside, 'server.ts'), `${shown('server.ts')}console.log('started');\n`);
  port = await freePort();
  const env = { PORT: String(port), SERVICE_PRIVATE_KEY: privateKey, ...more };
  server = await startUntil('started', `exec node --import tsx ${join(inside, 'server.ts')}`, env);
}

afterEach(() => server?.stop('SIGKILL'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function statusOf(path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
  await response.text();
  return response.status;
}

test('the program takes deliveries, and when it is told to stop it answers all of them and ends', async () => {
  await startServer('alone', { hooks: HOOKS, inbox: POOL });
  expect(await send(port, paid())).toMatchObject({ status: 200 });
  expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([200, 200]);

  const request = wire(paid());
  const halfway = await openSocket(port);
  halfway.write(request.subarray(0, -10));
  const idle = await openSocket(port);
  idle.write(wire(paid()));
  await idle.until(/"processed"/);

  const stopped = server.stop('SIGTERM');
  while ((await statusOf('/readyz')) === 200);
  expect(await send(port, paid())).toMatchObject({
    status: 503,
    headers: { connection: 'close', 'retry-after': '5' },
    body: { code: 'CLOSING' },
  });
  expect(await statusOf('/livez')).toBe(200);

  halfway.write(request.subarray(-10));
  expect(await halfway.until(/"processed"/)).toMatch(/^HTTP\/1.1 200 /);
  await stopped;
  await idle.closed;
  expect(server.output()).toContain('stopped');
  await expect(send(port, paid())).rejects.toThrow('ECONNREFUSED');
}, 90_000);

needing('postgres').describe('the receiver of the page, on a Postgres', () => {
  const database = `deploying_${process.pid}`;
  const admin = quietPool(process.env.TEST_POSTGRES_URL ?? '');
  const url = Object.assign(new URL(process.env.TEST_POSTGRES_URL ?? 'postgres://none'), {
    pathname: database,
  });
  let pool: Pool;

  beforeAll(async () => {
    await admin.query(`CREATE DATABASE ${database}`);
    pool = quietPool(url.href);
    await pool.query('CREATE TABLE orders (id text PRIMARY KEY, paid boolean NOT NULL)');
  });

  afterAll(async () => {
    await pool?.end();
    await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await admin.end();
  });

  test('waits for the order, marks it as paid once, and keeps no letter of it', async () => {
    const secrets = { DATABASE_URL: url.href, LETTER_KEY: randomBytes(32).toString('base64') };
    await startServer('whole', { hooks: shown('hooks.ts'), inbox: INBOX }, secrets);
    const letters = async () =>
      (await pool.query('SELECT count(*)::int AS count FROM dead_letter')).rows[0].count;

    const event = paid();
    expect(await send(port, event)).toMatchObject({ status: 503, body: { code: 'RETRY_LATER' } });
    expect(await letters()).toBe(1);
    await pool.query("INSERT INTO orders VALUES ('order-1042', false)");
    expect(await send(port, event)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await send(port, event)).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect((await pool.query('SELECT paid FROM orders')).rows).toEqual([{ paid: true }]);
    expect(await letters()).toBe(0);

    await server.stop('SIGTERM');
    expect(server.output()).toContain('stopped');
  }, 90_000);
});
