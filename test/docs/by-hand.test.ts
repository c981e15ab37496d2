// Types the commands of docs/first-delivery.md and docs/missed-events.md: a delivery through a tunnel, an event delivered by hand.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { type Simulator, startSimulator } from 'payment-webhooks/simulator';
import { fixtures } from 'payment-webhooks/testing';
import { codeBlocks } from '../setup/markdown.js';
import { needing } from '../setup/platform.js';
import { freePort } from '../setup/ports.js';
import { ROOT, shell } from '../setup/shell.js';
import { until } from '../setup/waiting.js';

const handled: string[] = [];
let service: Simulator;
let app: Server;
let tunnel: Server;
let folder: string;

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const listening = (server: Server) =>
  new Promise<Server>((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));

/** What a tunnel does: another address, the same bytes. */
function tunnelTo(target: () => string): Server {
  return createServer((near, answer) => {
    const { url = '/', method, headers } = near;
    const far = request(new URL(url, target()), { method, headers }, (response) => {
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
  tunnel = await listening(tunnelTo(() => urlOf(app)));
});

afterAll(async () => {
  await service?.close();
  for (const server of [tunnel, app]) {
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
  }
  rmSync(folder, { recursive: true, force: true });
});

/** The commands of a guide, each a line, with the program from the sources. */
function commandsOf(guide: string): string[] {
  const blocks = codeBlocks(join(ROOT, guide)).filter(({ language }) => language === 'sh');
  const lines = blocks.flatMap(({ text }) => text.replaceAll('\\\n', ' ').trim().split('\n'));
  const program = `"${join(ROOT, 'node_modules/.bin/tsx')}" "${join(ROOT, 'src/cli.ts')}"`;
  return lines
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.replaceAll('npx payment-webhooks', program));
}

test('the first delivery is captured through a tunnel, its header found, and the tunnel checked and removed', async () => {
  // Started as the guide does, but on a free port and for one delivery.
  const port = await freePort();
  const [capture = '', cloudflared, ensure = '', forward, doctor = '', list = '', remove = ''] =
    commandsOf('docs/first-delivery.md');
  expect(cloudflared).toBe('cloudflared tunnel --url http://localhost:4747');
  expect(forward).toBe(`${capture} --forward 3000/hooks`);
  writeFileSync(join(folder, 'keys.txt'), `${service.privateKey}\n`);
  const toCapture = await listening(tunnelTo(() => `http://127.0.0.1:${port}`));
  const env = {
    PUBLIC_URL: urlOf(toCapture),
    SERVICE_API_URL: service.baseUrl,
    SERVICE_PRIVATE_KEY: service.privateKey,
  };
  const type = async (script: string, more = {}) => {
    const { code, stdout, stderr } = await shell(script, { env: { ...env, ...more }, cwd: folder });
    expect({ script, code, stdout, stderr }).toMatchObject({ code: 0 });
    return stdout;
  };
  try {
    const captured = type(`${capture} --once --port ${port}`);
    await type(ensure);
    expect(service.webhooks.list()).toMatchObject([{ url: `${env.PUBLIC_URL}/hooks` }]);
    await until(() => isListening(port));
    const sent = await service.trigger(
      'transaction.paid',
      { payload: { transaction: { order_id: 'order-7' } } },
      { signatureHeader: 'X-ACME-SIGNATURE' },
    );
    expect(sent).toMatchObject([{ status: 'delivered' }]);
    const [line] = codeBlocks(join(ROOT, 'docs/first-delivery.md')).filter(
      ({ language }) => language === 'text',
    );
    const stdout = await captured;
    // Node's client writes names in lower case, as HTTP/2 does.
    expect(stdout.toLowerCase()).toContain(line?.text.trim().toLowerCase());
    expect(stdout).toContain('"order_id":"order-7"');

    // The app that the tunnel leads to has the default header.
    const direct = { PUBLIC_URL: urlOf(tunnel) };
    await type(doctor.replace(' --header X-ACME-SIGNATURE', ''), direct);
    expect(handled).toContain('doctor-test');
    const [{ id } = { id: '' }] = service.webhooks.list();
    expect(await type(list)).toContain(id);
    expect(remove).toContain('WEBHOOK_ID');
    await type(remove.replace('WEBHOOK_ID', id));
    expect(service.webhooks.list()).toEqual([]);
  } finally {
    toCapture.closeAllConnections();
    toCapture.close();
  }
}, 180_000);

const isListening = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

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
