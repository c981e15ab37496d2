// Dead letters that retry themselves: when, how often, and what ends it.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import {
  type DeadLetterStore,
  type Handler,
  memoryDeadLetters,
  memoryStore,
  NonRetriableError,
  type Observer,
  type ReceiverOptions,
  RetryAfterError,
  receiver,
} from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { afterwards } from '../setup/afterwards.js';
import { delivery, KEY } from '../setup/delivery.js';
import { startReceiver } from '../setup/endpoint.js';
import { faultyDeadLetters } from '../setup/faulty-dead-letters.js';
import { rejects } from '../setup/faulty-store.js';
import { down } from '../setup/raise.js';
import { unlessStalled, until } from '../setup/waiting.js';

const DELAYS = ['150ms', '250ms', '350ms'];

/** A receiver that redrives, whose handler does what `step` says on each run. */
function start(step: (run: number) => unknown, options: Partial<ReceiverOptions> = {}) {
  const runs: number[] = [];
  const exhausted: object[] = [];
  const handler: Handler = () => {
    runs.push(Date.now());
    return step(runs.length);
  };
  const { hooks, log, letters, post } = startReceiver({
    deadLetters: memoryDeadLetters(),
    redrive: { delays: DELAYS, every: '40ms' },
    handlers: { '*': handler },
    observer: { exhausted: (letter) => void exhausted.push(letter) },
    ...options,
  });
  afterwards(() => hooks.close());
  const errors = () => log.lines.filter(({ level }) => level === 50).map(({ msg }) => msg);
  /** How many letters are left. */
  const left = async () => (await letters()).length;
  return { hooks, runs, exhausted, post, errors, letters, left };
}

const LAST = 'a dead letter was retried for the last time and stays: fix what made it fail, and replay it';

describe('a letter that failed', () => {
  test('is retried after each delay until it succeeds, and never before its time', async () => {
    const { runs, post, left, letters } = start((run) => (run < 3 ? down() : undefined));
    expect((await post()).status).toBe(500);
    const [letter] = await letters();
    const keptAt = Number(letter?.keptAt);
    await until(async () => (await left()) === 0);
    expect(runs).toHaveLength(3);
    expect((runs[1] ?? 0) - keptAt).toBeGreaterThanOrEqual(149);
    expect((runs[2] ?? 0) - keptAt).toBeGreaterThanOrEqual(399);
  });

  test('is retried no more after the last delay: one line at error, one call of the observer; a person can replay it', async () => {
    let isDown = true;
    const { hooks, runs, exhausted, post, errors, letters } = start(() => isDown && down());
    await post();
    await until(() => exhausted.length === 1);
    await pause(200);
    expect(runs).toHaveLength(4);
    const tried = { reason: 'failed', eventName: 'transaction.paid', declared: true, attempts: 4 };
    expect(exhausted).toEqual([{ ...tried, id: expect.any(String) }]);
    expect(errors().filter((message) => message === LAST)).toHaveLength(1);
    const [letter] = await letters();
    expect(letter && hooks.deadLetters?.nextTry(letter)).toBeUndefined();
    isDown = false;
    expect(await hooks.deadLetters?.replay()).toMatchObject({ processed: 1 });
  });

  test.each([
    ['throws', down],
    ['rejects', async () => down()],
  ])('stays when an observer %s as it hears of the last try', async (_how, exhausted) => {
    const { runs, post, errors, left } = start(down, { observer: { exhausted } as Observer });
    await post();
    await until(() => errors().includes('the observer failed'));
    expect([runs.length, await left()]).toEqual([4, 1]);
  });

  test('is retried at the wait that its handler asked for', () =>
    unlessStalled(async () => {
      const waits = [500, 20];
      const step = () => {
        const wait = waits.shift();
        if (wait !== undefined) throw new RetryAfterError(wait);
      };
      const { hooks, runs, post, left, letters } = start(step, {
        redrive: { delays: ['1h'], every: '40ms' },
      });
      expect((await post()).status).toBe(503);
      const [letter] = await letters();
      const next = letter && hooks.deadLetters?.nextTry(letter);
      expect(Number(next) - (runs[0] ?? 0)).toBeGreaterThanOrEqual(500);
      await until(async () => (await left()) === 0);
      expect(runs).toHaveLength(3);
      expect((runs[1] ?? 0) - (runs[0] ?? 0)).toBeGreaterThanOrEqual(499);
      expect((runs[2] ?? 0) - (runs[1] ?? 0)).toBeLessThan(450);
    }));

  test('whose handler always asks to wait is given up too', async () => {
    const { runs, exhausted, post } = start(() => Promise.reject(new RetryAfterError(100)));
    await post();
    await until(() => exhausted.length === 1);
    const most = runs.length;
    await pause(250);
    expect(runs).toHaveLength(most);
    expect(most).toBeGreaterThan(5);
  });

  test('whose handler asks to wait when the last delay has passed meanwhile is given up once', async () => {
    const step = async (run: number) => {
      if (run === 1) down();
      await pause(400);
      throw new RetryAfterError(20);
    };
    const { runs, exhausted, post } = start(step, {
      redrive: { delays: ['50ms', '150ms'], every: '40ms' },
    });
    await post();
    await until(() => exhausted.length > 0);
    await pause(150);
    expect(runs).toHaveLength(2);
    expect(exhausted).toEqual([expect.objectContaining({ attempts: 2 })]);
  });

  test('and so is one whose receiver is closed during its last try', async () => {
    let closed: Promise<void> | undefined;
    const step = async (run: number) => {
      if (run === 1) down();
      closed = hooks.close();
      await pause(300);
      throw new RetryAfterError(20);
    };
    const { hooks, exhausted, post } = start(step, {
      redrive: { delays: ['50ms', '150ms'], every: '40ms' },
    });
    await post();
    await until(() => closed !== undefined);
    await closed;
    expect(exhausted).toHaveLength(1);
  });

  test('whose handler asks to wait is not retried at once, again and again, while the wait cannot be written', async () => {
    const deadLetters = faultyDeadLetters();
    const { runs, post } = start(() => Promise.reject(new RetryAfterError(20)), {
      ...{ deadLetters, redrive: { delays: ['1h'], every: '100ms' } },
    });
    await post();
    deadLetters.faults.update = rejects;
    await pause(550);
    expect(runs.length).toBeGreaterThan(2);
    expect(runs.length).toBeLessThan(9);
  });

  test('whose handler asks for a time in the past is retried only at each look', () =>
    unlessStalled(async () => {
      const { runs, post } = start(() => Promise.reject(new RetryAfterError(new Date(0))), {
        redrive: { delays: ['1h'], every: '100ms' },
      });
      await post();
      await pause(550);
      expect(runs.length).toBeGreaterThan(2);
      expect(runs.length).toBeLessThan(9);
    }));

  test('is retried although the service has retried it more often than there are delays', async () => {
    let isDown = true;
    const { post, runs, left } = start(() => isDown && down());
    const sent = delivery();
    for (let index = 0; index < 6; index += 1) await post(sent);
    isDown = false;
    await until(async () => (await left()) === 0);
    expect(runs).toHaveLength(7);
  });

  test('and also while the store of letters fails in the middle of each look', async () => {
    const deadLetters = faultyDeadLetters();
    let isDown = true;
    const { post, runs } = start(() => isDown && down(), { deadLetters });
    const sent = delivery();
    for (let index = 0; index < 6; index += 1) await post(sent);
    isDown = false;
    let lists = 0;
    deadLetters.faults.list = async (list) => {
      lists += 1;
      // The letters that failed are listed, and then those that are unfinished.
      if (lists % 2 === 0) throw new Error('down');
      return list();
    };
    await until(() => runs.length === 7);
  });

  test('is retried although an older one can never be read, as after damage to its row', async () => {
    const deadLetters = memoryDeadLetters();
    const read = deadLetters.read.bind(deadLetters);
    let unreadable: string | undefined;
    deadLetters.read = async (id) => ((unreadable ?? id) === id ? down() : read(id));
    let isDown = true;
    const { runs, post, left, letters } = start(() => isDown && down(), { deadLetters });
    await post();
    const [damaged] = await letters();
    unreadable = damaged?.id;
    await post();
    isDown = false;
    await until(async () => (await left()) === 1);
    expect(runs).toHaveLength(3);
    expect(await letters()).toEqual([damaged]);
  });

  test('keeps the tries that it has left while the app is stopped', async () => {
    const [deadLetters, store] = [memoryDeadLetters(), memoryStore()];
    const before = start(down, { deadLetters, store });
    await before.post();
    await before.hooks.close();
    await pause(450);
    const { hooks, runs, exhausted } = start(down, { deadLetters, store });
    hooks.start();
    await until(() => exhausted.length === 1);
    expect(runs).toHaveLength(3);
  });

  test('is processed once by three receivers that share their stores', async () => {
    const [deadLetters, store] = [memoryDeadLetters(), memoryStore()];
    let [runs, atOnce] = [0, 0];
    const step = async () => {
      runs += 1;
      atOnce += 1;
      expect(atOnce).toBe(1);
      await pause(20);
      atOnce -= 1;
      if (runs < 3) down();
    };
    const [one, ...others] = [1, 2, 3].map(() => start(step, { deadLetters, store }));
    for (const { hooks } of others) hooks.start();
    await one?.post();
    await until(async () => (await one?.left()) === 0);
    await pause(100);
    expect(runs).toBe(3);
  });
});

describe('redrive', () => {
  test('leaves a letter alone that was refused for good', async () => {
    const refuse = () => Promise.reject(new NonRetriableError());
    const { runs, post, letters } = start((run) => (run === 1 ? down() : refuse()));
    await post();
    await until(async () => (await letters())[0]?.reason === 'rejected');
    await pause(500);
    expect(runs).toHaveLength(2);
  });

  test('retries other reasons too, if it is told to', async () => {
    const deadLetters = memoryDeadLetters();
    const redrive = { delays: DELAYS, every: '40ms', reasons: ['unknown'] } as const;
    await start(() => {}, { deadLetters }).post(delivery(fixtures.event('refund.succeeded', {})));
    const { hooks, left } = start(() => {}, { deadLetters, redrive });
    hooks.onUnknown(() => {});
    hooks.start();
    await until(async () => (await left()) === 0);
  });

  test('begins with start() or the first delivery, and not before', async () => {
    const deadLetters = faultyDeadLetters();
    const { hooks, post } = start(() => {}, { deadLetters });
    await pause(100);
    expect(deadLetters.calls).toEqual([]);
    await post();
    await until(() => deadLetters.calls.includes('list'));
    hooks.start();
  });

  test('ends with close(), which waits for what runs', async () => {
    let running = 0;
    const deadLetters = faultyDeadLetters();
    const step = async (run: number) => {
      if (run === 1) down();
      running += 1;
      await pause(100);
      running -= 1;
    };
    const { hooks, post, runs } = start(step, { deadLetters });
    await post();
    await until(() => runs.length === 2);
    await hooks.close();
    expect(running).toBe(0);
    const { length } = deadLetters.calls;
    await pause(150);
    expect(deadLetters.calls).toHaveLength(length);
  });

  test('does not count letters: in Redis that takes long, and close() would wait for it', async () => {
    const deadLetters = faultyDeadLetters();
    const { post, left } = start((run) => run === 1 && down(), { deadLetters });
    await post();
    await until(async () => (await left()) === 0);
    expect(deadLetters.calls).not.toContain('count');
  });

  test('stops looking for letters when it is closed', async () => {
    const deadLetters = faultyDeadLetters();
    let page = 0;
    deadLetters.faults.list = async () => {
      page += 1;
      await pause(1);
      return { letters: [], next: String(page) };
    };
    const { hooks } = start(() => {}, { deadLetters });
    hooks.start();
    await until(() => page > 2);
    await hooks.close();
  });

  test('goes on when the store of letters was down', async () => {
    const deadLetters = faultyDeadLetters();
    const { post, left } = start((run) => run === 1 && down(), { deadLetters });
    await post();
    deadLetters.faults.list = rejects;
    await pause(200);
    deadLetters.faults.list = undefined;
    await until(async () => (await left()) === 0);
  });

  test('does not carry the async context of the delivery that started it', async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const { post, left } = start((run) => {
      seen.push(context.getStore());
      if (run === 1) down();
    });
    await context.run('request 1', () => post());
    await until(async () => (await left()) === 0);
    expect(seen).toEqual(['request 1', undefined]);
  });

  test.each<[string, unknown, string]>([
    ['no dead letters', true, 'redrive needs the option deadLetters'],
    ['text', 'yes', 'redrive is "yes". Pass true, or an object of delays, reasons, every and concurrency.'],
    ['an unknown option', { delay: 1 }, 'redrive: Unknown option "delay". Did you mean "delays"?'],
    ['no delays', { delays: [] }, "redrive.delays is an array. Pass an array of durations: ['1m', '5m']."],
    ['a wrong delay', { delays: ['1m', 'soon'] }, 'redrive.delays[1] is "soon". Pass milliseconds from 1'],
    [
      'a wrong reason',
      { reasons: ['rejected'] },
      'redrive.reasons[0] is "rejected". Pass "failed", "unfinished", "unknown" or "invalid".',
    ],
    ['a wrong interval', { every: 0 }, 'redrive.every is 0. Pass milliseconds from 1'],
    ['a wrong concurrency', { concurrency: 0 }, 'redrive.concurrency is 0. Pass an integer from 1.'],
  ])('is refused with %s', (what, redrive, message) => {
    const deadLetters = what === 'no dead letters' ? undefined : (memoryDeadLetters() as DeadLetterStore);
    const options = { privateKey: KEY, logger: false, deadLetters, redrive } as unknown as ReceiverOptions;
    expect(() => receiver(options)).toThrow(message);
  });
});
