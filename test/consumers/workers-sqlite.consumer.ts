// The packed package in a Worker: an inbox in D1, and one in the SQL of a Durable Object, both in workerd.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery } from '../setup/delivery.js';
import { freePort } from '../setup/ports.js';
import { ROOT, type Running, startUntil } from '../setup/shell.js';
import { type Consumer, consumer } from './consumer.js';
import { installRuntime } from './install-runtime.js';

const WORKER = 'sqlite-worker.ts';
const CONFIG = {
  ...{ name: 'app', main: WORKER, compatibility_date: '2025-09-15', compatibility_flags: ['nodejs_compat'] },
  d1_databases: [{ binding: 'DB', database_name: 'shop', database_id: 'shop' }],
  durable_objects: { bindings: [{ name: 'OBJECT', class_name: 'Shop' }] },
  migrations: [{ tag: 'v1', new_sqlite_classes: ['Shop'] }],
};
/** How many invocations share the cases of both contracts, which mostly wait. */
const PARTS = 12;

const { bin, missing } = installRuntime({ package: 'wrangler', command: 'wrangler' });

(missing ? describe.skip : describe)(`on workerd${missing ? ` (${missing})` : ''}`, () => {
  let project: Consumer;
  let running: Running | undefined;
  let base = '';

  beforeAll(async () => {
    project = await consumer('workers-sqlite', ['typescript@5.9.3', '@cloudflare/workers-types']);
    copyFileSync(join(ROOT, 'test/package', WORKER), join(project.folder, WORKER));
    project.write('wrangler.json', JSON.stringify(CONFIG));
    const [port, inspector] = [await freePort(), await freePort()];
    base = `http://127.0.0.1:${port}`;
    running = await startUntil(
      'Ready on',
      `wrangler dev --port ${port} --inspector-port ${inspector} --test-scheduled`,
      { PATH: `${bin}:${process.env.PATH}`, NO_COLOR: '1', CI: '1', WRANGLER_SEND_METRICS: 'false' },
      project.folder,
    );
  }, 240_000);

  afterAll(() => running?.stop());

  const read = async (path: string) => (await fetch(base + path)).json();
  const paid = (order_id = 'any') => fixtures.transactionPaid({ payload: { transaction: { order_id } } });
  const post = async (path: string, event: object) => {
    const { body, headers } = delivery(event, 'pri_of_the_worker');
    const answer = await fetch(base + path, { method: 'POST', body, headers });
    const { outcome, code } = (await answer.json().catch(() => ({}))) as Readonly<Record<string, string>>;
    return [answer.status, outcome ?? code];
  };

  test('the compiler knows that handlers have no once', async () => {
    const options =
      '--noEmit --strict --skipLibCheck --target es2022 --module esnext --moduleResolution bundler';
    const args = `node_modules/typescript/bin/tsc ${options} --types @cloudflare/workers-types ${WORKER}`;
    expect(await project.node(args.split(' '))).toEqual({ code: 0, stdout: '', stderr: '' });
  }, 120_000);

  test('a delivery that ends with its request, while it creates the table, keeps no later one waiting', async () => {
    expect(await post('/d1/leave', paid())).toEqual([200, undefined]);
    expect(await post('/d1/hooks', paid())).toEqual([200, 'processed']);
  }, 60_000);

  describe.each(['/d1', '/object'])('%s', (at) => {
    const hooks = (event: object) => post(`${at}/hooks`, event);

    test('many first deliveries create the tables, and each is processed once', async () => {
      const events = Array.from({ length: 8 }, () => paid());
      expect(await Promise.all(events.map(hooks))).toEqual(events.map(() => [200, 'processed']));
      expect(await Promise.all(events.map(hooks))).toEqual(events.map(() => [200, 'duplicate']));
      expect(await read(`${at}/ping`)).toBe('well');
    }, 60_000);

    test('a copy of an event in progress is refused, and a duplicate once it is done', async () => {
      const event = paid('slow');
      const first = hooks(event);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(await hooks(event)).toEqual([503, 'IN_PROGRESS']);
      expect(await first).toEqual([200, 'processed']);
      expect(await hooks(event)).toEqual([200, 'duplicate']);
    }, 60_000);

    test('once is refused in words that say which inbox has it', async () => {
      expect(await hooks(paid('once'))).toEqual([500, 'HANDLER_FAILED']);
      await running?.printed('by a client with transactions: postgresInbox(), sqlInbox() or sqliteInbox()');
    }, 60_000);

    test('an event that failed is kept, and processed by a replay', async () => {
      const total = async () => ((await read(`${at}/letters`)) as { total: number }).total;
      const before = await total();
      const event = paid('fail');
      expect(await hooks(event)).toEqual([500, 'HANDLER_FAILED']);
      expect(await total()).toBe(before + 1);
      expect(await read(`${at}/keep-up`)).toEqual({ processed: 1, pruned: 0 });
      expect(await total()).toBe(before);
      expect(await hooks(event)).toEqual([200, 'duplicate']);
    }, 60_000);

    test('keeps both contracts', async () => {
      const parts = await Promise.all(
        Array.from({ length: PARTS }, (_, part) => read(`${at}/contract?part=${part}&parts=${PARTS}`)),
      );
      const all = parts as { cases: number; failures: string[] }[];
      expect(all.flatMap(({ failures }) => failures)).toEqual([]);
      expect(all.reduce((sum, { cases }) => sum + cases, 0)).toBeGreaterThan(60);
    }, 240_000);
  });

  test('a cron trigger replays and prunes, where timers end with their request', async () => {
    expect(await post('/d1/hooks', paid('fail'))).toEqual([500, 'HANDLER_FAILED']);
    await fetch(`${base}/__scheduled`);
    await running?.printed('{"processed":1,"pruned":0}');
  }, 60_000);
});
