// What the docs say about stopping: the order of the two close(), the same everywhere, and why it is that one.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { delivery } from '../setup/delivery.js';
import { send, startEndpoint } from '../setup/endpoint.js';
import { openSocket, wire } from '../setup/raw-socket.js';
import { ROOT } from '../setup/shell.js';
import { gate, until } from '../setup/waiting.js';

const filesIn = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`);

describe('hooks.close() comes before server.close()', () => {
  const texts = ['README.md', ...filesIn('docs'), ...filesIn('examples')]
    .filter((name) => /\.(?:md|ts)$/.test(name))
    .map((name) => [name, readFileSync(join(ROOT, name), 'utf8')] as const)
    // In a test the simulator is closed, and nothing else is sent.
    .filter(([, text]) => text.includes('hooks.close()') && text.includes('server.close('));

  test('is said in the README, where deploying is described, and in the examples', () => {
    const names = texts.map(([name]) => name);
    expect(names).toEqual(expect.arrayContaining(['README.md', 'docs/deploying.md']));
    expect(names.filter((name) => name.startsWith('examples/')).length).toBeGreaterThan(3);
  });

  test.each(texts)('in %s', (_name, text) => {
    const order = [
      ...text.matchAll(/await (hooks\.close)\(\)|^\s*(server\.close)\(|then (?:to )?`(server\.close)\(/gm),
    ];
    expect(order.map((match) => match[1] ?? match[2] ?? match[3])).toEqual(['hooks.close', 'server.close']);
  });
});

async function endpointAtWork() {
  const work = gate();
  let started = 0;
  const handler = () => {
    started += 1;
    return work.opened;
  };
  const endpoint = await startEndpoint({ handlers: { 'transaction.paid': handler } });
  const first = await openSocket(endpoint.port);
  first.write(wire(delivery()));
  await until(() => started === 1);
  return { ...endpoint, first, work };
}

test('in this order a delivery that arrives in the meantime is answered 503', async () => {
  const { hooks, server, port, first, work } = await endpointAtWork();
  const closed = hooks.close();
  expect(await send(port, delivery())).toMatchObject({ status: 503, body: { code: 'CLOSING' } });
  work.open();
  expect(await first.until(/"processed"/)).toMatch(/^HTTP\/1\.1 200 /);
  await closed;
  server.close();
  await once(server, 'close');
  await first.closed;
});

test('in the other order its connection is refused, and an open connection is served on', async () => {
  const { server, port, first, work } = await endpointAtWork();
  let closed = false;
  server.close(() => {
    closed = true;
  });
  await expect(send(port, delivery())).rejects.toThrow('ECONNREFUSED');
  work.open();
  await first.until(/"processed"/);
  first.write(wire(delivery()));
  await first.until(/"processed"[\s\S]*"processed"/);
  expect(closed).toBe(false);
});
