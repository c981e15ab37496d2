// What holds of `once` on every database and through every client: the writes and their row are in one commit.
import { describe, expect, test } from '@jest/globals';
import type { Once } from 'payment-webhooks/stores/sql';
import type { Claim, HandlerEnd } from '../../src/contracts/idempotency-store.js';
import { gate, until } from '../setup/waiting.js';
import { grantedInTheEnd, type Opened, type World } from './worlds.js';

export const request = { leaseMs: 60_000, fingerprint: 'a'.repeat(12) };
export const BRIEF = { ...request, leaseMs: 1 };
export const FORMS = ['once(work)', 'once(tx, work)'] as const;

/** A claim and what its handler `pay` gets. */
export interface Attempt {
  readonly claim: Claim<{ once: Once<object> }>;
  readonly once: Once<object>;
  end(): HandlerEnd;
}

let made = 0;

/** Attempts at events of a world, and what is committed of them. */
export function attemptsIn(world: World) {
  async function attempt({ store }: Pick<Opened, 'store'>, key: string, given = request): Promise<Attempt> {
    const claim = await grantedInTheEnd(() => store.claim(key, given));
    if (!claim.forHandler) throw new Error('no once');
    const handler = claim.forHandler('pay');
    return { claim, once: handler.context.once, end: () => handler.end(() => {}) };
  }
  return {
    attempt,
    newKey: () => `default:live:once-${world.table}-${++made}`,
    rowOf: (key: string) => world.known(`${key} pay`),
    paying: (key: string) => (tx: object) => world.pay(world.sending(tx), key),
    /** Ends like an attempt that has crashed: another one may begin at once. */
    crashed: async (opened: Opened, key: string, work: (attempt: Attempt) => unknown) => {
      await work(await attempt(opened, key, BRIEF));
      return attempt(opened, key);
    },
    writing:
      (form: (typeof FORMS)[number]) =>
      (opened: Opened, { once }: Attempt, work: (tx: object) => unknown) =>
        form === 'once(work)'
          ? once(work)
          : opened.begin((tx) => once(tx, () => work(tx)) as Promise<unknown>),
  };
}

export function writesOnce(world: World): void {
  const { attempt, newKey, rowOf, paying, crashed, writing } = attemptsIn(world);

  describe.each(FORMS)('%s', (form) => {
    const write = writing(form);

    test('commits the writes with their row, and the event after it', async () => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      await write(opened, first, paying(key));
      expect(first.end()).toEqual({ failure: undefined, wrote: true, skipped: undefined });
      expect([await world.paid(key), await rowOf(key)]).toEqual([1, 1]);
      expect(await first.claim.complete()).toBe(true);
      expect((await opened.store.claim(key, request)).status).toBe('completed');
      await until(() => opened.idle());
    });

    test('skips the work after a crash, and says with which bytes it was committed', async () => {
      const [opened, key] = [world.open(), newKey()];
      const next = await crashed(opened, key, (first) => write(opened, first, paying(key)));
      let ran = false;
      await write(opened, next, () => {
        ran = true;
      });
      expect([ran, await world.paid(key)]).toEqual([false, 1]);
      expect(next.end()).toEqual({ failure: undefined, wrote: true, skipped: request.fingerprint });
      expect(await next.claim.complete()).toBe(true);
    });

    test('commits nothing if the work throws, and writes on the next attempt', async () => {
      const [opened, key] = [world.open(), newKey()];
      const next = await crashed(opened, key, async (first) => {
        const failing = write(opened, first, async (tx) => {
          await paying(key)(tx);
          throw new Error('not yet');
        });
        await expect(failing).rejects.toThrow('not yet');
        expect(first.end().failure).toMatchObject({ message: 'not yet' });
      });
      expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
      await write(opened, next, paying(key));
      expect([await world.paid(key), await rowOf(key)]).toEqual([1, 1]);
    });

    test('commits a statement that the work has sent and does not await', async () => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      await write(opened, first, (tx) => void paying(key)(tx));
      expect([await world.paid(key), await rowOf(key)]).toEqual([1, 1]);
      expect(await first.claim.complete()).toBe(true);
    });

    test('a swallowed failure counts, unless a later call succeeds', async () => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      await Promise.resolve(write(opened, first, () => Promise.reject(new Error('lost')))).catch(() => {});
      await write(opened, first, paying(key));
      expect(first.end()).toMatchObject({ failure: undefined, wrote: true });
      expect([await world.paid(key), await first.claim.complete()]).toEqual([1, true]);
    });

    test.each([
      ['has not committed yet, and then skips the work', undefined],
      ['is rolled back, and then writes', new Error('rolled back')],
    ])('waits for an attempt that %s', async (_, failure) => {
      const [opened, key] = [world.open(), newKey()];
      const [written, ending] = [gate(), gate()];
      let first: Promise<unknown> | undefined;
      const next = await crashed(opened, key, async (each) => {
        const writing = write(opened, each, async (tx) => {
          await paying(key)(tx);
          written.open();
          await ending.opened;
        });
        first = Promise.resolve(writing).then(
          () => undefined,
          (error: unknown) => error,
        );
        await written.opened;
      });
      const second = write(opened, next, paying(key));
      await until(async () => (await world.waiting()) > 0);
      if (failure) ending.fail(failure);
      else ending.open();
      expect(await first).toBe(failure);
      await second;
      const skipped = failure ? undefined : request.fingerprint;
      expect([await world.paid(key), next.end()]).toEqual([1, { failure: undefined, wrote: true, skipped }]);
    });

    test('refuses a second call in one run, on the first attempt and on the next', async () => {
      const [opened, key] = [world.open(), newKey()];
      const twice = async (each: Attempt) => {
        await write(opened, each, paying(key));
        await expect(write(opened, each, paying(key))).rejects.toThrow('called again in one run');
        expect(each.end().failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
      };
      await twice(await crashed(opened, key, twice));
      expect(await world.paid(key)).toBe(1);
    });

    test('runs work again that has ended the transaction itself, and then failed', async () => {
      const [opened, key] = [world.open(), newKey()];
      const next = await crashed(opened, key, async (first) => {
        const ending = write(opened, first, async (tx) => {
          await world.sending(tx)('COMMIT');
          throw new Error('after its own commit');
        });
        await expect(ending).rejects.toThrow('after its own commit');
      });
      expect(await rowOf(key)).toBe(0);
      await write(opened, next, paying(key));
      expect([await world.paid(key), await rowOf(key)]).toEqual([1, 1]);
    });

    test('refuses an array of promises, which nobody awaits', async () => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      // As the queries of many ORMs, which run when they are awaited.
      // biome-ignore lint/suspicious/noThenProperty: a query of an ORM is one
      const lazy = { then: () => {} };
      await expect(write(opened, first, () => [lazy])).rejects.toThrow('returned an array of promises');
      expect(first.end().failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
      expect(await rowOf(key)).toBe(0);
    });

    test('does not look for the writes of a handler that threw', async () => {
      const [opened, key] = [world.open(), newKey()];
      const { claim } = await attempt(opened, key);
      const handler = claim.forHandler?.('pay');
      if (!handler) throw new Error('no once');
      const undone = opened.begin(async (tx) => {
        await handler.context.once(tx, () => paying(key)(tx));
        throw new Error('refused');
      });
      await expect(undone).rejects.toThrow('refused');
      handler.end(() => {}, true);
      expect(await claim.complete()).toBe(true);
    });

    test('keeps the writes of two handlers apart', async () => {
      const [opened, key] = [world.open(), newKey()];
      const first = await attempt(opened, key);
      const other = first.claim.forHandler?.('mail');
      if (!other) throw new Error('no once');
      await write(opened, first, paying(key));
      await write(opened, { ...first, once: other.context.once }, paying(key));
      expect([await world.paid(key), await rowOf(key), await world.known(`${key} mail`)]).toEqual([2, 1, 1]);
      expect(await first.claim.complete()).toBe(true);
    });
  });

  describe('does not write', () => {
    test('its row outside of a transaction: through the pool, or a connection without one', async () => {
      const [opened, key] = [world.open({ max: 1 }), newKey()];
      const first = await attempt(opened, key);
      await expect(first.once(opened.client, paying(key) as () => unknown)).rejects.toThrow(
        'no open transaction',
      );
      expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
      expect(first.end().failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
      await until(() => opened.idle());
    });

    test('anything if it is given no work', async () => {
      const first = await attempt(world.open(), newKey());
      await expect(first.once(undefined as never)).rejects.toThrow(
        'once() was given undefined. Pass a function',
      );
      expect(first.end().failure).toMatchObject({ code: 'CONFIGURATION_INVALID' });
    });
  });

  test('a caught error of the work commits neither its row nor its writes', async () => {
    const [opened, key] = [world.open(), newKey()];
    const first = await attempt(opened, key);
    await Promise.resolve(
      opened.begin(async (tx) => {
        await first
          .once(tx, async () => {
            await paying(key)(tx);
            throw new Error('half done');
          })
          .catch(() => {});
      }),
    ).catch(() => {});
    expect([await world.paid(key), await rowOf(key)]).toEqual([0, 0]);
    expect(first.end().failure).toMatchObject({ message: 'half done' });
  });

  test('completes no event whose writes are not committed, and then names the handler', async () => {
    const [opened, key] = [world.open(), newKey()];
    const first = await attempt(opened, key);
    const [written, held] = [gate(), gate()];
    const committing = opened.begin(async (tx) => {
      await first.once(tx, () => paying(key)(tx));
      written.open();
      await held.opened;
    });
    await written.opened;
    expect(first.end()).toMatchObject({ failure: undefined, wrote: true });
    expect(await first.claim.complete()).toEqual({ uncommitted: ['pay'] });
    expect((await opened.store.claim(key, request)).status).toBe('in_progress');
    held.open();
    await committing;
    expect(await first.claim.complete()).toBe(true);
    expect((await opened.store.claim(key, request)).status).toBe('completed');
  });

  test('completes no event whose writes were rolled back after once() had resolved', async () => {
    const [opened, key] = [world.open(), newKey()];
    const first = await attempt(opened, key);
    const undone = opened.begin(async (tx) => {
      await first.once(tx, () => paying(key)(tx));
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect(await first.claim.complete()).toEqual({ uncommitted: ['pay'] });
    await opened.begin((tx) => first.once(tx, () => paying(key)(tx)) as Promise<unknown>);
    expect([await first.claim.complete(), await world.paid(key)]).toEqual([true, 1]);
  });

  test('says that a handler ended before once() did, and refuses calls after that', async () => {
    const [opened, key] = [world.open(), newKey()];
    const { claim } = await attempt(opened, key);
    const handler = claim.forHandler?.('pay');
    if (!handler) throw new Error('no once');
    const running = handler.context.once(paying(key));
    let late = 0;
    const end = handler.end(() => {
      late += 1;
    });
    expect(end.failure).toMatchObject({ message: expect.stringContaining('Await once()') });
    await running;
    await expect(handler.context.once(paying(key))).rejects.toThrow('after its handler had ended');
    expect([late, await world.paid(key)]).toEqual([1, 1]);
  });

  test('an event whose retention is over is new, and so are its writes', async () => {
    const [opened, key] = [world.open(), newKey()];
    const first = await attempt(opened, key);
    await first.once(paying(key));
    await first.claim.complete();
    await forget(world, key);
    const again = await attempt(opened, key);
    await again.once(paying(key));
    expect([await world.paid(key), await again.claim.complete()]).toEqual([2, true]);
  });

  describe.each([0, 1, 2, 3, 4, 5])('after %i statements of a forget()', (after) => {
    /** Whether that many statements were sent. */
    async function forgetWhile(opened: Opened, key: string, act: () => Promise<unknown>): Promise<boolean> {
      let statements = 0;
      const client = opened.client as Record<string, ((...given: unknown[]) => unknown) | undefined>;
      for (const verb of ['query', 'execute']) {
        const send = client[verb]?.bind(client);
        if (!send) continue;
        client[verb] = async (...given) => {
          if (statements++ === after) await act();
          return send(...given);
        };
      }
      await opened.store.forget?.(key);
      return statements > after;
    }

    test('an attempt that begins then keeps its row', async () => {
      const [opened, elsewhere, key] = [world.open(), world.open(), newKey()];
      await (await attempt(elsewhere, key)).claim.release([]);
      const began = await forgetWhile(opened, key, async () =>
        (await attempt(elsewhere, key)).once(paying(key)),
      );
      expect([await world.paid(key), await rowOf(key)]).toEqual(began ? [1, 1] : [0, 0]);
    });

    test('the row of an attempt that completes then is forgotten with the event, or kept with it', async () => {
      const [opened, elsewhere, key] = [world.open(), world.open(), newKey()];
      const { once, claim } = await attempt(elsewhere, key);
      const complete = async () => {
        await once(paying(key));
        expect(await claim.complete()).toBe(true);
      };
      if (!(await forgetWhile(opened, key, complete))) await complete();
      expect(await rowOf(key)).toBe(await world.known(key));
    });
  });

  test('keeps its row a day longer than the event', async () => {
    const [opened, key] = [world.open(), newKey()];
    const first = await attempt(opened, key);
    await first.once(paying(key));
    await first.claim.complete();
    const days = await keptDays(world, key);
    expect(days.map(Math.round)).toEqual([30, 31]);
  });
}

/** Makes the event and its writes as old as their retention. */
async function forget(world: World, key: string): Promise<void> {
  const { table, keyColumn, placeholder } = world;
  const past = placeholder === '?' ? 'UTC_TIMESTAMP(6) - INTERVAL 1 DAY' : "now() - interval '1 day'";
  for (const each of [key, `${key} pay`])
    await world.observe(`UPDATE ${table} SET forget_at = ${past} WHERE ${keyColumn} = ${placeholder}`, [
      each,
    ]);
}

/** How many days the event and its writes are kept. */
async function keptDays({ observe, table, keyColumn, placeholder }: World, key: string): Promise<number[]> {
  const left =
    placeholder === '?'
      ? 'TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), forget_at)'
      : 'EXTRACT(EPOCH FROM forget_at - now())';
  const days: number[] = [];
  for (const each of [key, `${key} pay`]) {
    const sql = `SELECT ${left} AS n FROM ${table} WHERE ${keyColumn} = ${placeholder}`;
    days.push(Number((await observe(sql, [each]))[0]?.n) / 86_400);
  }
  return days;
}
