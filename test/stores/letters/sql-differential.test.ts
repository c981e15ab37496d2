// Every store of dead letters gives the same answers to the same random calls, whatever database and client it has.
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  type DeadLetter,
  type DeadLetterQuery,
  type DeadLetterReason,
  type DeadLetterStore,
  memoryDeadLetters,
} from 'payment-webhooks';
import { aLetter } from '../../setup/letters.js';
import { clients, type SqlLetters, sqlServers } from '../../setup/sql-letters.js';

const CALLS = 400;
const openLetters = sqlServers();
const encryptionKeys = [Buffer.alloc(32, 9)];

/** Random, and the same again for the same seed. */
function dice(seed: number) {
  let state = seed;
  const roll = (sides: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * sides);
  };
  return { roll, pick: <Item>(items: readonly Item[]): Item => items[roll(items.length)] as Item };
}

const REASONS: readonly DeadLetterReason[] = ['unknown', 'invalid', 'failed', 'conflict', 'unfinished'];
const NAMES = ['refund.made', 'refund.Made', 'refund_.made', 'refundx.made', 'a%.b', "a'b.c", 'z\\.y'];
const PREFIXES = ['refund', 'refund.', 'refund_', 'a%', "a'", 'z\\', 'R'];
const IDS = ['e-1', 'E-1', 'e-1 ', 'e%', 'e\\', "e'"];
const BODIES = ['{}', '{"a":1}', '{"b":"ü"}'];
const CAUSES = ['märk: TypeError at orders.ts:10', 'ship: Error', undefined] as const;
const CODES = ['HANDLER_FAILED', 'EVENT_INVALID', undefined] as const;

type Call = (store: DeadLetterStore) => unknown;

/** The next call. It rolls nothing itself, so it is the same for every store. */
function nextCall({ roll, pick }: ReturnType<typeof dice>, ids: string[]): [string, Call] {
  const letter = aLetter({
    id: `id-${ids.length}`,
    eventId: pick(IDS),
    eventName: pick(NAMES),
    namespace: pick(['one', 'One']),
    sandbox: roll(4) === 0,
    reason: pick(REASONS),
    code: pick(CODES),
    cause: pick(CAUSES),
    attempts: 1 + roll(4),
    issues: roll(2) === 0 ? [] : [{ path: 'payload.é', message: pick(NAMES) }],
    headers: { 'x-number': String(roll(9)) },
    keyIndex: roll(3),
    rawBody: Buffer.from(pick(BODIES)),
  });
  const id = ids.length > 0 && roll(8) > 0 ? pick(ids) : 'no such id';
  const maybe = <Value>(value: Value) => (roll(4) === 0 ? value : undefined);
  const query: DeadLetterQuery = {
    namespace: letter.namespace,
    discarded: roll(4) === 0,
    ...{ id: maybe(id), reason: maybe(letter.reason), eventId: maybe(letter.eventId) },
    ...{ eventName: maybe(letter.eventName), eventNamePrefix: maybe(pick(PREFIXES)) },
    since: maybe(new Date(pick([0, -1, 8.64e15]))),
  };
  const { reason, code, cause, issues } = letter;
  const limit = 1 + roll(5);
  const attempts = maybe(9);
  const by = pick(NAMES);
  const calls: readonly (readonly [string, number, Call])[] = [
    ['keep', 8, (store) => store.keep(letter)],
    ['update', 3, (store) => store.update(id, { reason, code, cause, issues, attempts })],
    ['remove', 2, (store) => store.remove(letter)],
    ['discard', 1, (store) => store.discard(id, { by, because: 'ü 💶' })],
    ['list', 4, (store) => listed(store, query, limit)],
    ['count', 2, (store) => store.count?.(query)],
    ['groups', 2, (store) => grouped(store, query, limit)],
    ['read', 3, (store) => readOf(store, id)],
  ];
  const [name, , call] = pick(calls.flatMap((each) => Array<typeof each>(each[1]).fill(each)));
  if (name === 'keep') ids.push(letter.id);
  return [name, call];
}

async function listed(store: DeadLetterStore, query: DeadLetterQuery, limit: number) {
  const pages: unknown[] = [];
  for (let after: string | undefined; ; ) {
    const page = await store.list(query, { limit, after });
    pages.push(page.letters.map(withoutTime));
    if (page.next === undefined) return pages;
    after = page.next;
  }
}

async function grouped(store: DeadLetterStore, query: DeadLetterQuery, names: number) {
  const groups = (await store.countGroups?.(query, { names })) ?? [];
  return groups.map(({ reason, eventName, count }) => `${count} ${reason} ${eventName}`).sort();
}

async function readOf(store: DeadLetterStore, id: string) {
  const content = await store.read(id);
  if (content.status !== 'found') return content;
  const { letter, rawBody, headers, keyIndex } = content;
  return { letter: withoutTime(letter), body: rawBody.toString('hex'), headers, keyIndex };
}

/** Each store has a clock of its own. */
function withoutTime({ keptAt: _, discarded, ...letter }: DeadLetter) {
  return { ...letter, ...(discarded && { by: discarded.by, because: discarded.because }) };
}

describe('every store of dead letters', () => {
  const stores = new Map<string, DeadLetterStore>([['memory', memoryDeadLetters()]]);
  const opened: SqlLetters[] = [];

  beforeAll(async () => {
    for (const client of clients) {
      const letters = await openLetters(client);
      opened.push(letters);
      const store = letters.open({ encryptionKeys });
      await store.migrate();
      stores.set(client, store);
    }
  });
  afterAll(async () => {
    for (const letters of opened) await letters.close();
  });

  test(`in memory, Postgres, MySQL and SQLite answers ${CALLS} random calls alike`, async () => {
    const seed = randomInt(2 ** 31);
    const random = dice(seed);
    const ids: string[] = [];
    const calls: string[] = [];
    for (let index = 0; index < CALLS; index += 1) {
      const [name, call] = nextCall(random, ids);
      calls.push(name);
      const asked = [...stores].map(async ([store, each]) => [store, await call(each)] as const);
      const answers = Object.fromEntries(await Promise.all(asked));
      const expected = Object.fromEntries([...stores.keys()].map((store) => [store, answers.memory]));
      expect({ seed, index, name, answers }).toEqual({ seed, index, name, answers: expected });
    }
    expect(stores.size).toBe(1 + clients.length);
    expect(new Set(calls).size).toBe(8);
  }, 120_000);
});
