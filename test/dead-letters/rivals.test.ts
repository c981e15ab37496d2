// Two that want the same event at once: deliveries that fail and process it, and somebody who replays or discards its letter.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  type DeadLetterStore,
  type IdempotencyStore,
  memoryDeadLetters,
  memoryStore,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { postgresDeadLetters, postgresStore } from 'payment-webhooks/stores/postgres';
import { redisDeadLetters, redisStore } from 'payment-webhooks/stores/redis';
import type { Pool } from 'pg';
import { digestOf } from '../../src/claims/fingerprint.js';
import { fixtures } from '../../src/fixtures/fixture.js';
import { testAtOnce } from '../setup/at-once.js';
import { KEY, receivable } from '../setup/delivery.js';
import { faultyDeadLetters, lettersOf } from '../setup/faulty-dead-letters.js';
import { times } from '../setup/faulty-store.js';
import { aLetter } from '../setup/letters.js';
import { withRedis } from '../setup/own-redis.js';
import { clients, type SqlClient, type SqlLetters, sqlServers } from '../setup/sql-letters.js';
import { gate, PATIENT, until } from '../setup/waiting.js';

const openLetters = sqlServers();

/** A store of event ids, and of letters: in the same place, unless a test puts the letters elsewhere. */
interface World {
  readonly store: IdempotencyStore<object>;
  readonly deadLetters: DeadLetterStore;
  /** From then on another delivery may have the event. */
  endLease(key: string): unknown;
}

interface Setting {
  readonly world: World;
  readonly options?: Partial<ReceiverOptions>;
}

/** What two do with stores, by its name. Most of it waits for the other, so all of it is played at once. */
type Scenes = Readonly<Record<string, (setting: Setting) => Promise<void>>>;

function playAtOnce(setting: () => Setting, ...scenes: readonly Scenes[]): void {
  const all = scenes.flatMap((each) => Object.entries(each));
  testAtOnce(all.map(([name, play]) => ({ name, run: () => play(setting()) })));
}

/** The letters of one test, the same with faults in the wire to them, and what its receivers have in common. */
function lettersOfWorld({ store, deadLetters: letters }: World) {
  const gated = faultyDeadLetters({}, letters);
  const namespace = randomBytes(6).toString('hex');
  const common = { ...PATIENT, privateKey: KEY, logger: false, store, namespace } as const;
  return { letters, gated, namespace, common };
}

/** Two receivers, as two processes have them: the letters of the first are written when the test says so. */
function rivals({ world, options = {} }: Setting) {
  const { letters, gated, namespace, common } = lettersOfWorld(world);
  const [keep, failing, working] = [gate(), gate(), gate()];
  const [started, claimed] = [gate(), gate()];
  // What the journal has kept is changed where it is.
  const held = options.journal ? 'update' : 'keep';
  gated.faults[held] = (real) => keep.opened.then(real);
  const first = receiver({ ...common, ...options, deadLetters: gated });
  first.on('transaction.paid', async () => {
    started.open();
    await failing.opened;
    throw new Error('the bank is down');
  });
  const second = receiver({ ...common, deadLetters: letters });
  second.on('transaction.paid', async () => {
    claimed.open();
    await working.opened;
  });
  const event = fixtures.transactionPaid();
  const send = async (hooks: Pick<typeof first, 'receive'>, more = {}) => {
    const { status, body } = await hooks.receive(receivable({ ...event, ...more }));
    const { outcome, code } = JSON.parse(body);
    return [status, outcome ?? code];
  };
  return {
    ...{ keep, failing, working, started, claimed },
    fail: () => send(first),
    process: (more = {}) => send(second, more),
    endLease: () => world.endLease(`${namespace}:live:${event.id}`),
    left: async () => (await lettersOf(second)).map(({ reason }) => reason),
  };
}

/** The lease of the first is over: from then on the other may have the event. */
async function lapsed(setting: Setting) {
  const both = rivals(setting);
  const answer = both.fail();
  await both.started.opened;
  await both.endLease();
  return { both, answer };
}

/** @param more what the service has changed, when it rendered the event again */
const isProcessedBeforeItIsKept = (more: object) => async (setting: Setting) => {
  const { both, answer } = await lapsed(setting);
  both.working.open();
  expect(await both.process(more)).toEqual([200, 'processed']);
  both.failing.open();
  both.keep.open();
  expect((await answer)[0]).toBeGreaterThanOrEqual(500);
  expect(await both.left()).toEqual([]);
};

/** What holds of each pair of stores, with a journal or not. */
const LEAVES_NO_LETTER: Scenes = {
  'the event was processed before it is kept, from the same bytes': isProcessedBeforeItIsKept({}),
  'the event was processed before it is kept, from bytes that the service has rendered again':
    isProcessedBeforeItIsKept({ sent_at: 2 }),

  'the event is kept while the other works on it': async (setting) => {
    const { both, answer } = await lapsed(setting);
    const processed = both.process();
    await both.claimed.opened;
    both.failing.open();
    both.keep.open();
    expect((await answer)[0]).toBeGreaterThanOrEqual(500);
    expect(await both.left()).toEqual(['failed']);
    both.working.open();
    expect(await processed).toEqual([200, 'processed']);
    expect(await both.left()).toEqual([]);
  },
};

/** A rival that works on, although its lease has lapsed, is not noticed by who only asks. */
const TAKES_NO_CLAIM: Scenes = {
  'a delivery that asks whether its event was processed does not claim it': async (setting) => {
    const both = rivals(setting);
    const answer = both.fail();
    await both.started.opened;
    await both.endLease();
    const processed = both.process();
    await both.claimed.opened;
    await both.endLease();
    both.failing.open();
    both.keep.open();
    expect((await answer)[0]).toBeGreaterThanOrEqual(500);
    both.working.open();
    expect(await processed).toEqual([200, 'processed']);
    expect(await both.left()).toEqual([]);
  },
};

/** A receiver with one letter, whose handler waits for the test. */
async function oneLetter({ world }: Setting, keep: 'failed' | 'drifted') {
  const { letters, gated, namespace, common } = lettersOfWorld(world);
  const [started, working] = [gate(), gate()];
  let fails = keep === 'failed';
  let runs = 0;
  const hooks = receiver({ ...common, deadLetters: gated });
  hooks.on('transaction.paid', async () => {
    if (fails) throw new Error('the bank is down');
    runs += 1;
    started.open();
    await working.opened;
  });
  const sent = receivable();
  const { rawBody } = sent;
  const deliver = async () => JSON.parse((await hooks.receive(sent)).body);
  if (keep === 'failed') await deliver();
  else {
    // As a version kept it that took the bytes for no event.
    const [eventId, keyId] = [digestOf(rawBody), digestOf(Buffer.from(KEY)).slice(0, 12)];
    await letters.keep(aLetter({ reason: 'invalid', namespace, eventId, rawBody, keyId }));
  }
  fails = false;
  const [letter] = await lettersOf(hooks);
  return {
    ...{ hooks, gated, started, working, letter, letters, deliver },
    discard: () => hooks.deadLetters.discard(letter?.id ?? '', { by: 'ada', because: 'test data' }),
    replay: () => hooks.deadLetters.replay(),
    runs: () => runs,
    left: () => lettersOf(hooks),
    tombstones: async () => (await lettersOf(hooks, { discarded: true })).length,
  };
}

const isNotDiscardedWhileItRuns = (keep: 'failed' | 'drifted') => async (setting: Setting) => {
  const kept = await oneLetter(setting, keep);
  const replaying = kept.replay();
  await kept.started.opened;
  expect(await kept.discard()).toBe(false);
  kept.working.open();
  expect(await replaying).toMatchObject({ processed: 1, gone: 0 });
  expect([await kept.tombstones(), await kept.left()]).toEqual([0, []]);
  expect(await kept.discard()).toBe(false);
};

/** A letter that is discarded and replayed at once is one or the other, and who came second says so. */
const DOES_ONE_OF_BOTH: Scenes = {
  'a letter that is discarded between read and claim of its replay is not run': async (setting) => {
    const failed = await oneLetter(setting, 'failed');
    const { gated, working, discard, replay, runs } = failed;
    const claim = gate();
    working.open();
    gated.faults.read = times(1, (real) => real().then((content) => claim.opened.then(() => content)));
    const replaying = replay();
    await until(() => gated.calls.includes('read'));
    expect(await discard()).toBe(true);
    claim.open();
    expect(await replaying).toMatchObject({ gone: 1, processed: 0, failed: 0 });
    expect([runs(), await failed.tombstones(), await failed.left()]).toEqual([0, 1, []]);
  },

  'a letter whose handlers run is not discarded': isNotDiscardedWhileItRuns('failed'),
  'a letter without an id is not discarded while the handlers of the event that it is now run':
    isNotDiscardedWhileItRuns('drifted'),

  'a letter that is being discarded is not run': async (setting) => {
    const failed = await oneLetter(setting, 'failed');
    const { gated, working, runs } = failed;
    const discarding = gate();
    working.open();
    gated.faults.discard = (real) => discarding.opened.then(real);
    const discarded = failed.discard();
    await until(() => gated.calls.includes('discard'));
    expect(await failed.replay()).toMatchObject({ inProgress: 1, processed: 0 });
    discarding.open();
    expect(await discarded).toBe(true);
    expect([runs(), await failed.tombstones()]).toEqual([0, 1]);
    // The sender may send it again: that is a new delivery.
    expect(await failed.deliver()).toMatchObject({ outcome: 'processed' });
  },

  'a letter whose event was processed a moment ago is removed, and not discarded': async (setting) => {
    const failed = await oneLetter(setting, 'failed');
    const { gated, working } = failed;
    const removing = gate();
    working.open();
    gated.faults.remove = times(1, (real) => removing.opened.then(real));
    const delivered = failed.deliver();
    await until(() => gated.calls.includes('remove'));
    expect(await failed.discard()).toBe(false);
    removing.open();
    expect(await delivered).toMatchObject({ outcome: 'processed' });
    expect([await failed.tombstones(), await failed.left()]).toEqual([0, []]);
  },

  'a letter without an id whose handlers run is in progress for a second replay': async (setting) => {
    const drifted = await oneLetter(setting, 'drifted');
    const replaying = drifted.replay();
    await drifted.started.opened;
    const second = await drifted.replay();
    drifted.working.open();
    expect(second).toMatchObject({ inProgress: 1, unreadable: 0 });
    expect(await replaying).toMatchObject({ processed: 1 });
    expect(drifted.runs()).toBe(1);
  },

  'a letter without an id that is being discarded is not run as an event': async (setting) => {
    const drifted = await oneLetter(setting, 'drifted');
    const { gated, working, runs } = drifted;
    const discarding = gate();
    working.open();
    gated.faults.discard = (real) => discarding.opened.then(real);
    const discarded = drifted.discard();
    await until(() => gated.calls.includes('discard'));
    const replaying = drifted.replay();
    await until(() => gated.calls.includes('read'));
    discarding.open();
    expect(await discarded).toBe(true);
    expect(await replaying).toMatchObject({ processed: 0, failed: 0 });
    expect([runs(), await drifted.tombstones()]).toEqual([0, 1]);
  },
};

const WITH_JOURNAL = { options: { journal: true } } as const;

describe('with stores in memory', () => {
  const open = (): Setting => {
    let now = 0;
    const endLease = () => {
      now += 3_600_000;
    };
    return { world: { store: memoryStore({ now: () => now }), deadLetters: memoryDeadLetters(), endLease } };
  };
  playAtOnce(open, LEAVES_NO_LETTER, TAKES_NO_CLAIM, DOES_ONE_OF_BOTH);
  describe('and a journal', () => playAtOnce(() => ({ ...open(), ...WITH_JOURNAL }), LEAVES_NO_LETTER));
});

withRedis('with stores in Redis', () => {
  const client = new Redis(process.env.TEST_REDIS_URL ?? '', { lazyConnect: true });
  const prefix = `rivals:${randomBytes(6).toString('hex')}:`;
  const sendCommand = (...args: [string, ...string[]]) => client.call(...args);
  const world: World = {
    store: redisStore({ sendCommand, prefix }),
    deadLetters: redisDeadLetters({ sendCommand, prefix }),
    endLease: (key) => client.hset(`${prefix}${key}`, 'lease', 0),
  };
  afterAll(async () => void (await client.quit()));
  playAtOnce(() => ({ world }), LEAVES_NO_LETTER, TAKES_NO_CLAIM, DOES_ONE_OF_BOTH);
});

/** The clients of one database differ in how a statement travels, and not in who waits for whom. */
const RIVALS = clients.filter((client) => ['pg', 'mysql2 execute', 'sqlite'].includes(client));

describe.each(RIVALS)('with stores that are reached through %s', (client: SqlClient) => {
  let letters: SqlLetters;
  const table = (name: string) => `${letters.schema}.${name}`;
  /** `postgresStore` is the same table, so it is one more way to the same rows. */
  const stores = (by: string): World => {
    const { database, run } = letters;
    const pool = database.client as Pool;
    const events = table('webhook_event');
    const isOwn = by === 'postgresStore';
    const [key, place, past] = {
      postgres: ['key', '$1', "'-infinity'"],
      mysql: ['`key`', '?', "'1000-01-01'"],
      sqlite: ['key', '?', '0'],
    }[database.dialect];
    return {
      store: isOwn ? postgresStore({ pool, table: events }) : letters.stores().store,
      deadLetters: isOwn ? postgresDeadLetters({ pool, table: table('dead_letter') }) : letters.open(),
      endLease: (of) => run(`UPDATE ${events} SET lease_ends = ${past} WHERE ${key} = ${place}`, [of]),
    };
  };

  beforeAll(async () => {
    letters = await openLetters(client);
    await letters.stores().store.migrate();
    await letters.open().migrate();
  });
  afterAll(() => letters?.close());

  describe.each(client === 'pg' ? ['sqlStore', 'postgresStore'] : ['sqlStore'])('by %s', (by) => {
    playAtOnce(() => ({ world: stores(by) }), LEAVES_NO_LETTER, TAKES_NO_CLAIM, DOES_ONE_OF_BOTH);
    describe('and a journal', () =>
      playAtOnce(() => ({ world: stores(by), ...WITH_JOURNAL }), LEAVES_NO_LETTER));
  });
});
