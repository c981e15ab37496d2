import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import { type Observer, receiver } from 'payment-webhooks';
import { fixtures } from '../src/fixtures/fixture.js';
import { delivery, KEY } from './setup/delivery.js';
import { type Endpoint, failed, processed, startEndpoint } from './setup/endpoint.js';
import { down, raise } from './setup/raise.js';
import { gate, until } from './setup/waiting.js';

function complaints({ log }: Endpoint) {
  return log.lines.filter(({ msg }) => msg === 'the observer failed');
}

/** One delivery, to a handler that counts its runs and perhaps fails. */
async function deliverTo(observer: Observer, handler: () => unknown = () => {}) {
  const counted = jest.fn(handler);
  const endpoint = await startEndpoint({ observer, handlers: { '*': counted } });
  const reply = await endpoint.post();
  return { endpoint, reply, runs: counted.mock.calls.length };
}

describe('settled', () => {
  test('is told of every delivery once, in numbers and names only', async () => {
    const { records, ...endpoint } = await startEndpoint();
    const sent = delivery(fixtures.transactionPaid({ sandbox: true }));
    await endpoint.post(sent);
    await endpoint.post({ ...sent, headers: {} });
    // All that is in the first: test/receiver.test.ts.
    expect(records).toEqual([
      expect.objectContaining({ outcome: 'processed', sandbox: true }),
      { status: 401, code: 'SIGNATURE_MISSING', bytes: 0, durationMs: expect.any(Number), handlers: [] },
    ]);
    for (const { durationMs, storeMs = 0 } of records) {
      expect(durationMs).toBeGreaterThan(0);
      expect(storeMs).toBeLessThan(durationMs);
    }
  });

  test('gets a record of its own: what goes on after the answer does not change it', async () => {
    const work = gate();
    const endpoint = await startEndpoint({ timeout: 40, handlers: { '*': () => work.opened } });
    await endpoint.post();
    const running = [{ handlers: [{ status: 'running' }] }];
    expect(endpoint.records).toMatchObject(running);
    work.open();
    await until(() => endpoint.hooks.inFlight === 0);
    expect(endpoint.records).toMatchObject(running);
  });

  test.each([
    ['throws', down],
    ['throws nothing', () => raise(undefined)],
    ['rejects', () => Promise.reject(new Error('down'))],
  ] as const)('that %s is logged and changes nothing', async (_what, settled) => {
    const { endpoint, reply, runs } = await deliverTo({ settled });
    expect(reply).toMatchObject(processed);
    expect(runs).toBe(1);
    await until(() => complaints(endpoint).length === 1);
    expect(complaints(endpoint)).toMatchObject([{ level: 50, eventName: 'transaction.paid' }]);
    expect(endpoint.hooks.inFlight).toBe(0);
  });

  test('that never comes back from what it awaits changes nothing', async () => {
    const observer: Observer = { settled: () => new Promise(() => {}) as never };
    expect((await deliverTo(observer)).reply).toMatchObject(processed);
  });
});

describe.each(['around', 'handler'] as const)('%s', (wrapper) => {
  const wrapping = (wrap: (work: () => Promise<unknown>) => unknown) =>
    ({ [wrapper]: (_subject: object, work: () => Promise<unknown>) => wrap(work) }) as Observer;

  const observers: Record<string, [(work: () => Promise<unknown>) => unknown, number]> = {
    'does as it should': [(work) => work(), 0],
    'awaits the work': [async (work) => await work(), 0],
    'returns something else': [
      (work) =>
        work()
          .catch(() => {})
          .then(() => 'else'),
      0,
    ],
    'calls the work twice': [(work) => Promise.all([work(), work()]), 0],
    'calls the work twice, one after the other': [(work) => work().then(work, work), 0],
    'calls the work too late': [(work) => pause(20).then(work), 0],
    'never calls the work': [async () => {}, 0],
    'never comes back': [(work) => work().then(() => new Promise(() => {})), 0],
    'never calls and never comes back': [() => new Promise(() => {}), 0],
    'throws before the work': [down, 1],
    'throws after it has begun the work': [(work) => [work(), down()], 1],
    'rejects before the work': [() => Promise.reject(new Error('down')), 1],
    'rejects after the work': [(work) => work().finally(() => Promise.reject(new Error('down'))), 1],
    'rejects with nothing': [() => Promise.reject(undefined), 1],
    'returns no promise': [(work) => void work(), 1],
  };

  // What the handler threw is not the observer's fault, though it passes through it.
  test.each(
    Object.entries(observers).flatMap(([what, [wrap, logged]]) => [
      [what, 'succeeds', () => {}, processed, wrap, logged] as const,
      [what, 'fails', () => Promise.reject(new Error('down')), failed, wrap, logged] as const,
    ]),
  )('that %s neither loses, repeats nor hides a handler that %s', async (...row) => {
    const [, , handler, answer, wrap, logged] = row;
    const { endpoint, reply, runs } = await deliverTo(wrapping(wrap), handler);
    expect(reply).toMatchObject(answer);
    expect(runs).toBe(1);
    await until(() => complaints(endpoint).length >= logged);
    await pause(5);
    expect(complaints(endpoint)).toHaveLength(logged);
  });

  test('keeps its context for the handler, so that a span begun there has the handler inside it', async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const handler = () => pause(1).then(() => seen.push(context.getStore()));
    const { reply } = await deliverTo(
      wrapping((work) => context.run('span', work)),
      handler,
    );
    expect(reply).toMatchObject(processed);
    expect(seen).toEqual(['span']);
  });
});

describe('around', () => {
  test('is given the headers of the delivery, to find the span that it continues', async () => {
    const seen: unknown[] = [];
    const observer: Observer = {
      around({ headers }, work) {
        seen.push(headers.traceparent);
        return work();
      },
    };
    const endpoint = await startEndpoint({ observer });
    const sent = delivery();
    await endpoint.post({ ...sent, headers: { ...sent.headers, traceparent: '00-1-2-01' } });
    expect(seen).toEqual(['00-1-2-01']);
  });

  test('wraps receive() and refused deliveries too, and gets the answer', async () => {
    const statuses: unknown[] = [];
    const observer: Observer = {
      async around(_delivery, work) {
        const answer = await work();
        statuses.push((answer as { status: number }).status);
        return answer;
      },
    };
    const hooks = receiver({ privateKey: KEY, logger: false, observer });
    await hooks.receive({ rawBody: '', headers: {} });
    await hooks.close();
    await hooks.receive({ rawBody: '', headers: {} });
    expect(statuses).toEqual([401, 503]);
  });
});

describe('handler', () => {
  test('is given the event, the name of the handler and the attempt, for every handler', async () => {
    const seen: unknown[] = [];
    const observer: Observer = {
      handler({ event, name, attempt }, work) {
        seen.push([event.id, event.event_name, name, attempt]);
        return work();
      },
    };
    const endpoint = await startEndpoint({ observer, handlers: {} });
    endpoint.hooks
      .on('transaction.paid', () => {}, { name: 'book' })
      .on('*', function mail(_event, { attempt }) {
        if (attempt === 1) down();
      });
    const event = fixtures.transactionPaid();
    await endpoint.post(delivery(event));
    await endpoint.post(delivery(event));
    expect(seen).toEqual([
      [event.id, 'transaction.paid', 'book', 1],
      [event.id, 'transaction.paid', 'mail', 1],
      [event.id, 'transaction.paid', 'mail', 2],
    ]);
  });

  test('sees what the handler threw, and only that', async () => {
    const seen: unknown[] = [];
    const error = new Error('down');
    const observer: Observer = {
      handler(_handler, work) {
        const done = work();
        done.catch((cause) => seen.push(cause));
        return done;
      },
    };
    await deliverTo(observer, () => Promise.reject(error));
    expect(seen).toEqual([error]);
  });

  test('wraps onUnknown and onInvalid handlers too', async () => {
    const seen: string[] = [];
    const observer: Observer = {
      handler({ name }, work) {
        seen.push(name);
        return work();
      },
    };
    const endpoint = await startEndpoint({ observer, handlers: {} });
    endpoint.hooks.onUnknown(() => {}).onInvalid(() => {}, { name: 'keep' });
    await endpoint.post(delivery(fixtures.event('payout.sent', {})));
    await endpoint.post(delivery({ ...fixtures.transactionPaid(), payload: {} }));
    expect(seen).toEqual(['onUnknown', 'keep']);
  });
});

test('an observer is called with itself as this', async () => {
  class Counting implements Observer {
    around$ = 0;
    handlers = 0;
    records = 0;
    around<T>(_delivery: object, work: () => Promise<T>) {
      this.around$ += 1;
      return work();
    }
    handler<T>(_handler: object, work: () => Promise<T>) {
      this.handlers += 1;
      return work();
    }
    settled() {
      this.records += 1;
    }
  }
  const counting = new Counting();
  await deliverTo(counting);
  expect(counting).toEqual({ around$: 1, handlers: 1, records: 1 });
});
