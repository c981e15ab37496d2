// An inbox alone keeps a receiver safe: its tables come and are pruned by themselves, whatever happens to the server.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { memoryInbox } from 'payment-webhooks';
import { type HealthReport, health } from 'payment-webhooks/ops';
import { processor } from 'payment-webhooks/queues';
import { sqliteInbox } from 'payment-webhooks/stores/sql';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { PRUNING } from '../../../src/stores/inbox/pruned.js';
import { delivery } from '../../setup/delivery.js';
import { duplicate, failed, processed, type Receiving, startReceiver } from '../../setup/endpoint.js';
import { openSqlite, sqliteFile } from '../../setup/open-sqlite.js';
import { needing } from '../../setup/platform.js';
import { PATIENT, until } from '../../setup/waiting.js';
import { inEachPlace } from './inboxes.js';

const HOUR = PRUNING.everyMs;
const receivers: Receiving[] = [];
const start = (options: Parameters<typeof startReceiver>[0]) => {
  const started = startReceiver({ ...PATIENT, ...options });
  receivers.push(started);
  return started;
};
const failing = { '*': () => Promise.reject(new Error('down')) };
const errors = ({ log }: Receiving) => log.lines.filter(({ level }) => level === 50);

afterEach(async () => {
  PRUNING.everyMs = HOUR;
  await Promise.all(receivers.splice(0).map(({ hooks }) => hooks.close()));
});

inEachPlace((place) => {
  let name = '';
  let names = 0;
  beforeEach(() => {
    names += 1;
    name = `inbox_${names}`;
  });

  test('remembers events and keeps letters without any preparation, and reports no error', async () => {
    const inbox = place.open(name);
    const hooks = start({ inbox });
    const event = delivery();
    expect(await hooks.post(event)).toMatchObject(processed);
    expect(await hooks.post(event)).toMatchObject(duplicate);
    const broken = start({ inbox, handlers: failing, redrive: false });
    expect(await broken.post()).toMatchObject(failed);
    expect(await hooks.hooks.deadLetters?.count()).toMatchObject({
      total: 1,
      groups: [{ reason: 'failed' }],
    });
    expect(errors(hooks)).toEqual([]);
    await inbox.ping();
  });

  test('that many processes use for the first time at once is created once', async () => {
    const processes = Array.from({ length: 8 }, () => start({ inbox: place.open(name) }));
    const broken = Array.from({ length: 4 }, () => start({ inbox: place.open(name), handlers: failing }));
    const event = delivery();
    const answers = await Promise.all([
      ...processes.map(({ post }) => post()),
      ...processes.map(({ post }) => post(event)),
    ]);
    const kept = await Promise.all(broken.map(({ post }) => post()));
    expect(kept.map(({ status }) => status)).toEqual(broken.map(() => 500));
    expect(answers.slice(0, 8).map(({ status }) => status)).toEqual(processes.map(() => 200));
    expect(processes.flatMap(({ handled }) => handled)).toHaveLength(9);
    expect(
      [...processes, ...broken].flatMap(errors).filter(({ msg }) => /store|kept/.test(String(msg))),
    ).toEqual([]);
    expect(await place.rows(name)).toBeGreaterThanOrEqual(13);
  });

  test('deletes what has expired without a call, until the last receiver that uses it closes', async () => {
    PRUNING.everyMs = 100;
    const inbox = place.open(name, { retention: 600 });
    const [one, other] = [
      start({ inbox, redrive: false }),
      start({ inbox, handlers: failing, redrive: false }),
    ];
    expect(await one.post()).toMatchObject(processed);
    expect(await other.post()).toMatchObject(failed);
    expect(await place.rows(name)).toBeGreaterThan(0);
    await until(async () => (await place.rows(name)) === 0);
    await one.hooks.close();
    await other.post();
    await until(async () => (await place.rows(name)) === 0);
    expect(await other.post()).toMatchObject(failed);
    await other.hooks.close();
    // A lease of the failed delivery is over, so nothing but the retention keeps its rows; Redis lets ids expire itself.
    await pause(1_200);
    const left = await place.rows(name);
    expect(left).toBeGreaterThanOrEqual(1);
    // A new receiver on the same inbox prunes again.
    const next = start({ inbox, redrive: false });
    next.hooks.start();
    await until(async () => (await place.rows(name)) === 0);
    expect([one, next].flatMap(errors)).toEqual([]);
  });

  test('is healthy before its first delivery, unhealthy while its server is down, and healthy again', async () => {
    const { hooks, post } = start({ inbox: place.open(name), handlers: failing, redrive: false });
    const server = createServer(health(hooks, { deadLetters: 0, timeout: 5_000, cache: 1 }));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const failingChecks = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
      const { checks } = (await answer.json()) as HealthReport;
      return [answer.status, ...checks.filter(({ ok }) => !ok).map((check) => check.name)];
    };
    const becomes = (...expected: unknown[]) =>
      until(async () => isDeepStrictEqual(await failingChecks(), expected), 25_000, 100);
    try {
      await becomes(200);
      expect(await post()).toMatchObject(failed);
      await becomes(503, 'deadLetters');
      await place.server.kill();
      await becomes(503, ...place.tellsWhenDown);
      await place.server.start();
      // A Redis without persistence has lost its letter.
      await until(
        async () => !(await failingChecks()).some((check) => /[sS]tore$/.test(String(check))),
        25_000,
        100,
      );
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }, 90_000);

  test('with prune: false deletes nothing', async () => {
    PRUNING.everyMs = 20;
    const inbox = place.open(name, { retention: 100, prune: false });
    const broken = start({ inbox, handlers: failing, redrive: false });
    await broken.post();
    await pause(500);
    expect(await place.rows(name)).toBeGreaterThanOrEqual(1);
    expect(await (inbox.deadLetters as unknown as { prune(): Promise<number> }).prune()).toBe(1);
  });

  test('is the store of a worker, which prunes it too', async () => {
    PRUNING.everyMs = 50;
    const inbox = place.open(name, { retention: 200 });
    const runs: string[] = [];
    const work = processor({ '*': (event) => void runs.push(event.id) }, { inbox, logger: false });
    const event = fixtures.transactionPaid();
    const job = {
      rawBody: JSON.stringify(event),
      headers: {},
      keyIndex: 0,
    };
    expect(await work(job, { queue: 'webhooks' })).toMatchObject({ verdict: 'done', outcome: 'processed' });
    await inbox.ping();
    await until(async () => (await place.rows(name)) === 0);
    expect(runs).toEqual([event.id]);
  });

  test('whose server is down when the app starts, and comes up later, works from then on', async () => {
    await place.server.kill();
    const hooks = start({ inbox: place.open(name), storeTimeout: 500, lease: 30_000 });
    hooks.hooks.start();
    const event = delivery();
    expect(await hooks.post(event)).toMatchObject({ status: 503, body: { code: 'STORE_UNAVAILABLE' } });
    expect(hooks.handled).toEqual([]);
    await place.server.start();
    await until(async () => (await hooks.post(event)).status === 200, 25_000, 100);
    expect(hooks.handled).toHaveLength(1);
    expect(await hooks.post(event)).toMatchObject(duplicate);
  });
});

needing('SQLite').describe('an inbox in a file of SQLite', () => {
  test('whose table is dropped while a handler runs is not answered like a claim that another delivery has taken', async () => {
    const { file, remove } = sqliteFile();
    const db = openSqlite(file);
    const handled = jest.fn(() => {
      db.exec('DROP TABLE webhook_event');
    });
    const hooks = start({ inbox: sqliteInbox(db), handlers: { '*': handled }, redrive: false });
    // Nobody remembers the event now. A 503 would make the service send it again, and the handler would run twice.
    expect(await hooks.post()).toMatchObject(processed);
    expect(handled).toHaveBeenCalledTimes(1);
    await hooks.hooks.close();
    db.close();
    remove();
  });
});

describe('an inbox that cannot be pruned', () => {
  test('says why in the log, and tries again', async () => {
    PRUNING.everyMs = 20;
    const { prunedInbox } = await import('../../../src/stores/inbox/pruned.js');
    const { store, deadLetters } = memoryInbox();
    const prune = jest.fn(() => Promise.reject(Object.assign(new Error('secret'), { code: '42501' })));
    const hooks = start({ inbox: prunedInbox(store, deadLetters, [{ prune }], true) });
    await hooks.post();
    await until(() => prune.mock.calls.length > 2);
    expect(errors(hooks)[0]?.msg).toBe(
      'expired rows were not deleted, which is tried again later: It threw 42501. The role may not use the table: grant it SELECT, INSERT, UPDATE and DELETE.',
    );
    expect(JSON.stringify(hooks.log.lines)).not.toContain('secret');
  });
});
