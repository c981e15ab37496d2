// What doctor finds above the receiver: a parser with a limit and without a deadline, and a session.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import express, { type RequestHandler } from 'express';
import { keepRawBody, type ReceiverOptions, receiver } from 'payment-webhooks';
import { jsonLines, runCli } from './run-cli.js';

const SERVICE_PRIVATE_KEY = 'pri_doctor_test';
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.closeAllConnections();
  for (const server of servers) server.close();
});

/** An app with its middleware above the receiver, as doctor sees it. */
async function examine(above: RequestHandler[], options: ReceiverOptions = {}, requestTimeout = 300_000) {
  const hooks = receiver({
    ...{ privateKey: SERVICE_PRIVATE_KEY, logger: false, bodyTimeout: 300, handlers: { '*': () => {} } },
    ...options,
  });
  const app = express();
  for (const each of above) app.use(each);
  app.post('/hooks', hooks);
  app.use(
    ((_error, _req, res, _next) =>
      void res.status(_error.status ?? 500).end()) as express.ErrorRequestHandler,
  );
  const server = createServer({ requestTimeout, connectionsCheckingInterval: 100 }, app);
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
  const run = await runCli(['doctor', url, '--json', '--timeout', '3s'], { env: { SERVICE_PRIVATE_KEY } });
  const lines = jsonLines(run).slice(0, -1) as {
    check: string;
    passed: boolean;
    got: string;
    cure?: string;
  }[];
  return {
    failed: lines.filter(({ passed }) => !passed).map(({ check }) => check),
    line: (part: string) => lines.find(({ check }) => check.includes(part)),
  };
}

const session: RequestHandler = (_req, res, next) => {
  res.setHeader('Set-Cookie', 'connect.sid=s%3Aabc; HttpOnly');
  next();
};

/** At the same time, because each waits for a body that never ends. */
const APPS = {
  plain: () => examine([]),
  parser: () => examine([express.json({ verify: keepRawBody })]),
  roomyParser: () => examine([express.json({ limit: '256kb', verify: keepRawBody })]),
  hurriedParser: () => examine([express.json({ limit: '256kb', verify: keepRawBody })], {}, 1_000),
  ownLimit: () => examine([], { limit: '50kb' }),
  session: () => examine([session]),
  slow: () => examine([], { bodyTimeout: 60_000 }),
};
type Name = keyof typeof APPS;
let examined: Record<Name, Awaited<ReturnType<typeof examine>>>;
beforeAll(async () => {
  const entries = Object.entries(APPS).map(async ([name, start]) => [name, await start()] as const);
  examined = Object.fromEntries(await Promise.all(entries)) as typeof examined;
}, 60_000);

describe('doctor finds', () => {
  test('nothing above a receiver that reads the body itself, whatever its limit is', () => {
    expect([examined.plain.failed, examined.ownLimit.failed]).toEqual([[], []]);
    expect(examined.plain.line('150 KB')?.got).toBe('200');
    expect(examined.ownLimit.line('150 KB')?.got).toBe('413');
    expect(examined.plain.line('not JSON')?.got).toBe('400');
  });

  test('the limit of a parser that keeps the bytes, and tells it from that of the receiver', () => {
    const { failed, line } = examined.parser;
    expect(failed).toEqual(['a valid delivery of 150 KB', 'a body that never ends']);
    expect(line('150 KB')?.cure).toMatch(
      /^Something above receiver\(\) refused it.* express\.json\(\{ limit: '256kb'/,
    );
  });

  test('which answers were not those of the receiver', () => {
    expect(examined.parser.line('not JSON')).toMatchObject({ passed: true, got: '400 above receiver()' });
    expect(examined.parser.line('300 KB')).toMatchObject({ passed: true, got: '413 above receiver()' });
    expect(examined.parser.line('an event without an id')?.got).toBe('422');
  });

  test('that a parser waits for the body, so that server.requestTimeout is meant and not bodyTimeout', () => {
    const { failed, line } = examined.roomyParser;
    expect(failed).toEqual(['a body that never ends']);
    expect(line('never ends')?.cure).toMatch(/bodyTimeout has no effect\. Set server\.requestTimeout/);
    expect(examined.hurriedParser.failed).toEqual([]);
    expect(examined.slow.line('never ends')?.cure).toContain('raise --timeout');
    expect(examined.slow.line('never ends')?.cure).not.toContain('no effect');
  });

  test('a session that sets a cookie for every delivery', () => {
    expect(examined.session.failed).toEqual(['no cookie in the answer']);
    expect(examined.session.line('no cookie')?.cure).toContain('Mount receiver() above it');
    expect(examined.plain.line('no cookie')).toMatchObject({ passed: true, got: 'none' });
  });
});
