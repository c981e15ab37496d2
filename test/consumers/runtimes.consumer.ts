// hooks.fetch() on Bun, Deno and workerd, each of them started for real, in a folder without Express.
import { copyFileSync, existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, type SentDelivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { codeBlocks } from '../setup/markdown.js';
import { freePort } from '../setup/ports.js';
import { head, openSocket } from '../setup/raw-socket.js';
import { ROOT, type Running, start } from '../setup/shell.js';
import { until } from '../setup/waiting.js';
import { type Consumer, consumer } from './consumer.js';
import { installRuntime } from './install-runtime.js';
import { redisOverHttp } from './redis-over-http.js';

const KEY = 'pri_of_all_runtimes';
const IN_FLIGHT = 8;

type Environment = Readonly<Record<string, string>>;

interface Runtime {
  readonly name: string;
  /** What npm calls it. */
  readonly package: string;
  readonly command: string;
  /** Starts the file on the port. */
  readonly script: (file: string, port: number) => string;
  readonly prepare?: (project: Consumer, file: string, port: number, env: Environment) => void;
}

const RUNTIMES: readonly Runtime[] = [
  { name: 'Bun', package: 'bun', command: 'bun', script: (file, port) => `PORT=${port} bun ${file}` },
  {
    name: 'Deno',
    package: 'deno',
    command: 'deno',
    script: (file, port) =>
      `deno serve --allow-env --allow-sys=hostname ${file === 'worker.ts' ? '--allow-net' : ''} --no-prompt --port ${port} ${file}`,
  },
  {
    name: 'workerd',
    // It brings workerd, and bundles as its users do.
    package: 'wrangler',
    command: 'workerd',
    prepare: (project, file, port, env) => {
      project.write('wrangler.json', JSON.stringify({ name: 'app', main: file, ...WORKER }));
      project.write('workerd.capnp', workerdConfig(file.replace(/\.\w+$/, '.js'), port, env));
    },
    script: () =>
      'WRANGLER_SEND_METRICS=false wrangler deploy --dry-run --outdir built && workerd serve workerd.capnp',
  },
];

const WORKER = { compatibility_date: '2025-09-15', compatibility_flags: ['nodejs_compat'] };

function workerdConfig(built: string, port: number, env: Environment): string {
  const bindings = Object.entries(env).map(([name, text]) => `(name = "${name}", text = "${text}")`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [ (name = "http", address = "127.0.0.1:${port}", http = (), service = "main") ]
);
const worker :Workerd.Worker = (
  modules = [ (name = "${built}", esModule = embed "built/${built}") ],
  bindings = [ ${bindings.join(', ')} ],
  globalOutbound = "internet",
  compatibilityDate = "${WORKER.compatibility_date}",
  compatibilityFlags = ${JSON.stringify(WORKER.compatibility_flags)},
);
`;
}

/** An event whose order tells the handler what to do. */
function paid(order_id = 'any') {
  return fixtures.transactionPaid({ payload: { transaction: { order_id } } });
}

const page = codeBlocks(join(ROOT, 'docs/frameworks.md'));

/** A file that the pages show. */
function shown(file: string): string {
  return page.find(({ text }) => text.startsWith(`// ${file}\n`))?.text ?? '';
}

const sign = (content: unknown) => delivery(content, KEY);

for (const runtime of RUNTIMES) {
  const { bin, missing } = installRuntime(runtime);
  const suite = missing ? describe.skip : describe;

  suite(`on ${runtime.name}${missing ? ` (${missing})` : ''}`, () => {
    let project: Consumer;
    let running: Running | undefined;
    let port = 0;

    /** Starts the file on a free port. */
    const serve = async (file: string, more: Environment = {}) => {
      port = await freePort();
      const env = { SERVICE_PRIVATE_KEY: KEY, ...more };
      runtime.prepare?.(project, file, port, env);
      const surroundings = { PATH: `${bin}:${process.env.PATH}`, NO_COLOR: '1', ...env };
      running = start(runtime.script(file, port), surroundings, project.folder);
      await until(() => accepts(port)).catch((error) => {
        throw new Error(`${error}\n${running?.output()}`);
      });
    };

    beforeAll(async () => {
      project = await consumer(`runtime-${runtime.name.toLowerCase()}`, []);
      copyFileSync(join(ROOT, 'test/package/fetch.mjs'), join(project.folder, 'fetch.mjs'));
      await serve('fetch.mjs');
    }, 180_000);

    afterAll(() => running?.stop());

    const post = (sent: SentDelivery) => send(port, sent);
    const handled = (id: string) => running?.output().split(`handled ${id}\n`).length as number;
    /** Sends the head and a part of the body, and no more. */
    const half = async ({ body, headers }: SentDelivery) => {
      const sender = await openSocket(port);
      sender.write(head([...Object.entries(headers), ['content-length', body.length]]));
      sender.write(body.subarray(0, 20));
      return sender;
    };

    test('the package needs no Express', () => {
      expect(existsSync(join(project.folder, 'node_modules/payment-webhooks'))).toBe(true);
      expect(existsSync(join(project.folder, 'node_modules/express'))).toBe(false);
    });

    test('a delivery is processed once, and logged as a line of JSON', async () => {
      const event = paid();
      const first = await post(sign(event));
      expect(first).toMatchObject({
        status: 200,
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'content-length': '39',
          'cache-control': 'no-store',
        },
        body: { received: true, outcome: 'processed' },
      });
      expect(await post(sign(event))).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
      await running?.printed(new RegExp(`"outcome":"duplicate","status":200,"eventId":"${event.id}"`));
      expect(handled(event.id)).toBe(2);
    });

    test.each<[string, () => SentDelivery]>([
      ['forged', () => delivery(paid(), 'pri_another')],
      ['tampered with', () => ({ ...sign(paid()), body: Buffer.from(`${JSON.stringify(paid())} `) })],
      ['unsigned', () => ({ ...sign(paid()), headers: {} })],
    ])('one that was %s is refused', async (_, sent) => {
      expect(await post(sent())).toMatchObject({ status: 401, body: { message: 'Unauthenticated.' } });
    });

    test('a signature that comes twice is refused', async () => {
      const { body, headers } = sign(paid());
      const sender = await openSocket(port);
      const signature = ['x-service-signature', headers['x-service-signature'] ?? ''] as const;
      sender.write(head([...Object.entries(headers), signature, ['content-length', body.length]]));
      sender.write(body);
      expect(await sender.until(/\}$/)).toMatch(/^HTTP\/1\.1 401 /);
      sender.socket.destroy();
    });

    test.each([
      ['declared', (size: number) => ({ 'content-length': String(size) })],
      ['in chunks', () => ({ 'transfer-encoding': 'chunked' })],
    ])('a body over the limit is refused: %s', async (_, length) => {
      const { body, headers } = sign({ ...paid(), note: 'x'.repeat(100_000) });
      const sent = { body, headers: { ...headers, ...length(body.length) } };
      expect(await post(sent)).toMatchObject({ status: 413, body: { code: 'BODY_TOO_LARGE' } });
    });

    test('a slow body is refused', async () => {
      const sender = await half(sign(paid()));
      expect(await sender.until(/\}$/)).toMatch(/^HTTP\/1\.1 408 .*"BODY_TIMEOUT"/s);
      sender.socket.destroy();
    });

    test('senders that disconnect take no place, and are not handled', async () => {
      for (let count = 0; count < IN_FLIGHT + 2; count += 1) {
        const sender = await half(sign(paid()));
        sender.socket.resetAndDestroy();
      }
      await running?.printed('"code":"BODY_ABORTED","status":0');
      await processed();
    });

    test('an unknown event is ignored', async () => {
      const sent = sign({ ...paid(), event_name: 'refund.succeeded' });
      expect(await post(sent)).toMatchObject({ status: 200, body: { outcome: 'ignored' } });
    });

    test('a handler that fails is 500, and runs again on the retry', async () => {
      const sent = sign(paid('fail'));
      expect(await post(sent)).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
      expect(await post(sent)).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    });

    test('a handler that takes too long is 503, goes on, and gives its place back', async () => {
      const late = Array.from({ length: IN_FLIGHT }, () => sign(paid('late')));
      const answers = await Promise.all(late.map(post));
      expect(answers.map(({ status }) => status)).toEqual(late.map(() => 503));
      // Until each has its place back: a delivery that is turned away is 503 too.
      await until(async () => (await Promise.all(late.map(post))).every(({ status }) => status === 200));
      await processed();
    });

    test('its signal aborts in the async context of its own delivery', async () => {
      const events = [paid('signal'), paid('signal'), paid('signal')];
      const answers = events.map((event) => {
        const { body, headers } = sign(event);
        return post({ body, headers: { ...headers, 'x-request-id': event.id } });
      });
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([503, 503, 503]);
      for (const { id } of events) await running?.printed(`aborted ${id} in ${id}`);
    });

    test('the app of docs/frameworks.md runs as it stands there', async () => {
      await running?.stop();
      project.write('app.ts', shown('app.ts'));
      await serve('app.ts');
      expect(await post(sign(paid('of-the-docs')))).toMatchObject({ body: { outcome: 'processed' } });
      await running?.printed('of-the-docs is paid');
    }, 60_000);

    const redis = process.env.TEST_REDIS_URL;
    const withRedis = redis ? test : test.skip;
    withRedis(
      `the Redis over HTTP of the page remembers an event across a restart${redis ? '' : ' (needs Redis)'}`,
      async () => {
        const bridge = await redisOverHttp(redis ?? '');
        const sent = sign(paid('over-http'));
        const env = { REDIS_REST_URL: bridge.url, REDIS_REST_TOKEN: bridge.token };
        project.write('worker.ts', shown('worker.ts'));
        try {
          for (const outcome of ['processed', 'duplicate']) {
            await running?.stop();
            await serve('worker.ts', env);
            expect(await post(sent)).toMatchObject({ status: 200, body: { outcome } });
          }
        } finally {
          await bridge.close();
        }
      },
      120_000,
    );

    async function processed(): Promise<void> {
      let reply = await post(sign(paid()));
      await until(async () => {
        if (reply.status === 503) reply = await post(sign(paid()));
        return reply.status !== 503;
      });
      expect(reply).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    }
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false)).once('connect', () => socket.destroy());
  });
}
