// Next.js: built and started as in production, and what a reload keeps in development.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { delivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { freePort } from '../setup/ports.js';
import { ROOT, type Running, shell, startUntil } from '../setup/shell.js';
import { until } from '../setup/waiting.js';
import { answerTo, describeFramework, ORDERS, paid, signed } from './framework.js';

const WITHOUT_TELEMETRY = { NEXT_TELEMETRY_DISABLED: '1' };

/** Reads the body before the receiver can. */
const WRONG = `import { hooks } from '../../hooks';

export async function POST(request: Request) {
  console.log(await request.json());
  return hooks.fetch(request);
}
`;

/** An API route of the pages router, with and without the bytes. */
const pagesRoute = (config: string) => `import { hooks } from '../../hooks';

${config}
export default hooks;
`;

const [matcher] = /\{ matcher: [^}]*\}/.exec(readFileSync(join(ROOT, 'docs/frameworks.md'), 'utf8')) ?? [];

/** Sees every other path, and says so. */
const PROXY = `import { NextResponse } from 'next/server';

export const config = ${matcher};

export function proxy() {
  return NextResponse.next({ headers: { 'x-proxy': 'yes' } });
}
`;

describeFramework('nextjs', { 'orders.ts': ORDERS }, (app) => {
  test('needs a key when it is built, and takes the one that it is started with', async () => {
    const { folder, program } = app();
    await program.stop();
    const port = await freePort();
    const env = { ...WITHOUT_TELEMETRY, PORT: String(port), SERVICE_PRIVATE_KEY: 'pri_of_the_start' };
    const started = await startUntil('Ready in', 'npx next start', env, folder);
    try {
      const sent = delivery(paid('of-another-key'), 'pri_of_the_start');
      expect(await send(port, sent)).toMatchObject({ status: 200 });
    } finally {
      await started.stop();
    }
    rmSync(join(folder, '.env.local'));
    expect(await shell('npx next build', { cwd: folder, env: WITHOUT_TELEMETRY })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('No private key. Set the environment variable SERVICE_PRIVATE_KEY'),
    });
  }, 120_000);

  describe('in development', () => {
    let dev: Running;
    let port: number;

    beforeAll(async () => {
      const { folder } = app();
      mkdirSync(join(folder, 'app/wrong'));
      writeFileSync(join(folder, 'app/wrong/route.ts'), WRONG);
      writeFileSync(join(folder, 'proxy.ts'), PROXY);
      mkdirSync(join(folder, 'pages/api'), { recursive: true });
      writeFileSync(
        join(folder, 'pages/api/raw.ts'),
        pagesRoute('export const config = { api: { bodyParser: false } };'),
      );
      writeFileSync(join(folder, 'pages/api/parsed.ts'), pagesRoute(''));
      port = await freePort();
      const env = { ...WITHOUT_TELEMETRY, PORT: String(port), SERVICE_PRIVATE_KEY: 'pri_example' };
      dev = await startUntil('Ready in', 'npx next dev', env, folder);
    }, 60_000);

    afterAll(() => dev?.stop());

    test('runs new handlers after a change, and remembers the events of the old ones', async () => {
      const sent = signed(paid('before-the-change'));
      expect(await send(port, sent)).toMatchObject({ body: { outcome: 'processed' } });
      const file = join(app().folder, 'hooks.ts');
      const changing = "console.log('changed');\n      await orders";
      writeFileSync(file, readFileSync(file, 'utf8').replace('await orders', changing));
      await until(async () => {
        await send(port, signed(paid('after-the-change')));
        return dev.output().includes('changed\n');
      });
      expect(await send(port, sent)).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    }, 60_000);

    test('a route that reads the body first has none left, and says so', async () => {
      const reply = await send(port, signed(paid('any')), '/wrong');
      expect(reply).toMatchObject({ status: 500, body: { code: 'BODY_CONSUMED' } });
      await dev.printed('Something read the body of the Request before hooks.fetch()');
    });

    test('an API route of the pages router waits for the answer, and needs the body unparsed', async () => {
      const sent = signed(paid('in-pages'));
      expect(await send(port, sent, '/api/raw')).toMatchObject({ body: { outcome: 'processed' } });
      const parsed = await send(port, signed(paid('in-pages-parsed')), '/api/parsed');
      expect(parsed).toMatchObject({ status: 500, body: { code: 'BODY_CONSUMED' } });
      await dev.printed('export const config = { api: { bodyParser: false } }');
      expect(dev.output()).not.toContain('API resolved without sending a response');
      expect(dev.output()).not.toContain('should not return a value');
    }, 60_000);

    test('a proxy that leaves the route out lets it answer before the body has come', async () => {
      const { headers } = await fetch(`http://127.0.0.1:${port}/wrong`);
      expect(headers.get('x-proxy')).toBe('yes');
      expect(await answerTo(port, { 'content-length': '1000' })).toMatch(/^HTTP\/1\.1 401 /);
    }, 60_000);
  });
});
