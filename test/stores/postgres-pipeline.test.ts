// What a pool with `pipeline: true` changes: how often a delivery waits, and nothing of what can be lost or done twice.
import { describe, expect, test } from '@jest/globals';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool, type PoolConfig } from 'pg';
import { needing } from '../setup/platform.js';
import { until } from '../setup/waiting.js';
import { startWire, type Wire } from './postgres-wire.js';
import { claimed, request } from './transactions.js';
import {
  connectionString,
  granted,
  grantedInTheEnd,
  ownWorld,
  type PostgresWorld,
  postgresWorld,
  spyOnQueries,
} from './worlds.js';

/** Connections that are cut at the same time. */
const AT_ONCE = 8;

needing('postgres').describe('a transaction on a pool of pg', () => {
  const world = ownWorld(() => postgresWorld('postgresStore'));

  /** A store whose only connection leads through the wire, and has prepared everything. */
  async function through(wire: Wire, config: PoolConfig) {
    const opened = world.open({ ...config, max: 1, connectionString: wire.connectionString });
    await delivered(opened, `${opened.key}:first`);
    return opened;
  }
  async function delivered({ store }: ReturnType<PostgresWorld['open']>, key: string) {
    const claim = granted(await store.claim(key, request));
    await world.pay(world.sending(claim.context.transaction), key);
    return claim.complete();
  }
  let elsewhere: ReturnType<PostgresWorld['open']> | undefined;
  /** As a sender retries, on another pool, until it is told that the event is completed. */
  async function retried(key: string) {
    elsewhere ??= world.open({ pipeline: true, max: AT_ONCE });
    const { store } = elsewhere;
    await until(async () => {
      const result = await store.claim(key, request);
      if (result.status !== 'claimed') return result.status === 'completed';
      await world.pay(world.sending(granted(result).context.transaction), key);
      return result.claim.complete();
    });
  }

  test.each([
    [true, 2],
    [false, 4],
  ])('with pipeline: %s waits for %i round trips beside the one of its handler', async (pipeline, turns) => {
    const wire = await startWire(connectionString);
    const opened = await through(wire, { pipeline });
    wire.turns = 0;
    expect(await delivered(opened, opened.key)).toBe(true);
    expect(wire.turns).toBe(turns + 1);
    await wire.close();
  });

  describe.each([true, false])('with pipeline: %s, when the connection breaks', (pipeline) => {
    test.each(['requests', 'replies'] as const)(
      'after any number of messages of its %s, the event is paid once',
      async (way) => {
        /** Whether all was over before so many messages had passed. */
        const isOverAfter = async (messages: number) => {
          const wire = await startWire(connectionString);
          const opened = await through(wire, { pipeline });
          const key = `${opened.key}:${pipeline}:${way}`;
          wire.cutAfter(way, messages);
          const confirmed = await delivered(opened, key).catch(() => false);
          // What was confirmed is there at once. What was not is there as a whole, or not at all.
          if (confirmed) expect([await world.paid(key), await world.known(key)]).toEqual([1, 1]);
          const { isCut } = wire;
          await retried(key);
          expect([messages, await world.paid(key)]).toEqual([messages, 1]);
          await wire.close();
          return confirmed && !isCut;
        };
        for (let from = 0, isOver = false; !isOver; from += AT_ONCE) {
          const together = Array.from({ length: AT_ONCE }, (_, index) => isOverAfter(from + index));
          isOver = (await Promise.all(together)).every(Boolean);
        }
      },
      120_000,
    );
  });

  function spied(spy: Parameters<typeof spyOnQueries>[1]) {
    const opened = world.open({ pipeline: true });
    spyOnQueries(opened.pool, spy);
    return opened;
  }
  const isMark = (text: string) => text.startsWith('\nUPDATE');

  test.each<[string, (send: () => Promise<unknown>) => Promise<unknown>]>([
    ['is never sent', () => new Promise(() => {})],
    ['fails before it is sent', async () => Promise.reject(new Error('not sent'))],
    ['is answered, but was never sent', async () => ({ rows: [{}], rowCount: 1, command: 'UPDATE' })],
    ['comes after the commit', (send) => new Promise((sent) => setTimeout(sent, 50)).then(send)],
  ])('is not committed when the statement that completes its claim %s', async (_, change) => {
    const { store, key, idle } = spied(({ text }, send) => (isMark(text) ? change(send) : send()));
    const claim = granted(await store.claim(key, request));
    await world.pay(world.sending(claim.context.transaction), key);
    await expect(claim.complete()).rejects.toThrow();
    await until(idle);
    expect([await world.paid(key), await world.known(key)]).toEqual([0, 0]);
  });

  test('claims nothing before it has begun, on a new connection as on one that had a transaction', async () => {
    let late = true;
    const { store, key, idle } = spied(({ text }, send) =>
      late && text.startsWith('BEGIN') ? new Promise((sent) => setTimeout(sent, 50)).then(send) : send(),
    );
    const refused = async () => {
      const claiming = store.claim(key, request);
      await expect(claiming).rejects.toThrow(/payment_webhooks\.lock_timeout|"lock_timeout"/);
      await until(idle);
      expect(await world.known(key)).toBe(0);
    };
    await refused();
    late = false;
    await granted(await store.claim(key, request)).release([]);
    late = true;
    await refused();
  });

  test('is not committed when another transaction has completed another claim on the same connection', async () => {
    const { store, key, pool, idle } = world.open({ max: 1, pipeline: true });
    expect(await granted(await store.claim(`${key}:before`, request)).complete()).toBe(true);
    const claim = granted(await store.claim(key, request));
    const send = world.sending(claim.context.transaction);
    await world.pay(send, key);
    await send('ROLLBACK');
    await send('BEGIN');
    await world.pay(send, key);
    await expect(claim.complete()).rejects.toThrow('A handler has ended the transaction');
    await until(idle);
    expect([pool.totalCount, await world.paid(key), await world.known(key)]).toEqual([0, 0, 0]);
  });

  test('when somebody took its event over after a handler had committed, it commits nothing more', async () => {
    const { leased, key, idle, claim, send } = await claimed(world, { pipeline: true, leaseMs: 400 });
    await send('COMMIT');
    await send('BEGIN');
    await world.pay(send, key);
    const thief = await grantedInTheEnd(() => leased().claim(key, { ...request, leaseMs: 60_000 }));
    await expect((async () => claim.complete())()).rejects.toThrow();
    await until(idle);
    expect([await world.paid(key), await thief.complete()]).toEqual([0, true]);
  });

  test('ends with its lease although a statement of its handler hangs', async () => {
    const { statement, letGo } = await world.holding();
    const { key, pool, idle, send } = await claimed(world, { max: 1, pipeline: true, leaseMs: 1_000 });
    await expect(send(statement)).rejects.toThrow(/terminated/);
    await until(idle);
    expect(pool.totalCount).toBe(0);
    await letGo();
    await retried(key);
    expect(await world.paid(key)).toBe(1);
  });

  test('takes a late query of a handler into its transaction or not at all, whenever it is completed', async () => {
    const id = 'SELECT pg_current_xact_id()::text AS id';
    const completedAfter = async (ticks: number) => {
      let complete = () => {};
      const { store, key } = spied(async ({ text }, send) => {
        const reply = await send();
        if (text.startsWith("SELECT set_config('idle_in_transaction")) complete();
        return reply;
      });
      const claim = granted(await store.claim(`${key}:late`, request));
      const send = world.sending(claim.context.transaction);
      const [before] = await send(id);
      const completed = new Promise<boolean>((resolve) => {
        complete = async () => {
          for (let tick = 0; tick < ticks; tick += 1) await undefined;
          resolve(claim.complete());
        };
      });
      const renewed = claim.renew(30_000);
      const late = await send(id).catch(() => []);
      expect([await completed, late[0] ?? before]).toEqual([true, before]);
      await renewed;
    };
    await Promise.all(Array.from({ length: 24 }, (_, ticks) => completedAfter(ticks)));
  });

  test('does not pipeline on a client whose socket it cannot destroy, such as that of pg-native', async () => {
    const pool = new Pool({ connectionString, max: 1 });
    const sent: string[] = [];
    const watched = {
      query: pool.query.bind(pool),
      on: () => {},
      connect: async () => {
        const client = await pool.connect();
        return {
          ...{ pipeline: true, readyForQuery: true, on: () => {}, removeListener: () => {} },
          release: () => client.release(),
          query: async (query: { text: string }) => {
            sent.push(query.text);
            const reply = await client.query(query);
            sent.push('answered');
            return reply;
          },
        };
      },
    };
    const store = postgresStore({ pool: watched as never, table: world.table, transactional: true });
    expect(await granted(await store.claim('not pipelined', request)).complete()).toBe(true);
    expect(sent.filter((_, index) => index % 2).every((word) => word === 'answered')).toBe(true);
    expect(sent.at(-2)).toBe('COMMIT');
    await pool.end();
  });
});
