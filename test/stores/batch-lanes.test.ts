// Calls that share a statement, without a database: what is sent, in which order, and how many wait.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import { BATCHES } from '../../src/observer.js';
import { Batches } from '../../src/stores/sql/batches.js';
import { gate, until } from '../setup/waiting.js';

interface Call {
  readonly key: string;
  readonly token: string;
}

const call = (key: string, token = key): Call => ({ key, token });
const keysOf = (calls: readonly Call[]) => calls.map(({ key }) => key);
const none: ReadonlySet<string> = new Set();

/** Notes what is sent. Each statement is answered by what `together` and `alone` resolve with. */
function watched({
  together = async (calls: readonly Call[]) =>
    new Set(calls.map(({ token }) => token)) as ReadonlySet<string>,
  alone = async (one: Call, _isKnown: boolean): Promise<string> => `${one.key} alone`,
} = {}) {
  const sent: (string | readonly string[])[] = [];
  const known: boolean[] = [];
  const batches = new Batches<Call, string>({
    ...{ step: 'claim', confirmed: 'together' },
    together: (calls) => {
      sent.push(keysOf(calls));
      return together(calls);
    },
    alone: (one, isKnown) => {
      sent.push(one.key);
      known.push(isKnown);
      return alone(one, isKnown);
    },
  });
  return { sent, known, ask: (...calls: Call[]) => Promise.all(calls.map((one) => batches.call(one))) };
}

describe('a statement of several calls', () => {
  test('has them in the order of their keys, not in that of their arrival', async () => {
    const { sent, ask } = watched();
    expect(await ask(call('b'), call('c'), call('a'))).toEqual(['together', 'together', 'together']);
    expect(sent).toEqual([['a', 'b', 'c']]);
  });

  test('is published with its step and size, also when it has one call', async () => {
    const published: unknown[] = [];
    const note = (message: unknown) => void published.push(message);
    BATCHES.subscribe(note);
    const { ask } = watched();
    await ask(call('a'), call('b'));
    await ask(call('c'));
    BATCHES.unsubscribe(note);
    expect(published).toEqual([
      { step: 'claim', size: 2 },
      { step: 'claim', size: 1 },
    ]);
  });

  test('tells what goes alone after it that the key is known, and says so of nothing else', async () => {
    const { known, ask } = watched({ together: async () => none });
    expect(await ask(call('a'), call('b'))).toEqual(['a alone', 'b alone']);
    expect(known).toEqual([true, true]);
    await ask(call('c'));
    expect(known.slice(2)).toEqual([false]);
    const failing = watched({ together: () => Promise.reject(new Error('down')) });
    await failing.ask(call('a'), call('b'));
    expect(failing.known).toEqual([false, false]);
  });

  test('confirms by tokens, not by keys', async () => {
    const { ask } = watched({ together: async () => new Set(['first']) });
    expect(await ask(call('a', 'first'), call('a', 'second'))).toEqual(['together', 'a alone']);
  });

  test('rejects the calls whose own statement fails, and no other', async () => {
    const alone = async ({ key }: Call) => {
      if (key === 'a') throw new Error('refused');
      return 'fine';
    };
    const { ask } = watched({ together: async () => none, alone });
    const [a, b] = await Promise.allSettled([ask(call('a')), ask(call('b'))]);
    expect([a, b]).toMatchObject([{ reason: new Error('refused') }, { value: ['fine'] }]);
  });
});

describe('statements without an answer', () => {
  /** Each answers when its gate is opened. */
  function held() {
    const gates: ReturnType<typeof gate<string>>[] = [];
    const alone = () => {
      const one = gate<string>();
      gates.push(one);
      return one.opened;
    };
    return { gates, ...watched({ alone }) };
  }

  test('are four at most; what comes then waits, and goes together after the next answer', async () => {
    const { sent, gates, ask } = held();
    for (const key of ['a', 'b', 'c', 'd']) {
      void ask(call(key));
      await nextTurn();
    }
    const waiting = ask(call('e'), call('f'));
    await nextTurn();
    expect(sent).toEqual(['a', 'b', 'c', 'd']);
    gates[0]?.open('done');
    expect(await waiting).toEqual(['together', 'together']);
    expect(sent).toEqual(['a', 'b', 'c', 'd', ['e', 'f']]);
  });

  test('give their place up after 250 ms, all four of them', async () => {
    const { sent, ask } = held();
    for (const key of ['a', 'b', 'c', 'd']) {
      void ask(call(key));
      await nextTurn();
    }
    void ask(call('e'));
    await until(() => sent.length === 5);
    expect(sent).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('that are answered leave their places to as many others', async () => {
    const { sent, gates, ask } = held();
    for (const key of ['a', 'b', 'c', 'd']) {
      void ask(call(key));
      await nextTurn();
    }
    for (const one of gates.splice(0)) one.open('done');
    await nextTurn();
    for (const key of ['e', 'f', 'g', 'h', 'i']) {
      void ask(call(key));
      await nextTurn();
    }
    await nextTurn();
    expect(sent.slice(4)).toEqual(['e', 'f', 'g', 'h']);
  });
});

test('calls of one turn of the event loop are sent together, and once', async () => {
  const { sent, ask } = watched();
  const first = ask(call('a'), call('b'));
  await Promise.resolve();
  await ask(call('c'));
  await first;
  expect(sent).toEqual([['a', 'b', 'c']]);
});

test('when sharing is given up, a warning says so once, with a code to find it by, and no call is known', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const { sent, known, ask } = watched({ together: () => Promise.reject(new Error('no')) });
  for (let wave = 0; wave < 5; wave += 1) {
    await ask(call('a'), call('b'));
    await nextTurn();
  }
  const calls = [...warn.mock.calls];
  warn.mockRestore();
  expect(calls).toEqual([
    [
      expect.stringContaining('The database fails to claim several events in one statement'),
      { type: 'PaymentWebhooksWarning', code: 'STORE_BATCH_FAILED' },
    ],
  ]);
  expect(sent.filter((each) => Array.isArray(each))).toHaveLength(3);
  expect(known).toEqual(Array.from({ length: 10 }, () => false));
});

/** How many batches are sent in six waves of which each fails in this way, and each call then succeeds alone. */
async function batchesFailing(error: Error, atOnce = 1): Promise<number> {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const shared = () => sent.filter((each) => Array.isArray(each)).length;
  let wave = 0;
  const { sent, ask } = watched({
    together: async () => {
      await until(() => shared() === (wave + 1) * atOnce);
      throw error;
    },
  });
  for (; wave < 6; wave += 1) {
    const waves: Promise<unknown>[] = [];
    for (let lane = 0; lane < atOnce; lane += 1) {
      waves.push(ask(call('a'), call('b')));
      await nextTurn();
    }
    await Promise.all(waves);
    await nextTurn();
  }
  warn.mockRestore();
  return shared();
}

test.each([
  ['a row that others lock in Postgres', { code: '55P03' }],
  ['a file that others lock in SQLite', { code: 'SQLITE_BUSY' }],
])('%s gives no sharing up', async (_, fields) => {
  expect(await batchesFailing(Object.assign(new Error('locked'), fields))).toBe(6);
});

test('statements that fail together count once', async () => {
  // Three times three, where each would have counted.
  expect(await batchesFailing(new Error('lost'), 3)).toBe(9);
});
