// A rolling deploy: stores of an older version and of this one share tables and keys, in both directions.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import type { DeadLetterStore, IdempotencyStore, NewDeadLetter } from 'payment-webhooks';
import * as postgresNow from 'payment-webhooks/stores/postgres';
import * as redisNow from 'payment-webhooks/stores/redis';
import * as sqlNow from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import type { ClaimRequest } from '../../src/contracts/idempotency-store.js';
import { testAtOnce } from '../setup/at-once.js';
import { aLetter, queryOf } from '../setup/letters.js';
import { ownMariadb } from '../setup/own-mariadb.js';
import { needing } from '../setup/platform.js';
import { overMysql2, overPg } from '../setup/sql-clients.js';
import * as before from '../upgrade/0.1.0-last.cjs';
import { granted } from './worlds.js';

const now = { ...postgresNow, ...redisNow, ...sqlNow };
const VERSIONS = { before, now };
type Version = keyof typeof VERSIONS;

const name = `deploy_${randomBytes(6).toString('hex')}`;
const request = { leaseMs: 30_000, fingerprint: 'a'.repeat(12) };
const options = { table: `${name}.webhook_event` };
const letterOptions = { table: `${name}.dead_letter`, encryptionKeys: [randomBytes(32)] };

interface Stores {
  readonly store: IdempotencyStore<object> & { migrate?(): Promise<void> };
  readonly letters: DeadLetterStore & { migrate?(): Promise<void> };
}

interface Place {
  readonly program: string;
  /** @param version of the package, with a client of its own */
  open(version: Version): Stores;
  prepare(): Promise<unknown>;
  end(): Promise<unknown>;
}

const closing: (() => unknown)[] = [];
const pgPool = () => {
  const pool = new Pool({ connectionString: process.env.TEST_POSTGRES_URL, max: 12 });
  closing.push(() => pool.end());
  return pool;
};
const inSchema = (run: (sql: string) => Promise<unknown>, drop: string) => ({
  prepare: () => run(`CREATE SCHEMA ${name}`),
  end: () => run(`DROP SCHEMA ${name} ${drop}`),
});
const inPostgres = (open: Place['open']): Place => ({
  ...{ program: 'postgres', open },
  ...inSchema((sql) => pgPool().query(sql), 'CASCADE'),
});
const mariadb = needing('mariadbd').missing.length === 0 ? ownMariadb() : undefined;
const mysqlPool = () => {
  if (!mariadb) throw new Error('There is no MariaDB.');
  return mariadb.pool({ connectionLimit: 12 });
};
const inMariadb = (open: Place['open']): Place => ({
  ...{ program: 'mariadbd', open },
  ...inSchema((sql) => mysqlPool().query(sql), ''),
});

const byPostgresStore = inPostgres((version) => {
  const [pool, { postgresStore, postgresDeadLetters }] = [pgPool(), VERSIONS[version]];
  return {
    store: postgresStore({ pool, ...options }),
    letters: postgresDeadLetters({ pool, ...letterOptions }),
  };
});
function bySqlStore(version: Version, given: object): Stores {
  const { sqlStore, sqlDeadLetters } = VERSIONS[version];
  // With the transaction, the store before would hold one open for each claim.
  const { transaction: _, ...database } = given as ReturnType<typeof overPg>;
  return {
    store: sqlStore({ ...database, ...options }),
    letters: sqlDeadLetters({ ...database, ...letterOptions }),
  };
}

const PLACES: Readonly<Record<string, Place>> = {
  Redis: {
    program: 'redis-server',
    open: (version) => {
      const client = new Redis(process.env.TEST_REDIS_URL ?? '');
      closing.push(() => client.disconnect());
      const sendCommand = (...args: [string, ...string[]]) => client.call(...args);
      const { redisStore, redisDeadLetters } = VERSIONS[version];
      const { encryptionKeys } = letterOptions;
      const prefix = `${name}:`;
      const letters = redisDeadLetters({ sendCommand, prefix, encryptionKeys });
      return { store: redisStore({ sendCommand, prefix }), letters };
    },
    prepare: async () => {},
    end: async () => {
      const client = new Redis(process.env.TEST_REDIS_URL ?? '');
      await client.del(await client.keys(`${name}:*`));
      client.disconnect();
    },
  },
  'Postgres, by postgresStore()': byPostgresStore,
  'Postgres, by sqlStore()': inPostgres((version) => bySqlStore(version, overPg(pgPool()))),
  MariaDB: inMariadb((version) => bySqlStore(version, overMysql2(mysqlPool()))),
};

afterAll(() => Promise.all(closing.map((close) => close())));

describe.each(Object.keys(PLACES))('in %s', (where) => {
  const place = PLACES[where] as Place;
  needing(place.program).describe.each<[Version, Version]>([
    ['before', 'now'],
    ['now', 'before'],
  ])('where %s is there first, and %s joins', (...versions) => {
    let [first, second] = [{} as Stores, {} as Stores];

    beforeAll(async () => {
      await place.prepare();
      [first, second] = versions.map((version) => place.open(version)) as [Stores, Stores];
      for (const { store, letters } of [first, second]) {
        await store.migrate?.();
        await letters.migrate?.();
      }
    });
    afterAll(() => place.end());

    const scenes: Record<string, () => Promise<void>> = {
      'each takes over from the other, and knows what the other has completed': async () => {
        const claim = granted(await first.store.claim('taken over', request));
        expect((await second.store.claim('taken over', request)).status).toBe('in_progress');
        expect(await claim.release(['mail'])).toBe(true);
        const next = granted(await second.store.claim('taken over', request));
        expect([next.attempt, next.finished]).toEqual([2, ['mail']]);
        expect(await next.renew(60_000)).toBe(true);
        expect((await first.store.claim('taken over', request)).status).toBe('in_progress');
        expect(await next.complete()).toBe(true);
        for (const { store } of [first, second])
          expect(await store.claim('taken over', { ...request, fingerprint: 'b'.repeat(12) })).toEqual({
            status: 'completed',
            fingerprint: request.fingerprint,
          });
      },

      'an owner whose lease is over has lost its event to the other version': async () => {
        const claim = granted(await first.store.claim('lapsed', request));
        await claim.renew(0);
        let next = await second.store.claim('lapsed', request);
        while (next.status !== 'claimed') next = await second.store.claim('lapsed', request);
        const late = (async () => claim.complete())().catch(() => false);
        expect([await late, await next.claim.complete()]).toEqual([false, true]);
      },

      'a lock of one is held for the other, which had claims for it': async () => {
        const turn = { leaseMs: 60_000, fingerprint: '', turn: true } as ClaimRequest;
        for (const [version, { store }, other] of [
          [versions[0], first, second],
          [versions[1], second, first],
        ] as const) {
          const key = `lock:${version}`;
          const holds = ({ lock }: typeof store) => lock !== undefined;
          expect(holds(store)).toBe(version === 'now');
          const take = async (of: typeof store) => {
            if (holds(of)) return of.lock?.(key, 60_000);
            const result = await of.claim(key, turn);
            return result.status === 'claimed' ? { release: () => result.claim.release([]) } : undefined;
          };
          const held = await take(store);
          expect([held !== undefined, await take(other.store)]).toEqual([true, undefined]);
          await held?.release();
          const later = await take(other.store);
          expect(later).toBeDefined();
          await later?.release();
        }
      },

      'of deliveries to both at once each event is completed once': async () => {
        const done = new Map<string, number>();
        const deliver = async ({ store }: Stores, key: string): Promise<void> => {
          const result = await store.claim(key, request);
          if (result.status !== 'claimed') return;
          if (Math.random() < 0.3) return void (await result.claim.release([]));
          if (await result.claim.complete()) done.set(key, (done.get(key) ?? 0) + 1);
        };
        const keys = Array.from({ length: 40 }, (_, index) => `event ${index}`);
        for (let round = 0; done.size < keys.length && round < 30; round += 1)
          await Promise.all(keys.flatMap((key) => [first, second, first].map((each) => deliver(each, key))));
        expect(keys.map((key) => done.get(key))).toEqual(keys.map(() => 1));
      },

      'a letter of one is read, changed, listed, discarded and removed by the other': async () => {
        for (const [index, [one, other]] of [
          [first.letters, second.letters],
          [second.letters, first.letters],
        ].entries() as IterableIterator<[number, [DeadLetterStore, DeadLetterStore]]>) {
          const namespace = `letters ${index}`;
          const issues = [{ path: 'payload.é', message: 'required' }];
          const letter: NewDeadLetter = aLetter({ namespace, issues });
          const id = await one.keep(letter);
          expect(await other.read(id)).toMatchObject({
            ...{ status: 'found', rawBody: letter.rawBody, headers: letter.headers },
            letter: { issues },
          });
          expect(await other.read(id)).toEqual(await one.read(id));
          expect(await other.keep({ ...letter, id: 'another' })).toBe(id);
          await other.update(id, { reason: 'invalid', code: 'EVENT_INVALID', issues: [] });
          const pages = [one, other].map((each) => each.list(queryOf(letter), { limit: 5 }));
          const [page, same] = await Promise.all(pages);
          expect(page).toEqual(same);
          expect(page?.letters).toMatchObject([{ id, reason: 'invalid', attempts: 2 }]);
          // The version before destructures a second argument.
          const remove = other.remove as (letter: NewDeadLetter, scope: object) => unknown;
          expect(await remove.call(other, letter, {})).toBe(1);
          expect(await one.read(id)).toEqual({ status: 'gone' });
          const tombstone = await one.keep(aLetter({ namespace }));
          expect(await other.discard(tombstone, { by: 'ada', because: 'test data' })).toBe(true);
          expect((await one.list({ namespace, discarded: true }, { limit: 5 })).letters).toMatchObject([
            { id: tombstone, discarded: { by: 'ada' } },
          ]);
        }
      },
    };
    // Each has keys of its own. Many deliveries at once leave no connection to the others.
    testAtOnce(
      Object.entries(scenes).map(([name, run]) => ({ name, run })),
      ({ name }) => !name.startsWith('of deliveries'),
    );
  });
});
