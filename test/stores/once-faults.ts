// What holds of `once` when transactions end in other ways than it planned: nothing is written twice, or lost.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type FaultyProxy, startProxy } from '../lab/faults/faulty-proxy.js';
import { gate, until } from '../setup/waiting.js';
import { type Attempt, attemptsIn, BRIEF, FORMS } from './once.js';
import type { Opened, PoolOptions, World } from './worlds.js';

export const ISOLATIONS = ['read committed', 'repeatable read', 'serializable'] as const;

/** A transaction that lost against another one: all of it is rolled back, and its retry succeeds. */
const CONFLICT = /could not serialize|Deadlock found|Record has changed/;

const settled = (work: unknown) =>
  Promise.resolve(work).then(
    () => undefined,
    (error: Error) => error.message,
  );

/** Runs `act` when the client of a transaction is about to send its COMMIT. */
function beforeCommit(transaction: object, act: () => void): void {
  const client = transaction as Record<'query' | 'commit', ((...given: unknown[]) => unknown) | undefined>;
  for (const verb of ['query', 'commit'] as const) {
    const send = client[verb]?.bind(client);
    if (!send) continue;
    client[verb] = (...given) => {
      if (verb === 'commit' || /COMMIT/.test(JSON.stringify(given[0]))) act();
      return send(...given);
    };
  }
}

/** As the sender's retries do, until the writes are committed. @returns the payments and the rows of the event */
function payingInTheEnd(world: World) {
  const { attempt, rowOf, paying, writing } = attemptsIn(world);
  return async (opened: Opened, key: string, form: (typeof FORMS)[number]) => {
    await until(async () => {
      const each = await attempt(opened, key, BRIEF);
      return (await settled(writing(form)(opened, each, paying(key)))) === undefined;
    });
    return [await world.paid(key), await rowOf(key)];
  };
}

export function survivesFaults(world: World): void {
  const { attempt, newKey, rowOf, paying, crashed, writing } = attemptsIn(world);
  let proxy: FaultyProxy;
  beforeAll(async () => {
    proxy = await startProxy(Number(new URL(world.url).port));
  });
  afterAll(() => proxy.close());

  const paidInTheEnd = payingInTheEnd(world);

  /** In MySQL once() looks for its row after the work. In Postgres, where nothing ends a transaction by itself, the completion does. */
  const expectFailed = async (first: Attempt, failure: Promise<string | undefined>) => {
    if (world.placeholder !== '?') {
      expect(await failure).toBeUndefined();
      expect(await first.claim.complete()).toEqual({ uncommitted: ['pay'] });
      return;
    }
    expect(await failure).toContain('ended before its work did');
    expect(first.end().failure).toMatchObject({ name: 'StoreError' });
  };

  describe.each(FORMS)('%s', (form) => {
    const write = writing(form);

    test('commits nothing if its connection breaks, and writes on the next attempt', async () => {
      const [opened, key] = [world.open(), newKey()];
      const next = await crashed(opened, key, async (first) => {
        const broken = write(opened, first, async (tx) => {
          await paying(key)(tx);
          await world.terminate(tx);
        });
        expect(await settled(broken)).toEqual(expect.any(String));
      });
      expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
      await write(opened, next, paying(key));
      expect([await world.paid(key), await next.claim.complete()]).toEqual([1, true]);
      await until(opened.idle);
    });

    test.each([
      ['was carried out', 'no replies', 1],
      ['never arrives', 'black hole', 0],
    ] as const)('whose COMMIT %s, but is not answered, is written once', async (_, fault, committed) => {
      const [opened, key] = [world.open({ port: proxy.port }), newKey()];
      const next = await crashed(opened, key, async (first) => {
        let sent = false;
        const unknown = settled(
          write(opened, first, async (tx) => {
            await paying(key)(tx);
            beforeCommit(tx, () => {
              proxy.set(fault);
              sent = true;
            });
          }),
        );
        await until(async () => sent && (await world.paid(key)) === committed);
        proxy.set('cut');
        expect(await unknown).toEqual(expect.any(String));
        proxy.set('open');
      });
      let ran = false;
      await write(opened, next, async (tx) => {
        ran = true;
        await paying(key)(tx);
      });
      expect([ran, await world.paid(key), await rowOf(key)]).toEqual([committed === 0, 1, 1]);
      expect(await next.claim.complete()).toBe(true);
    });

    test('in a network that fell silent lets the next attempt write once the server has ended it', async () => {
      const [silent, opened, key] = [world.open({ port: proxy.port }), world.open(), newKey()];
      const first = await attempt(silent, key, BRIEF);
      let isSilent = false;
      const lost = settled(
        write(silent, first, async (tx) => {
          await paying(key)(tx);
          await world.sending(tx)(world.limitIdle);
          proxy.set('black hole');
          isSilent = true;
        }),
      );
      await until(() => isSilent);
      expect(await paidInTheEnd(opened, key, form)).toEqual([1, 1]);
      proxy.set('cut');
      expect(await lost).toEqual(expect.any(String));
      proxy.set('open');
    });

    test('that is undone by the handler itself completes no event', async () => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      const undone = settled(
        write(opened, first, async (tx) => {
          await paying(key)(tx);
          await world.sending(tx)('ROLLBACK');
        }),
      );
      await expectFailed(first, undone);
      expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
    });

    // What it writes then is committed without the row, and may be written again: docs/receive.md forbids it.
    test.each([
      ['ROLLBACK and BEGIN', ['ROLLBACK', 'BEGIN']],
      ['ROLLBACK AND CHAIN', ['ROLLBACK AND CHAIN']],
    ])('whose work begins another transaction by %s completes no event', async (_, statements) => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      const ended = settled(
        write(opened, first, async (tx) => {
          for (const statement of statements) await world.sending(tx)(statement);
          await paying(key)(tx);
        }),
      );
      await expectFailed(first, ended);
      expect(await rowOf(key)).toBe(0);
    });

    test('with several statements at once, of which the first fails, commits none, though the handler goes on', async () => {
      const [opened, key] = [world.open(), newKey()];
      const { once } = await attempt(opened, key);
      const work = (tx: object) =>
        Promise.all([
          world.sending(tx)('SELECT * FROM no_such_table'),
          ...Array.from({ length: 5 }, () => paying(key)(tx)),
        ]);
      // The others still wait for their answers when it fails.
      let failure: string | undefined;
      if (form === 'once(work)') failure = await settled(once(work));
      else
        await opened.begin(async (tx) => {
          failure = await settled(once(tx, () => work(tx)));
        });
      expect(failure).toMatch(/no_such_table/);
      await until(opened.idle);
      expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
    });

    test('that is committed by the handler itself is written once', async () => {
      const [opened, key] = [world.open(), newKey()];
      const commits = async (tx: object) => {
        await paying(key)(tx);
        await world.sending(tx)('COMMIT');
      };
      const next = await crashed(opened, key, (first) => write(opened, first, commits));
      await write(opened, next, commits);
      expect([await world.paid(key), await next.claim.complete()]).toEqual([1, true]);
    });

    test('keeps what the handler undoes by its own savepoint apart from the rest', async () => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      await write(opened, first, async (tx) => {
        const send = world.sending(tx);
        await paying(key)(tx);
        await send('SAVEPOINT mine');
        await paying(key)(tx);
        await send('SELECT * FROM no_such_table').catch(() => {});
        await send('ROLLBACK TO SAVEPOINT mine');
        await send('SAVEPOINT left_open');
      });
      expect([await world.paid(key), await first.claim.complete()]).toEqual([1, true]);
    });

    test('of three overlapping attempts at each of 20 events, some of which fail, leaves one payment each', async () => {
      const [opened, key] = [world.open({ max: 20 }), newKey()];
      const events = Array.from({ length: 60 }, (_, index) => `${key}:${index % 20}`);
      await Promise.all(
        events.map(async (event) => {
          const each = await attempt(opened, event, BRIEF);
          await settled(
            write(opened, each, async (tx) => {
              await paying(event)(tx);
              if (Math.random() < 0.3) throw new Error('failed');
            }),
          );
        }),
      );
      for (const event of new Set(events)) expect(await paidInTheEnd(opened, event, form)).toEqual([1, 1]);
      await until(opened.idle);
    });
  });

  test('is undone with the savepoint that the handler had set around it', async () => {
    const [opened, key] = [world.open(), newKey()];
    const first = await attempt(opened, key);
    await opened.begin(async (tx) => {
      const send = world.sending(tx);
      await send('SAVEPOINT around');
      await first.once(tx, () => paying(key)(tx));
      await send('ROLLBACK TO SAVEPOINT around');
    });
    expect(await first.claim.complete()).toEqual({ uncommitted: ['pay'] });
    await opened.begin(async (tx) => {
      const send = world.sending(tx);
      await send('SAVEPOINT around');
      await first.once(tx, () => paying(key)(tx));
      await send('RELEASE SAVEPOINT around');
    });
    expect([await world.paid(key), await first.claim.complete()]).toEqual([1, true]);
  });

  test('a handler that begins again after a commit that it takes for failed is refused, and written once', async () => {
    const [opened, key] = [world.open(), newKey()];
    const next = await crashed(opened, key, async (first) => {
      const pay = () => opened.begin((tx) => first.once(tx, () => paying(key)(tx)) as Promise<unknown>);
      await pay();
      await expect(pay()).rejects.toThrow('called again in one run');
    });
    await next.once(paying(key));
    expect([await world.paid(key), await next.claim.complete()]).toEqual([1, true]);
  });
}

/** What every isolation level keeps, also where it makes a transaction fail. */
export function overlapsAsPromised(world: World): void {
  const { attempt, newKey, paying, writing } = attemptsIn(world);
  const paidInTheEnd = payingInTheEnd(world);

  describe.each(FORMS)('%s', (form) => {
    const write = writing(form);

    describe.each(ISOLATIONS)('with transactions that are %s', (isolation) => {
      const options: PoolOptions = { isolation, max: 20 };

      test('is written by one of many attempts at once', async () => {
        const [opened, key] = [world.open(options), newKey()];
        const attempts = Array.from({ length: 6 }, async () => {
          const each = await attempt(opened, key, BRIEF);
          return settled(write(opened, each, paying(key)));
        });
        for (const failure of await Promise.all(attempts)) if (failure) expect(failure).toMatch(CONFLICT);
        expect(await paidInTheEnd(opened, key, form)).toEqual([1, 1]);
      });

      test('is skipped, or fails and is then skipped, by a transaction that waited for the first', async () => {
        const [opened, key] = [world.open(options), newKey()];
        const [written, committing] = [gate(), gate()];
        const [one, other] = [await attempt(opened, key, BRIEF), await attempt(opened, key, BRIEF)];
        const first = settled(
          write(opened, one, async (tx) => {
            await paying(key)(tx);
            written.open();
            await committing.opened;
          }),
        );
        await written.opened;
        const second = settled(write(opened, other, paying(key)));
        await until(async () => (await world.waiting()) > 0);
        committing.open();
        for (const failure of await Promise.all([first, second]))
          if (failure) expect(failure).toMatch(CONFLICT);
        expect(await paidInTheEnd(opened, key, form)).toEqual([1, 1]);
      });
    });
  });

  test.each(ISOLATIONS)(
    'is not written by a transaction that is %s and had read before the first one committed',
    async (isolation) => {
      const [opened, key] = [world.open({ isolation }), newKey()];
      const next = await attempt(opened, key, BRIEF);
      const late = settled(
        opened.begin(async (tx) => {
          await world.sending(tx)(`SELECT count(*) AS n FROM ${world.table} WHERE ${world.keyColumn} = ''`);
          const first = await attempt(opened, key, BRIEF);
          await first.once(paying(key));
          await next.once(tx, () => paying(key)(tx));
        }),
      );
      const failure = await late;
      if (failure) expect(failure).toMatch(CONFLICT);
      expect(await paidInTheEnd(opened, key, 'once(tx, work)')).toEqual([1, 1]);
    },
  );
}
