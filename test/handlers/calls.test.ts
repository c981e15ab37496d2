// The call of a handler: when its turn comes, what the log says when it does not come, and what ends with it.
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import {
  type HandlerContext,
  type IdempotencyStore,
  memoryStore,
  type Observer,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { delivery, KEY } from '../setup/delivery.js';
import { failed, processed, startEndpoint } from '../setup/endpoint.js';
import { faultyStore } from '../setup/faulty-store.js';
import { gate, until } from '../setup/waiting.js';

/** All handlers of these tests wait for one another. */
const serial = () => 'one';

const start = (options: ReceiverOptions = {}) =>
  startEndpoint({ handlers: {}, ...options }, { framework: 'node:http' });

/** Nothing else runs in this process meanwhile, no timer either. */
function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

test('a handler without a name runs, whatever a store says of those that have finished', async () => {
  const finished = [undefined, null, '', '*'] as unknown as string[];
  const handler = jest.fn();
  const endpoint = await start({
    store: faultyStore({}, { more: { finished } }),
    handlers: { '*': handler },
  });
  expect(await endpoint.post()).toMatchObject(processed);
  expect(handler).toHaveBeenCalledTimes(1);
});

test('only handlers with a name are remembered as finished', async () => {
  const remembered: unknown[] = [];
  const store: IdempotencyStore = {
    claim: () => ({
      status: 'claimed',
      claim: {
        attempt: 1,
        finished: [],
        renew: () => true,
        complete: () => true,
        release: (finished) => remembered.push(finished) > 0,
      },
    }),
  };
  const endpoint = await start({ store });
  endpoint.hooks
    .on('*', () => {})
    .on('*', () => {}, { name: 'mail' })
    .on('*', () => Promise.reject(new Error('down')));
  expect(await endpoint.post()).toMatchObject(failed);
  expect(remembered).toEqual([['mail']]);
});

describe('a handler that resolves with an array of promises, which nobody awaits', () => {
  const mistakes = {
    returns: (parts) => parts(),
    'resolves with': async (parts) => parts(),
  } satisfies Record<string, (parts: () => Promise<void>[]) => unknown>;

  test('has failed with an observer too', async () => {
    const observer: Observer = { handler: (_described, run) => run() };
    const endpoint = await start({ observer, handlers: { '*': () => [Promise.resolve()] } });
    expect(await endpoint.post()).toMatchObject(failed);
  });

  test('runs none of them that would run when it is awaited', async () => {
    let ran = 0;
    /** As the query of some clients of Postgres. */
    class Query extends Promise<void> {
      override catch(...given: Parameters<Promise<void>['catch']>) {
        ran += 1;
        return super.catch(...given) as never;
      }
    }
    const endpoint = await start({ handlers: { '*': () => [new Query(() => {})] } });
    expect(await endpoint.post()).toMatchObject(failed);
    expect(ran).toBe(0);
  });

  test.each(Object.entries(mistakes))(
    '%s it has failed, and none of them ends the process',
    async (_how, end) => {
      const parts = () => [Promise.resolve(), Promise.reject(new Error('never awaited'))];
      const endpoint = await start({ handlers: { '*': () => end(parts) } });
      expect(await endpoint.post()).toMatchObject(failed);
      expect(endpoint.log.lines).toContainEqual(
        expect.objectContaining({
          msg: 'a handler failed',
          error: expect.objectContaining({ message: expect.stringContaining('Promise.all') }),
        }),
      );
      expect(await (await start({ handlers: { '*': () => Promise.all([pause(1)]) } })).post()).toMatchObject(
        processed,
      );
    },
  );
});

describe('a handler that returns no promise', () => {
  test('gives its turn to the next one when it has returned', async () => {
    const ran: string[] = [];
    const endpoint = await start();
    endpoint.hooks
      .on('*', () => void ran.push('pick'), { name: 'pick', serial })
      .on('*', () => void ran.push('pack'), { name: 'pack', serial })
      .on('*', () => void ran.push('mail'), { name: 'mail' });
    expect(await endpoint.post()).toMatchObject(processed);
    expect(ran).toEqual(['pick', 'mail', 'pack']);
  });

  test('and blocks for longer than the lease keeps the next one from its turn, which the log says', async () => {
    const ran: string[] = [];
    const endpoint = await start({ store: memoryStore(), lease: 200 });
    endpoint.hooks
      .on('*', () => ran.push('pick') && block(250), { name: 'pick', serial })
      .on('*', () => void ran.push('pack'), { name: 'pack', serial });
    const sent = delivery();
    expect(await endpoint.post(sent)).toMatchObject(failed);
    expect(endpoint.log.lines).toContainEqual(
      expect.objectContaining({
        level: 50,
        handler: 'pack',
        msg: expect.stringMatching(/claim was lost before .* turn.* was not run/),
      }),
    );
    // What has finished is remembered, and what was not run is made good by the retry.
    expect(await endpoint.post(sent)).toMatchObject(processed);
    expect(ran).toEqual(['pick', 'pack']);
  });
});

test('handlers that settle at once arm no timer, neither for timeout nor to renew the claim', async () => {
  const hooks = receiver({ privateKey: KEY, logger: false });
  hooks.on('*', () => {}).on('*', async () => {});
  const { body: rawBody, headers } = delivery();
  const armed = jest.spyOn(globalThis, 'setTimeout');
  try {
    expect(await hooks.receive({ rawBody, headers })).toMatchObject({ status: 200 });
    expect(armed).not.toHaveBeenCalled();
  } finally {
    armed.mockRestore();
  }
});

test('handlers without a serial value wait for none, also beside handlers that take turns', async () => {
  const held = gate();
  const begun: string[] = [];
  const endpoint = await start();
  const hold = (name: string) => () => begun.push(name) && held.opened;
  endpoint.hooks
    .on('*', hold('book'), { serial })
    .on('*', hold('mail'))
    .on('*', hold('ship'), { serial })
    .on('*', hold('count'));
  const reply = endpoint.post();
  await until(() => begun.includes('book'));
  expect(begun).toEqual(['book', 'mail', 'count']);
  held.open();
  expect(await reply).toMatchObject(processed);
  expect(begun).toEqual(['book', 'mail', 'count', 'ship']);
});

// The signal may have gone to work that they left behind on purpose.
test.each<[string, ReceiverOptions, () => unknown]>([
  ['at once', {}, () => {}],
  ['at once, by a promise', {}, async () => {}],
  ['at once, by a promise, without a store', { store: false }, async () => {}],
  ['a little later', {}, () => pause(5)],
])('handlers that settle in time have heard the last of the timeout: %s', async (_, options, work) => {
  const signals: AbortSignal[] = [];
  const handler = (_event: unknown, { signal }: HandlerContext) => {
    signals.push(signal);
    return work();
  };
  const endpoint = await start({ ...options, timeout: 100, handlers: { '*': handler } });
  expect(await endpoint.post()).toMatchObject(processed);
  await pause(150);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  expect(endpoint.log.lines).toHaveLength(1);
});
