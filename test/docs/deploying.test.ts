// Runs the program of docs/deploying.md, and stops it in the middle of a delivery.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { delivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { codeBlocks } from '../setup/markdown.js';
import { freePort } from '../setup/ports.js';
import { openSocket, wire } from '../setup/raw-socket.js';
import { ROOT, type Running, startUntil } from '../setup/shell.js';

const folder = join(ROOT, '.scratch/deploying');
const privateKey = 'pri_deploying';
const paid = () => delivery(fixtures.transactionPaid(), privateKey);
/** Stands for the hooks.ts of the page, whose stores need a Postgres. */
const HOOKS = `
import { receiver } from 'payment-webhooks';
export const hooks = receiver({ handlers: { 'transaction.paid': async () => {} } });
export const pool = { end: async () => {} };
`;
let port: number;
let server: Running;

beforeAll(async () => {
  const program = codeBlocks(join(ROOT, 'docs/deploying.md')).find(({ text }) =>
    text.startsWith('// server.ts'),
  );
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'hooks.ts'), HOOKS);
  writeFileSync(join(folder, 'server.ts'), `${program?.text}console.log('started');\n`);
  port = await freePort();
  const env = { PORT: String(port), SERVICE_PRIVATE_KEY: privateKey };
  server = await startUntil('started', `exec node --import tsx ${join(folder, 'server.ts')}`, env);
}, 90_000);

afterAll(async () => {
  await server?.stop('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function statusOf(path: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
  await response.text();
  return response.status;
}

test('the program takes deliveries, and when it is told to stop it answers all of them and ends', async () => {
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
