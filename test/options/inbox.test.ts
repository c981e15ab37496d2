// The option `inbox`: what it stands for, what wins over it, and what is refused.
import { afterEach, describe, expect, test } from '@jest/globals';
import { ConfigurationError, memoryDeadLetters, memoryInbox, memoryStore, receiver } from 'payment-webhooks';
import { processor } from 'payment-webhooks/queues';
import { postgresInbox } from 'payment-webhooks/stores/postgres';
import { redisInbox } from 'payment-webhooks/stores/redis';
import { sqlInbox } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { captureLog } from '../setup/captured-log.js';
import { delivery, KEY, SANDBOX_KEY } from '../setup/delivery.js';
import { duplicate, failed, processed, startReceiver } from '../setup/endpoint.js';

const inbox = memoryInbox();
const sendCommand = async () => null;
const pool = new Pool();
const database = { dialect: 'postgres', client: pool, query: async () => [] } as const;
const failing = { '*': () => Promise.reject(new Error('down')) };

function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (ConfigurationError.is(error)) return (error as Error).message;
    throw error;
  }
  throw new Error('It was accepted.');
}

describe('an inbox', () => {
  test('is the store, the dead letters, and redrive', async () => {
    const own = memoryInbox();
    const one = startReceiver({ inbox: own });
    const event = delivery();
    expect(await one.post(event)).toMatchObject(processed);
    const other = startReceiver({ inbox: own, handlers: failing });
    expect(await other.post(event)).toMatchObject(duplicate);
    expect(await other.post()).toMatchObject(failed);
    const page = await one.hooks.deadLetters?.page();
    expect(page?.letters).toHaveLength(1);
    for (const letter of page?.letters ?? [])
      expect(other.hooks.deadLetters?.nextTry(letter)).toBeInstanceOf(Date);
    await Promise.all([one, other].map(({ hooks }) => hooks.close()));
    await own.ping();
  });

  test('gives way to each option that is given too', async () => {
    const deadLetters = memoryDeadLetters();
    const own = startReceiver({ inbox, deadLetters, redrive: false, handlers: failing });
    await own.post();
    expect(await inbox.deadLetters.count?.({ namespace: 'default', discarded: false })).toBe(0);
    const [letter] = (await own.hooks.deadLetters?.page())?.letters ?? [];
    expect(letter && own.hooks.deadLetters?.nextTry(letter)).toBeUndefined();
    expect(letter).toBeDefined();

    const event = delivery();
    expect(await startReceiver({ inbox, store: memoryStore() }).post(event)).toMatchObject(processed);
    expect(await startReceiver({ inbox }).post(event)).toMatchObject(processed);
    expect(await startReceiver({ inbox, redrive: { every: '1h' } }).post(event)).toMatchObject(duplicate);
  });
});

describe('in production', () => {
  const { NODE_ENV } = process.env;
  afterEach(() => {
    process.env.NODE_ENV = NODE_ENV;
  });
  const warned = (given: object) => {
    process.env.NODE_ENV = 'production';
    const log = captureLog();
    receiver({ privateKey: KEY, logger: log.logger, sandbox: 'ignore', signatureHeader: 'X-Sig', ...given });
    return log.lines.map(({ option }) => option);
  };

  test.each([
    ['postgresInbox()', postgresInbox({ pool })],
    ['sqlInbox()', sqlInbox(database)],
    ['redisInbox()', redisInbox({ sendCommand })],
  ])('%s leaves nothing to warn of', (_, given) => {
    expect(warned({ inbox: given })).toEqual([]);
  });

  test('memoryInbox() is warned of, both parts', () => {
    expect(warned({ inbox })).toEqual(['store', 'deadLetters']);
  });
});

describe('what is refused, and what to do', () => {
  const given = (options: object) => refusal(() => receiver({ privateKey: SANDBOX_KEY, ...options }));
  const work = (options: object) => refusal(() => processor({ '*': () => {} }, options));

  test.each<[string, object, string]>([
    [
      'a maker that was not called',
      { inbox: postgresInbox },
      'inbox is a function. Call it, such as postgresInbox({ pool }).',
    ],
    [
      'a store',
      { inbox: memoryStore() },
      'inbox is a store. Pass it as store, or pass an inbox, such as postgresInbox({ pool }).',
    ],
    [
      'a store of letters',
      { inbox: memoryDeadLetters() },
      'inbox is a store. Pass it as deadLetters, or pass an inbox, such as postgresInbox({ pool }).',
    ],
    ['a pool', { inbox: pool }, 'inbox is an object. Pass an inbox, such as postgresInbox({ pool }).'],
    ['null', { inbox: null }, 'inbox is null. Pass an inbox, such as postgresInbox({ pool }).'],
    ['false', { inbox: false }, 'inbox is false. Pass an inbox, such as postgresInbox({ pool }).'],
    ['an inbox as store', { store: inbox }, 'store is an inbox. Pass it as inbox: receiver({ inbox }).'],
    [
      'an inbox as deadLetters',
      { deadLetters: inbox },
      'deadLetters is an inbox. Pass it as inbox: receiver({ inbox }).',
    ],
    [
      'no store',
      { inbox, store: false },
      'store is false, but inbox remembers event ids. Remove one of them.',
    ],
    [
      'a replacement for both parts',
      { inbox, store: memoryStore(), deadLetters: memoryDeadLetters() },
      'store and deadLetters replace both parts of inbox. Remove them, or inbox.',
    ],
    ['a misspelled option', { inbx: inbox }, 'Unknown option "inbx". Did you mean "inbox"?'],
  ])('%s', (_, options, message) => {
    expect(given(options)).toContain(message);
  });

  test('by a worker', () => {
    const BOTH = 'store replaces the only part of inbox that a worker uses. Remove one of them.';
    expect(work({ inbox, store: memoryStore() })).toBe(BOTH);
    expect(work({ inbox, store: false })).toBe(BOTH);
    expect(work({ store: inbox })).toBe('store is an inbox. Pass it as inbox: receiver({ inbox }).');
    expect(work({ inbox: redisInbox })).toContain('inbox is a function. Call it');
  });

  test.each<[string, () => unknown, string]>([
    ['postgresInbox() of nothing', () => postgresInbox(undefined as never), 'pool is undefined'],
    ['postgresInbox() of the pool itself', () => postgresInbox(pool as never), 'Unknown option'],
    ['the option table', () => postgresInbox({ pool, table: 'x' } as never), 'Unknown option "table".'],
    [
      'a table of SQLite with a schema',
      () => sqlInbox({ dialect: 'sqlite', client: {}, query: () => [], deadLetterTable: 'main.x' }),
      'deadLetterTable is "main.x". Pass a name without a schema',
    ],
    ['a table that needs quotes', () => postgresInbox({ pool, eventTable: 'a-b' }), 'eventTable is "a-b".'],
    [
      'a table of letters that needs quotes',
      () => sqlInbox({ ...database, deadLetterTable: '1' }),
      'deadLetterTable is "1".',
    ],
    [
      'one table for both',
      () => postgresInbox({ pool, eventTable: 'x', deadLetterTable: 'x' }),
      'eventTable and deadLetterTable are both "x". Give each its own table.',
    ],
    [
      'prune as a duration',
      () => redisInbox({ sendCommand, prune: '1h' as never }),
      'prune is "1h". Pass true or false.',
    ],
    ['a retention', () => memoryInbox({ retention: 'soon' }), 'retention is "soon"'],
    ['a key that is too short', () => postgresInbox({ pool, encryptionKeys: ['short'] }), 'encryptionKeys'],
    ['sqlInbox() without a dialect', () => sqlInbox({ client: pool } as never), 'dialect is undefined'],
    ['redisInbox() of nothing', () => redisInbox(undefined as never), 'sendCommand is undefined'],
    [
      'keys for memory',
      () => memoryInbox({ encryptionKeys: [] } as never),
      'Unknown option "encryptionKeys".',
    ],
  ])('%s', (_, make, message) => {
    expect(refusal(make)).toContain(message);
  });
});
