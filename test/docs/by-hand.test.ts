// Types the commands of docs/tunnel.md and docs/missed-events.md: a webhook at a tunnel, an event delivered by hand.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { type Simulator, startSimulator } from 'payment-webhooks/simulator';
import { fixtures } from 'payment-webhooks/testing';
import { codeBlocks } from '../setup/markdown.js';
import { needing } from '../setup/platform.js';
import { ROOT, shell } from '../setup/shell.js';

const handled: string[] = [];
const tunnelled: string[] = [];
let service: Simulator;
let app: Server;
let tunnel: Server;
let folder: string;

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const listening = (server: Server) =>
  new Promise<Server>((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));

/** What a tunnel does: another address, the same bytes. */
function tunnelTo(target: Server): Server {
  return createServer((near, answer) => {
    tunnelled.push(`${near.method} ${near.url}`);
    const { url = '/', method, headers } = near;
    const far = request(new URL(url, urlOf(target)), { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    far.once('error', () => answer.destroy());
    answer.once('close', () => far.destroy());
    near.pipe(far);
  });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'frameworks-'));
  service = await startSimulator({ port: 0 });
  // `doctor` waits until the endpoint gives up a body that never ends.
  const hooks = receiver({ privateKey: service.privateKey, logger: false, bodyTimeout: 300 });
  hooks.on('transaction.paid', (event) => {
    handled.push(event.payload.transaction.order_id);
  });
  app = await listening(createServer(hooks));
  tunnel = await listening(tunnelTo(app));
});

afterAll(async () => {
  await service?.close();
  for (const server of [tunnel, app]) {
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
  }
  rmSync(folder, { recursive: true, force: true });
});

/** The first commands of a guide, each a line, with the program from the sources. */
function commandsOf(guide: string): string[] {
  const [block] = codeBlocks(join(ROOT, guide)).filter(({ language }) => language === 'sh');
  const lines = block?.text.replaceAll('\\\n', ' ').trim().split('\n') ?? [];
  const program = `"${join(ROOT, 'node_modules/.bin/tsx')}" "${join(ROOT, 'src/cli.ts')}"`;
  return lines
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.replaceAll('npx payment-webhooks', program));
}

test('a tunnel is checked, registered and removed by its commands', async () => {
  const env = {
    PUBLIC_URL: urlOf(tunnel),
    SERVICE_API_URL: service.baseUrl,
    SERVICE_PRIVATE_KEY: service.privateKey,
    SIGNATURE_HEADER: 'X-SERVICE-SIGNATURE',
  };
  const type = async (script: string) => {
    const { code, stdout, stderr } = await shell(script, { env });
    expect({ script, code, stdout, stderr }).toMatchObject({ code: 0 });
    return stdout;
  };
  const [doctor = '', ensure = '', list = '', remove = ''] = commandsOf('docs/tunnel.md');
  await type(doctor);
  expect(handled).toContain('doctor-test');
  await type(ensure);
  expect(service.webhooks.list()).toMatchObject([{ url: `${env.PUBLIC_URL}/hooks` }]);

  const before = tunnelled.length;
  await service.trigger('transaction.paid', { payload: { transaction: { order_id: 'order-7' } } });
  expect(tunnelled.slice(before)).toEqual(['POST /hooks']);
  expect(handled).toContain('order-7');

  const [{ id } = { id: '' }] = service.webhooks.list();
  expect(await type(list)).toContain(id);
  expect(remove).toContain('WEBHOOK_ID');
  await type(remove.replace('WEBHOOK_ID', id));
  expect(service.webhooks.list()).toEqual([]);
}, 120_000);

needing('curl').test(
  'an event is delivered by hand, and again, which makes a duplicate',
  async () => {
    const env = { SERVICE_PRIVATE_KEY: service.privateKey };
    const event = fixtures.transactionPaid({ payload: { transaction: { order_id: 'order-missed' } } });
    writeFileSync(join(folder, 'event.json'), JSON.stringify(event));
    const script = commandsOf('docs/missed-events.md').join('\n').replace('https://shop.example', urlOf(app));
    for (const outcome of ['processed', 'duplicate']) {
      const { code, stdout, stderr } = await shell(script, { env, cwd: folder });
      expect({ code, stdout, stderr }).toMatchObject({
        code: 0,
        stdout: JSON.stringify({ received: true, outcome }),
      });
    }
    expect(handled.filter((order) => order === 'order-missed')).toHaveLength(1);
  },
  90_000,
);
