// A network that swallows packets while a handler runs in its transaction: the handler is told before a retry can run.
import { expect, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { startProxy } from '../faults/faulty-proxy.js';
import { testAtOnce } from '../setup/at-once.js';
import { KEY, receivable } from '../setup/delivery.js';
import { ownMariadb, withMariadb } from '../setup/own-mariadb.js';
import { needing } from '../setup/platform.js';
import { gate, unlessStalled, until } from '../setup/waiting.js';
import {
  BY_PG,
  type Given,
  mariadbWorld,
  ownWorld,
  type PoolOptions,
  postgresWorld,
  type Send,
  spyOnQueries,
  type World,
} from './worlds.js';

const LEASE_MS = 2_000;

type Handle = (send: Send) => Promise<void>;

/** Where one handler runs and its retries come, as two processes do. */
interface Scene {
  readonly happened: string[];
  /** Until it resolves, a handler that obeys no signal goes on. */
  readonly over: Promise<void>;
  /** From now on the network swallows every packet. */
  silence(): void;
  /** Resolves when the handler runs. */
  start(handle: Handle): Promise<void>;
  first(handle: Handle): Promise<number>;
  retry(): Promise<number>;
}

async function play(world: World, act: (scene: Scene) => Promise<void>, options: PoolOptions): Promise<void> {
  const proxy = await startProxy(Number(new URL(world.url).port));
  const happened: string[] = [];
  const [started, over] = [gate(), gate()];
  let handle: Handle = async () => {};
  const receiverOn = (
    { store }: ReturnType<World['open']>,
    work: (transaction: object, signal: AbortSignal) => unknown,
  ) =>
    receiver<{}, Given>({
      ...{ privateKey: KEY, store, logger: false, lease: LEASE_MS, storeTimeout: 1_900, timeout: 60_000 },
    }).on('transaction.paid', async (_, { transaction, signal }) => void (await work(transaction, signal)));
  const ours = receiverOn(world.open({ port: proxy.port, ...options }), async (transaction, signal) => {
    signal.addEventListener('abort', () => happened.push('told'));
    started.open();
    await handle(world.sending(transaction));
  });
  const other = receiverOn(world.open(), () => happened.push('retried'));
  const sent = receivable();
  const first = async (work: Handle) => {
    handle = work;
    return (await ours.receive(sent)).status;
  };
  try {
    await act({
      ...{ happened, over: over.opened, first },
      silence: () => proxy.set('black hole'),
      start: async (work) => {
        void first(work);
        await started.opened;
      },
      retry: async () => (await other.receive(sent)).status,
    });
  } finally {
    over.open();
    await proxy.close();
  }
}

needing('postgres').describe.each(BY_PG)('in Postgres, through %s', (by) => {
  staysApart(ownWorld(() => postgresWorld(by)));
});

needing('postgres').describe('the lease of a silent transaction', () => {
  const world = ownWorld(() => postgresWorld('postgresStore'));

  // Where two timers of one millisecond decide, many transactions at once see both orders.
  test(
    'ends for every handler before the store gives its connection back',
    () =>
      unlessStalled(async () => {
        const playOne = async (): Promise<string[]> => {
          const happened: string[] = [];
          const [over, renewed] = [gate(), gate()];
          const proxy = await startProxy(Number(new URL(world.url).port));
          const { store, pool } = world.open({ port: proxy.port, alone: true, max: 2 });
          spyOnQueries(pool, async ({ text }, send) => {
            const reply = await send();
            if (text.startsWith("SELECT set_config('idle_in_transaction")) renewed.open();
            return reply;
          });
          pool.on('release', () => {
            happened.push('freed');
            over.open();
          });
          const times = { lease: 1_000, storeTimeout: 900, timeout: 60_000 };
          const hooks = receiver<{}, Given>({ privateKey: KEY, store, logger: false, ...times });
          hooks.on('transaction.paid', async (_, { signal }) => {
            signal.addEventListener('abort', () => happened.push('told'));
            // From then on both deadlines count from the same renewal.
            await renewed.opened;
            proxy.set('black hole');
            await over.opened;
          });
          await hooks.receive(receivable());
          await proxy.close();
          return happened;
        };
        const all = await Promise.all(Array.from({ length: 12 }, playOne));
        expect(all).toEqual(all.map(() => ['told', 'freed']));
      }),
    60_000,
  );
});

withMariadb('in MariaDB, where an idle transaction ends after two seconds', () => {
  const mariadb = ownMariadb(['--idle-transaction-timeout=2']);
  staysApart(ownWorld(() => mariadbWorld(mariadb, 'execute')));
});

function staysApart(world: World): void {
  const scenes: readonly (readonly [
    name: string,
    act: (scene: Scene) => Promise<void>,
    options?: PoolOptions,
  ])[] = [
    [
      'an idle handler is told before its retry runs',
      async ({ happened, over, silence, start, retry }) => {
        await start(() => {
          silence();
          return over;
        });
        await until(async () => (await retry()) === 200);
        expect(happened).toEqual(['told', 'retried']);
      },
    ],
    [
      'a handler whose statement is never answered is told before its retry runs',
      async ({ happened, over, silence, start, retry }) => {
        const statement = world.sleep(0.731);
        await start(async (send) => {
          void send(statement).catch(() => {});
          await until(() => world.executes(statement));
          silence();
          await over;
        });
        await until(async () => (await retry()) === 200);
        expect(happened).toEqual(['told', 'retried']);
      },
    ],
    [
      'where only its own connection is silent, it has time while the server executes its statement',
      async ({ happened, over, silence, start, retry }) => {
        const statement = world.sleep(LEASE_MS / 500 + 0.317);
        await start(async (send) => {
          void send(statement).catch(() => {});
          await until(() => world.executes(statement));
          silence();
          void until(async () => !(await world.executes(statement))).then(() => happened.push('executed'));
          await over;
        });
        await until(async () => (await retry()) === 200);
        expect(happened).toEqual(['executed', 'told', 'retried']);
      },
      { alone: true },
    ],
    [
      'a statement longer than the lease is no reason to abort, and neither are very many short ones',
      async ({ happened, first, retry }) => {
        const status = await first(async (send) => {
          await send(world.sleep(LEASE_MS / 1_000 + 0.5));
          for (const end = performance.now() + LEASE_MS + 500; performance.now() < end; )
            await send('SELECT 1');
        });
        expect([status, await retry(), happened]).toEqual([200, 200, []]);
      },
    ],
    [
      'a statement longer than the lease is aborted where the pool has no connection left to ask on',
      async ({ happened, first, retry }) => {
        const status = await first(async (send) => {
          await send(world.sleep(LEASE_MS / 500));
          happened.push('executed');
        });
        expect(status).toBeGreaterThanOrEqual(500);
        await until(async () => (await retry()) === 200);
        expect([happened[0], happened.at(-1)]).toEqual(['told', 'retried']);
      },
      { max: 1 },
    ],
  ];
  testAtOnce(
    scenes.map(([name, act, options = {}]) => ({
      name,
      run: () => unlessStalled(() => play(world, act, options)),
    })),
  );
}
