// The calls of `once` of one handler, on a table in memory: what is asked of the database, and what the handler is told.
import { expect, test } from '@jest/globals';
import type { Connections } from '../../src/stores/sql/connections.js';
import {
  type FoundRow,
  OnceCalls,
  type OnceDialect,
  type OnceRow,
  OUTSIDE,
} from '../../src/stores/sql/once.js';
import { Statement } from '../../src/stores/sql/statement.js';
import { gate } from '../setup/waiting.js';

const WRITE = new Statement('WRITE', { prepared: false });
const FORGET = new Statement('FORGET', { prepared: false });
const UNDO = new Statement('UNDO', { prepared: false });
const TX = { of: 'a handler' };
const MISUSE = { code: 'CONFIGURATION_INVALID' };

/** Where the row is sent along with BEGIN, as in Postgres, or as a statement of its own. */
const WAYS = [
  ['the row sent along with BEGIN', true],
  ['the row in a statement of its own', false],
] as const;

function handler({ opens = false, found = undefined as FoundRow | undefined, begins = true } = {}) {
  const sent: string[] = [];
  const rows = new Map<string, FoundRow>();
  if (found) rows.set('key pay', found);
  let failing: readonly string[] = [];
  const take = (row: OnceRow): FoundRow => {
    if (!rows.has(row.key)) rows.set(row.key, row);
    return rows.get(row.key) ?? row;
  };
  const dialect: OnceDialect = {
    *writeRow(row) {
      if (outside) return undefined;
      yield [WRITE, [row.key]];
      return take(row);
    },
    opening: () => 'OPENING',
    readOpening: take,
    undo: UNDO,
    forgetRow: ({ key, token }) => [[FORGET, [key, token]]],
  };
  let outside = false;
  const connections: Pick<Connections, 'within' | 'transaction' | 'confirmSeparate'> = {
    within: (transaction) => async (statement) => {
      sent.push(`${statement.text} in ${transaction === TX ? 'TX' : String(transaction)}`);
      if (failing.includes(statement.text)) throw new Error(`${statement.text} failed`);
      return { rows: [], count: 0 };
    },
    confirmSeparate: (transaction) => void sent.push(`separate ${transaction === TX}`),
    transaction: begins
      ? async (work, opening) => {
          sent.push(opening);
          await work(TX, opens ? { rows: [], count: 0 } : undefined);
          sent.push('COMMIT');
        }
      : undefined,
  };
  let tokens = 0;
  let committing = 0;
  const newRow = () => ({ key: 'key pay', token: `token ${++tokens}`, fingerprint: 'mine', keepMs: 1 });
  const calls = new OnceCalls<object>('pay', { connections, dialect }, newRow, () => {
    committing += 1;
  });
  return {
    ...{ calls, dialect, sent, once: calls.context.once },
    commits: () => committing,
    rollBack: () => rows.clear(),
    leave: () => {
      outside = true;
    },
    fail: (...texts: readonly string[]) => {
      failing = texts;
    },
    end: (threw?: boolean) => calls.end(() => void sent.push('late'), threw),
  };
}

test.each(WAYS)(
  'once(work), with %s, writes, commits and returns what its work returns',
  async (_, opens) => {
    const { once, sent, commits, calls, end } = handler({ opens });
    expect(await once((tx) => [tx === TX])).toEqual([true]);
    expect(sent).toEqual(
      opens ? ['OPENING', 'COMMIT'] : ['OPENING', 'WRITE in TX', 'separate true', 'COMMIT'],
    );
    expect([commits(), calls.row]).toEqual([1, { key: 'key pay', token: opens ? 'token 1' : 'token 2' }]);
    expect(end()).toEqual({ failure: undefined, wrote: true, skipped: undefined });
  },
);

test('once(tx, work) asks for a connection of its own, and calls its work without arguments', async () => {
  const { once, sent, commits, end } = handler();
  const given: unknown[][] = [];
  const work = (...each: unknown[]) => given.push(each);
  expect(await once(TX, work as () => number)).toBe(1);
  expect([given, sent, commits()]).toEqual([[[]], ['WRITE in TX', 'separate true'], 1]);
  expect(end()).toMatchObject({ wrote: true });
});

test.each(WAYS)(
  'a row of an earlier attempt, with %s, skips the work and tells its bytes',
  async (_, opens) => {
    const { once, calls, end, commits } = handler({
      opens,
      found: { token: 'earlier', fingerprint: 'theirs' },
    });
    let ran = false;
    expect(
      await once(() => {
        ran = true;
      }),
    ).toBeUndefined();
    expect([ran, commits(), calls.row]).toEqual([false, 0, { key: 'key pay', token: 'earlier' }]);
    expect(end()).toEqual({ failure: undefined, wrote: true, skipped: 'theirs' });
  },
);

test.each(WAYS)('work that throws, with %s, undoes its row on the same connection', async (_, opens) => {
  const { once, sent, calls, end, commits } = handler({ opens });
  const failing = once(() => {
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  const undone = opens ? ['FORGET in TX'] : ['WRITE in TX', 'separate true', 'UNDO in TX'];
  expect([sent, commits(), calls.row]).toEqual([['OPENING', ...undone], 0, undefined]);
  expect(end()).toMatchObject({ failure: new Error('no'), wrote: false });
});

test.each([[['UNDO']], [['UNDO', 'FORGET']]])(
  'forgets the row if the transaction has ended, and keeps the error of the work if %j fail',
  async (texts) => {
    const { once, sent, fail } = handler();
    fail(...texts);
    await expect(once(TX, () => Promise.reject(new Error('of the work')))).rejects.toThrow('of the work');
    expect(sent.slice(-2)).toEqual(['UNDO in TX', 'FORGET in TX']);
  },
);

test('a statement that fails rejects, and the handler has failed', async () => {
  const { once, fail, end } = handler();
  fail('WRITE');
  await expect(once(() => {})).rejects.toThrow('WRITE failed');
  expect(end()).toMatchObject({ failure: new Error('WRITE failed'), wrote: false });
});

test('work that throws nothing has failed too', async () => {
  const { once, end } = handler();
  await expect(once(() => Promise.reject(undefined))).rejects.toBeUndefined();
  expect(end().failure).toMatchObject({ message: 'The work of once() threw nothing.' });
});

test('a later call makes up for one that failed, and writes under a token of its own', async () => {
  const { once, calls, end, rollBack } = handler();
  await expect(once(() => Promise.reject(new Error('first')))).rejects.toThrow('first');
  rollBack();
  await once(() => {});
  expect(calls.row).toEqual({ key: 'key pay', token: 'token 4' });
  expect(end()).toEqual({ failure: undefined, wrote: true, skipped: undefined });
});

test('after a commit whose answer was lost, the next call finds its row and skips', async () => {
  const { once, end } = handler();
  await expect(once(() => Promise.reject(new Error('unknown')))).rejects.toThrow('unknown');
  let ran = false;
  await once(() => {
    ran = true;
  });
  expect([ran, end()]).toEqual([false, { failure: undefined, wrote: true, skipped: 'mine' }]);
});

test('a second call in a run is refused, whatever follows, and a second one meanwhile', async () => {
  const twice = handler();
  await twice.once(() => {});
  await expect(twice.once(() => {})).rejects.toThrow('called again in one run of a handler, and would skip');
  expect(twice.end().failure).toMatchObject(MISUSE);
  const { once, end } = handler();
  const { opened, open } = gate();
  const first = once(() => opened);
  await expect(once(() => {})).rejects.toThrow('or give each its own named handler');
  open();
  await first;
  expect(end().failure).toMatchObject(MISUSE);
});

test('a call that fails after one that succeeded leaves the row and the bytes of the first', async () => {
  const { once, calls, end } = handler({ found: { token: 'earlier', fingerprint: 'theirs' } });
  await once(() => {});
  await expect(once(() => {})).rejects.toThrow('called again');
  expect([calls.row, calls.skipped]).toEqual([{ key: 'key pay', token: 'earlier' }, 'theirs']);
  expect(end().wrote).toBe(true);
});

test('names what is wrong: no work, no transaction, no client with transactions, promises that nobody awaits', async () => {
  const noWork = handler();
  await expect(noWork.once(1 as never)).rejects.toThrow('once() was given 1. Pass a function');
  await expect(noWork.once(TX, undefined as never)).rejects.toThrow('once(tx, () => …)');
  const outside = handler();
  outside.leave();
  await expect(outside.once(TX, () => {})).rejects.toThrow(OUTSIDE);
  expect(OUTSIDE).toMatch(
    /without the writes[.] Pass the transaction itself, not a pool or an ORM: once[(]tx, work[)]/,
  );
  const without = handler({ begins: false });
  await expect(without.once(() => {})).rejects.toThrow('needs the option transaction of sqlStore()');
  const lazy = handler();
  await expect(lazy.once(() => [1, Promise.resolve()])).rejects.toThrow('Await one after the other');
  expect(lazy.commits()).toBe(0);
  for (const { end } of [noWork, outside, without, lazy])
    expect(end()).toMatchObject({ failure: MISUSE, wrote: false });
  const plain = handler();
  expect(await plain.once(() => [1, null, undefined])).toHaveLength(3);
});

test('the first wrong call is the one that is told', async () => {
  const { once, end } = handler();
  await expect(once(1 as never)).rejects.toThrow('given 1');
  await expect(once(2 as never)).rejects.toThrow('given 2');
  expect(end().failure).toMatchObject({ message: expect.stringContaining('given 1') });
});

test('a handler that ends before its call has failed, and a call after its end is told and refused', async () => {
  const { once, end, sent } = handler();
  const { opened, open } = gate();
  const running = once(() => opened);
  expect(end().failure).toMatchObject({ message: 'The handler ended before once() did. Await once().' });
  open();
  await running;
  const before = sent.length;
  await expect(once(() => {})).rejects.toThrow('Await every transaction in the handler.');
  expect(sent.slice(before)).toEqual(['late']);
});

test('the writes of a handler that threw are not looked for', async () => {
  const { once, calls, end } = handler();
  await once(() => {});
  expect([end(true).wrote, calls.row]).toEqual([false, undefined]);
});

test('a call that rejects and that nobody awaits ends no process', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => void unhandled.push(error);
  process.on('unhandledRejection', note);
  void handler().once(() => Promise.reject(new Error('unheard')));
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

test('a connection that does not ask whether it is separate, and a caller without beforeCommit, are enough', async () => {
  const statements: unknown[] = [];
  const { dialect } = handler();
  const within = () => async (statement: Statement, parameters: readonly unknown[]) => {
    statements.push([statement.text, parameters]);
    if (statement.text === 'UNDO') throw new Error('no transaction');
    return { rows: [], count: 0 };
  };
  const connections = { within, transaction: undefined };
  const newRow = () => ({ key: 'key pay', token: 'mine', fingerprint: 'mine', keepMs: 1 });
  const { context } = new OnceCalls<object>('pay', { connections, dialect }, newRow, undefined);
  expect(await context.once(TX, () => 'done')).toBe('done');
  const other = new OnceCalls<object>('pay', { connections, dialect: handler().dialect }, newRow, undefined);
  await expect(other.context.once(TX, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(statements.slice(1)).toEqual([
    ['WRITE', ['key pay']],
    ['UNDO', []],
    ['FORGET', ['key pay', 'mine']],
  ]);
});
