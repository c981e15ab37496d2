// What a pool with `pipeline: true` changes: how often a delivery waits, and nothing of what can be lost or done twice.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool, type PoolConfig } from 'pg';
import { needing } from '../setup/platform.js';
import { until } from '../setup/waiting.js';
import { request } from './transactions.js';
import {
  granted,
  grantedInTheEnd,
  known,
  madeLater,
  type PostgresWorld,
  paid,
  pay,
  postgresWorld,
} from './worlds.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';

needing('postgres').describe('a transaction on a pool of pg', () => {
  let made: PostgresWorld | undefined;
  const world = madeLater(() => made);
  beforeAll(async () => {
    made = await postgresWorld('postgresStore', connectionString);
  });
  afterAll(() => made?.close());

  /** A store whose only connection leads through the wire, and has prepared everything. */
  async function through(wire: Wire, config: PoolConfig) {
    const opened = world.open({ ...config, max: 1, connectionString: wire.connectionString });
    await delivered(opened, `${opened.key}:first`);
    return opened;
  }
  async function delivered({ store }: ReturnType<PostgresWorld['open']>, key: string) {
    const claim = granted(await store.claim(key, request));
    await pay(world, world.sending(claim.context.transaction), key);
    return claim.complete();
  }
  /** As a sender retries, on another pool, until it is told that the event is completed. */
  async function retried(key: string) {
    const { store } = world.open({ pipeline: true });
    await until(async () => {
      const result = await store.claim(key, request);
      if (result.status !== 'claimed') return result.status === 'completed';
      await pay(world, world.sending(granted(result).context.transaction), key);
      return result.claim.complete();
    });
  }

  test.each([
    ['with pipeline waits for 2', { pipeline: true }, 2],
    ['without it waits for 4', {}, 4],
  ])('%s round trips beside the one of its handler', async (_, config, turns) => {
    const wire = await startWire();
    const opened = await through(wire, config);
    wire.turns = 0;
    expect(await delivered(opened, opened.key)).toBe(true);
    expect(wire.turns).toBe(turns + 1);
    await wire.close();
  });

  describe.each([
    ['with pipeline', { pipeline: true }],
    ['without it', {}],
  ])('%s, when the connection breaks', (name, config) => {
    test.each(['requests', 'replies'] as const)(
      'after any number of messages of its %s, the event is paid once',
      async (way) => {
        let isOver = false;
        for (let messages = 0; !isOver; messages += 1) {
          const wire = await startWire();
          const opened = await through(wire, config);
          const key = `${opened.key}:${name}:${way}`;
          wire.cutAfter(way, messages);
          const confirmed = await delivered(opened, key).catch(() => false);
          // What was confirmed is there at once. What was not is there as a whole, or not at all.
          if (confirmed) expect([await paid(world, key), await known(world, key)]).toEqual([1, 1]);
          isOver = confirmed && !wire.isCut;
          await retried(key);
          expect([messages, await paid(world, key)]).toEqual([messages, 1]);
          await wire.close();
        }
      },
      120_000,
    );
  });

  /** Calls `change` with what is to be sent, and what sends it. */
  function spied(change: (text: string, send: () => Promise<unknown>) => Promise<unknown>) {
    const opened = world.open({ pipeline: true });
    opened.pool.on('connect', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
      const spy = (...args: unknown[]) => {
        const [given] = args as [string | { text: string }];
        return change(typeof given === 'string' ? given : given.text, () => query(...args));
      };
      Object.assign(client, { query: spy });
    });
    return opened;
  }
  const isMark = (text: string) => text.startsWith('\nUPDATE');

  test.each<[string, (send: () => Promise<unknown>) => Promise<unknown>]>([
    ['is never sent', () => new Promise(() => {})],
    ['fails before it is sent', async () => Promise.reject(new Error('not sent'))],
    ['is answered, but was never sent', async () => ({ rows: [{}], rowCount: 1, command: 'UPDATE' })],
    ['comes after the commit', (send) => new Promise((sent) => setTimeout(sent, 50)).then(send)],
  ])('is not committed when the statement that completes its claim %s', async (_, change) => {
    const { store, key, idle } = spied((text, send) => (isMark(text) ? change(send) : send()));
    const claim = granted(await store.claim(key, request));
    await pay(world, world.sending(claim.context.transaction), key);
    await expect(claim.complete()).rejects.toThrow();
    await until(idle);
    expect([await paid(world, key), await known(world, key)]).toEqual([0, 0]);
  });

  test('claims nothing before it has begun, on a new connection as on one that had a transaction', async () => {
    let late = true;
    const { store, key, idle } = spied((text, send) =>
      late && text.startsWith('BEGIN') ? new Promise((sent) => setTimeout(sent, 50)).then(send) : send(),
    );
    const refused = async () => {
      await expect(store.claim(key, request)).rejects.toThrow(
        /payment_webhooks\.lock_timeout|"lock_timeout"/,
      );
      await until(idle);
      expect(await known(world, key)).toBe(0);
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
    await pay(world, send, key);
    await send('ROLLBACK');
    await send('BEGIN');
    await pay(world, send, key);
    await expect(claim.complete()).rejects.toThrow('A handler has ended the transaction');
    await until(idle);
    expect([pool.totalCount, await paid(world, key), await known(world, key)]).toEqual([0, 0, 0]);
  });

  test('when somebody took its event over after a handler had committed, it commits nothing more', async () => {
    const { store, leased, key, idle } = world.open({ pipeline: true });
    const claim = granted(await store.claim(key, { ...request, leaseMs: 400 }));
    const send = world.sending(claim.context.transaction);
    await send('COMMIT');
    await send('BEGIN');
    await pay(world, send, key);
    const thief = await grantedInTheEnd(() => leased().claim(key, { ...request, leaseMs: 60_000 }));
    await expect((async () => claim.complete())()).rejects.toThrow();
    await until(idle);
    expect([await paid(world, key), await thief.complete()]).toEqual([0, true]);
  });

  test('ends with its lease although a statement of its handler hangs', async () => {
    const { statement, letGo } = await world.holding();
    const { store, key, pool, idle } = world.open({ max: 1, pipeline: true });
    const claim = granted(await store.claim(key, { ...request, leaseMs: 1_000 }));
    await expect(world.sending(claim.context.transaction)(statement)).rejects.toThrow(/terminated/);
    await until(idle);
    expect(pool.totalCount).toBe(0);
    await letGo();
    await retried(key);
    expect(await paid(world, key)).toBe(1);
  });

  test('takes a late query of a handler into its transaction or not at all, whenever it is completed', async () => {
    const id = 'SELECT pg_current_xact_id()::text AS id';
    for (let ticks = 0; ticks < 24; ticks += 1) {
      let complete = () => {};
      const { store, key } = spied(async (text, send) => {
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
    }
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

interface Wire {
  readonly connectionString: string;
  /** How often a client that had been answered sent something. */
  turns: number;
  readonly isCut: boolean;
  /** Breaks the connection after so many more messages have passed this way. */
  cutAfter(way: 'requests' | 'replies', messages: number): void;
  close(): Promise<void>;
}

/** The way to Postgres, message by message. */
async function startWire(): Promise<Wire> {
  const target = new URL(connectionString);
  const sockets = new Set<Socket>();
  const left = { requests: Number.POSITIVE_INFINITY, replies: Number.POSITIVE_INFINITY };
  let isCut = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    let answered = true;
    const pass = (way: 'requests' | 'replies', from: Socket, to: Socket, typed: number) => {
      const split = splitter(typed);
      from.on('data', (chunk) => {
        if (way === 'replies') answered = true;
        else if (answered) {
          answered = false;
          wire.turns += 1;
        }
        for (const message of split(chunk)) {
          if (isCut) return;
          if (left[way] <= 0) {
            isCut = true;
            // What has passed is still delivered.
            near.end();
            far.end();
            return;
          }
          left[way] -= 1;
          to.write(message);
        }
      });
      from.on('error', () => {});
      from.on('close', () => to.destroy());
      sockets.add(from);
    };
    pass('requests', near, far, 0);
    pass('replies', far, near, 1);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  target.port = String((server.address() as AddressInfo).port);
  const wire: Wire = {
    connectionString: target.href,
    turns: 0,
    get isCut() {
      return isCut;
    },
    cutAfter: (way, messages) => {
      left[way] = messages;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
  target.port = new URL(connectionString).port;
  return wire;
}

/** Every message begins with a letter and its length, but the first that a client sends. */
function splitter(first: number): (chunk: Buffer) => Buffer[] {
  let typed = first;
  let rest = Buffer.alloc(0);
  return (chunk) => {
    const messages: Buffer[] = [];
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= typed + 4 && rest.length >= typed + rest.readInt32BE(typed)) {
      const length = typed + rest.readInt32BE(typed);
      messages.push(rest.subarray(0, length));
      rest = rest.subarray(length);
      typed = 1;
    }
    return messages;
  };
}
