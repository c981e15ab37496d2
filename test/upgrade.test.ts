// What 0.1.0 wrote, this version reads: nothing is lost, and nothing runs twice. The old version is the packed one, bundled.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { DeadLetterStore, IdempotencyStore, Receiver } from 'payment-webhooks';
import * as main from 'payment-webhooks';
import * as bullmq from 'payment-webhooks/queues/bullmq';
import * as boss from 'payment-webhooks/queues/pg-boss';
import { startSimulator } from 'payment-webhooks/simulator';
import * as postgres from 'payment-webhooks/stores/postgres';
import * as redis from 'payment-webhooks/stores/redis';
import * as sql from 'payment-webhooks/stores/sql';
import { fixtures } from 'payment-webhooks/testing';
import { Pool } from 'pg';
import { connectionString, ownBossSchema, withPostgres } from './setup/boss-trial.js';
import { captureLog } from './setup/captured-log.js';
import { delivery, KEY } from './setup/delivery.js';
import { ownMariadb } from './setup/own-mariadb.js';
import { withRedis } from './setup/own-redis.js';
import { needing } from './setup/platform.js';
import { redisUrl, startTrial } from './setup/queue-trial.js';
import { overMysql2 } from './setup/sql-clients.js';
import { until } from './setup/waiting.js';
import { endpoint } from './tools/simulator/world.js';
import * as first from './upgrade/0.1.0-first.cjs';
import * as last from './upgrade/0.1.0-last.cjs';

const now = { ...main, ...postgres, ...redis, ...sql, bullmq, boss, startSimulator };
/** The first build with that version, and the last one before 0.2.0. */
const OLD = { 'the first 0.1.0': first, 'the last 0.1.0': last } as const;
const BUILDS = Object.entries(OLD) as readonly (readonly [string, typeof first])[];

const name = `upgrade_${randomBytes(6).toString('hex')}`;
const encryptionKeys = [randomBytes(32)];
const silent = { logger: false } as const;
const paid = fixtures.transactionPaid;

const closing: (() => unknown)[] = [];

const client = () => {
  const made = new Redis(redisUrl);
  closing.push(() => made.disconnect());
  return made;
};
const pool = () => {
  const made = new Pool({ connectionString, max: 12 });
  closing.push(() => made.end());
  return made;
};
const mariadb = needing('mariadbd').missing.length === 0 ? ownMariadb() : undefined;

interface Stores {
  readonly store: IdempotencyStore<object> & { migrate?(): Promise<void> };
  readonly deadLetters?: DeadLetterStore & { migrate?(): Promise<void> };
}

type WithLetters = main.ReceiverOptions<{}, object, DeadLetterStore>;
type Build = typeof first | typeof last | typeof now;
interface Place {
  readonly program: string;
  /** @param at a name of its own in the database */
  open(build: Build, at: string): Stores;
}

const PLACES: Readonly<Record<string, Place>> = {
  Redis: {
    program: 'redis-server',
    open(build, at) {
      const connection = client();
      const sendCommand = (...args: [string, ...string[]]) => connection.call(...args);
      const options = { sendCommand, prefix: `${name}:${at}:` };
      const store = build.redisStore(options);
      if (!('redisDeadLetters' in build)) return { store };
      return { store, deadLetters: build.redisDeadLetters({ ...options, encryptionKeys }) };
    },
  },
  Postgres: {
    program: 'postgres',
    open(build, at) {
      const own = pool();
      const store = build.postgresStore({ pool: own, table: `${name}.${at}_event` });
      if (!('postgresDeadLetters' in build)) return { store };
      const letters = { pool: own, table: `${name}.${at}_letter`, encryptionKeys };
      return { store, deadLetters: build.postgresDeadLetters(letters) };
    },
  },
  MariaDB: {
    program: 'mariadbd',
    open(build, at) {
      if (!mariadb || !('sqlStore' in build)) throw new Error('There is no MariaDB, or no store for it.');
      // With `transaction` the old version holds one open around a delivery.
      const { transaction: _, ...database } = overMysql2(mariadb.pool());
      const letters = { ...database, table: `${at}_letter`, encryptionKeys };
      return {
        store: build.sqlStore({ ...database, table: `${at}_event` }),
        deadLetters: build.sqlDeadLetters(letters),
      };
    },
  },
};

/** Delivers without a server: the store and what it keeps are all that is looked at. */
const deliverTo = async (hooks: Receiver, event: object) => {
  const { body, headers } = delivery(event);
  const answer = await hooks.receive({ rawBody: body, headers });
  return [answer.status, JSON.parse(answer.body).outcome ?? JSON.parse(answer.body).code];
};

async function migrate({ store, deadLetters }: Stores): Promise<void> {
  await store.migrate?.();
  await deadLetters?.migrate?.();
}

/** A store whose process dies right after its claim: nobody completes or releases it. */
function dying(store: Stores['store'], leaseMs: number): Stores['store'] {
  return {
    ...store,
    claim: async (key, request) => {
      await store.claim(key, { ...request, leaseMs });
      throw new Error('killed');
    },
  };
}

const hasPostgres = needing('postgres').missing.length === 0;
beforeAll(async () => {
  if (hasPostgres) await pool().query(`CREATE SCHEMA ${name}`);
});
afterAll(async () => {
  if (hasPostgres) await pool().query(`DROP SCHEMA ${name} CASCADE`);
  for (const close of closing.reverse()) await close();
});

describe.each(BUILDS)('what %s wrote', (build, old) => {
  const places = Object.entries(PLACES).filter(
    ([, { program }]) => program !== 'mariadbd' || 'sqlStore' in old,
  );
  describe.each(places)('in %s', (where, { program, open }) => {
    const at = `build_${Object.keys(OLD).indexOf(build)}_${Object.keys(PLACES).indexOf(where)}`;

    needing(program).test('events: those processed stay processed, the others run once', async () => {
      const [before, after] = [open(old, at), open(now, at)];
      await migrate(before);
      const effects: string[] = [];
      const effect = (of: string) => (event: { id: string }) => void effects.push(`${event.id} ${of}`);
      let works = false;
      const handlersOf = (hooks: Receiver) =>
        hooks.on('transaction.paid', effect('mail'), { name: 'mail' }).on('transaction.paid', (event) => {
          if (!works && event.id !== 'done') throw new Error('not yet');
          effect('paid')(event);
        });
      const options = { privateKey: KEY, ...silent };
      const [done, failed, killed] = [paid({ id: 'done' }), paid({ id: 'failed' }), paid({ id: 'killed' })];

      const hooks = handlersOf(old.receiver({ ...options, store: before.store }));
      expect(await deliverTo(hooks, done)).toEqual([200, 'processed']);
      expect(await deliverTo(hooks, failed)).toEqual([500, 'HANDLER_FAILED']);
      const crashing = handlersOf(old.receiver({ ...options, store: dying(before.store, 1_000) }));
      expect(await deliverTo(crashing, killed)).toEqual([503, 'STORE_UNAVAILABLE']);

      await migrate(after);
      works = true;
      const log = captureLog();
      const upgraded = handlersOf(main.receiver({ ...options, logger: log.logger, store: after.store }));
      expect(await deliverTo(upgraded, done)).toEqual([200, 'duplicate']);
      expect(await deliverTo(upgraded, failed)).toEqual([200, 'processed']);
      // The old fingerprint is still recognized: no conflict is reported.
      expect(log.lines.filter(({ level }) => level === 50)).toEqual([]);
      await until(async () => (await deliverTo(upgraded, killed))[0] === 200);
      expect(await deliverTo(upgraded, killed)).toEqual([200, 'duplicate']);
      const once = ['done mail', 'done paid', 'failed mail', 'failed paid', 'killed mail', 'killed paid'];
      expect(effects.sort()).toEqual(once);
    });

    if (!('postgresDeadLetters' in old)) return;
    needing(program).test(
      'dead letters: each is replayed once, and its delivery is a duplicate then',
      async () => {
        const [before, after] = [open(old, `${at}_l`), open(now, `${at}_l`)];
        await migrate(before);
        const options = { privateKey: KEY, ...silent };
        const events = Array.from({ length: 5 }, (_, index) => paid({ id: `evt-${index}` }));
        const drifted = { ...paid({ id: 'drifted' }), payload: {} };
        const hooks = old.receiver({ ...options, ...before, journal: true } as WithLetters);
        hooks.on('*', () => Promise.reject(new Error('not yet')));
        for (const event of events) expect((await deliverTo(hooks, event))[0]).toBe(500);
        expect(await deliverTo(hooks, drifted)).toEqual([200, 'kept']);
        const undeclared = fixtures.event('refund.made', {}, { id: 'undeclared' });
        expect(await deliverTo(hooks, undeclared)).toEqual([200, 'kept']);
        const { letters: kept } = await hooks.deadLetters.page();
        const { id = '' } = kept.find(({ eventId }) => eventId === 'evt-0') ?? {};
        expect(await hooks.deadLetters.discard(id, { by: 'ada', because: 'a test' })).toBe(true);

        await migrate(after);
        const effects: string[] = [];
        const upgraded = main.receiver({ ...options, ...after } as WithLetters);
        const effect = ({ id }: { id: string }) => void effects.push(id);
        upgraded.on('*', effect).onUnknown(effect);
        expect((await upgraded.deadLetters.page()).letters).toHaveLength(6);
        await upgraded.deadLetters.replay();
        await upgraded.deadLetters.replay();
        const processed = ['evt-1', 'evt-2', 'evt-3', 'evt-4', 'undeclared'];
        expect(effects.sort()).toEqual(processed);
        for (const event of events.slice(1))
          expect(await deliverTo(upgraded, event)).toEqual([200, 'duplicate']);
        // What does not fit waits for a schema that it fits.
        const left = (await upgraded.deadLetters.page()).letters;
        expect(left.map(({ reason }) => reason)).toEqual(['invalid']);
        expect(await upgraded.deadLetters.read(left[0]?.id ?? '')).toMatchObject({
          rawBody: Buffer.from(JSON.stringify(drifted)),
        });
      },
    );
  });
});

const queued = () => [[paid({ id: 'waits' }), paid({ id: 'waits-too' })], paid({ id: 'failed' })] as const;

describe.each(BUILDS)('jobs that %s queued', (_, old) => {
  withRedis('in BullMQ', () => {
    test('run once each here: those that wait, and one that failed', async () => {
      const { queue, work, finished, settled } = startTrial();
      const [waiting, failing] = queued();
      const options = { privateKey: KEY, store: false, ...silent } as const;
      const hooks = old.receiver(options).on('*', old.bullmq.enqueue(queue, { jobOptions: { attempts: 1 } }));
      expect(await deliverTo(hooks, failing)).toEqual([200, 'processed']);
      const worker = work(old.bullmq.processor({ '*': () => Promise.reject(new Error('not yet')) }, silent));
      await settled();
      await worker.close();
      for (const event of waiting) expect(await deliverTo(hooks, event)).toEqual([200, 'processed']);

      const upgraded = main.receiver(options).on('*', bullmq.enqueue(queue));
      for (const event of [...waiting, failing])
        expect(await deliverTo(upgraded, event)).toEqual([200, 'processed']);
      const effects: string[] = [];
      work(bullmq.processor({ 'transaction.paid': ({ id }) => void effects.push(id) }, silent));
      await until(() => finished.length === 4);
      expect(effects.sort()).toEqual(['failed', 'waits', 'waits-too']);
      expect(finished.slice(1).map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
      expect(await queue.count()).toBe(0);
    });
  });

  if (!('boss' in old)) return;
  const oldBoss = old.boss as typeof boss;
  withPostgres('in pg-boss', () => {
    const schema = ownBossSchema();

    test('run once each here: those that wait, and one that failed', async () => {
      const trial = await schema.start();
      const [waiting, failing] = queued();
      const options = { privateKey: KEY, store: false, ...silent } as const;
      const { queue } = trial;
      const hooks = old
        .receiver(options)
        .on('*', oldBoss.enqueue(trial.boss, { queue, jobOptions: { retryLimit: 0 } }));
      expect(await deliverTo(hooks, failing)).toEqual([200, 'processed']);
      await trial.work(oldBoss.processor({ '*': () => Promise.reject(new Error('not yet')) }, silent));
      await trial.job('failed');
      await trial.boss.offWork(queue);
      for (const event of waiting) expect(await deliverTo(hooks, event)).toEqual([200, 'processed']);

      const upgraded = main.receiver(options).on('*', boss.enqueue(trial.boss, { queue }));
      for (const event of [...waiting, failing])
        expect(await deliverTo(upgraded, event)).toEqual([200, 'processed']);
      expect(await trial.jobs()).toHaveLength(3);
      const effects: string[] = [];
      await trial.work(boss.processor({ 'transaction.paid': ({ id }) => void effects.push(id) }, silent));
      await until(async () => (await trial.jobs()).every(({ state }) => state === 'completed'));
      expect(effects.sort()).toEqual(['failed', 'waits', 'waits-too']);
    });
  });
});

test.each(BUILDS)(
  'a state file of the simulator of %s is taken over whole: what was delivered is not sent again, and a retry is',
  async (_, old) => {
    const folder = mkdtempSync(join(tmpdir(), 'upgrade-'));
    try {
      const state = join(folder, 'state.json');
      const target = await endpoint(200, 500, 200);
      const before = await old.startSimulator({ port: 0, state });
      await before.webhooks.create({ url: target.url, events: ['transaction.*'] });
      before.rotateKey({ privateKey: 'pri_sim_second' });
      before.faults.add({ kind: 'wrong_key', event: 'a.b', times: 2 });
      await before.trigger('transaction.paid');
      await before.advance('1ms');
      await before.trigger('transaction.paid', { payload: { customer: { name: '東京' } } });
      await before.advance('1ms');
      const kept = [before.deliveries(), before.webhooks.list(), before.faults.list()];
      await before.close();

      const after = await startSimulator({ port: 0, state });
      try {
        expect([after.deliveries(), after.webhooks.list(), after.faults.list()]).toMatchObject(kept);
        expect(after.privateKey).toBe('pri_sim_second');
        await after.advance('1h');
        expect(after.deliveries().map(({ status }) => status)).toEqual(['delivered', 'delivered']);
      } finally {
        await after.close();
      }
      const [one, failed, retried] = target.received.map(({ body }) => body.toString());
      expect(target.received).toHaveLength(3);
      expect(retried).toBe(failed);
      expect(one).not.toBe(failed);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
