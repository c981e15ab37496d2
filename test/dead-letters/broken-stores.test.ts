// Whether the dead-letter contract notices: the memory store is damaged in one place at a time, and each time a case must fail.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { transformSync } from '@swc/core';
import * as contract from '../../src/claims/dead-letter-store.js';
import type { memoryDeadLetters } from '../../src/dead-letters/memory.js';
import * as errors from '../../src/errors.js';
import * as duration from '../../src/options/duration.js';
import * as optionChecks from '../../src/options/option-checks.js';
import { deadLetterContract } from '../../src/testing/dead-letter-contract.js';

interface BrokenStore {
  readonly name: string;
  /** How the name of a case begins that notices it. */
  readonly by: string;
  /** Stands in the source exactly once. */
  readonly find: string;
  readonly replace: string;
}

const SOURCES = ['letter-queries', 'memory'].map((name) => ({
  name: `./${name}.js`,
  source: readFileSync(join(__dirname, `../../src/dead-letters/${name}.ts`), 'utf8'),
}));

const SAME = '.find(({ fingerprint }) => fingerprint === letter.fingerprint)';
const TAKES_OVER =
  'Object.assign(known, { reason, code, issues, headers, keyIndex, keyId, signaturePrefix, attempts });';
const ATTEMPTS = 'const attempts = Math.max(known.attempts + 1, letter.attempts);';
const SET = 'this.#letters.set(kept.id, kept);';
const UPDATE = 'if (letter) Object.assign(letter, change, attempts !== undefined && { attempts });';
const PAGE = 'const page = letters.slice(0, limit);';
const COUNT_GROUPS = 'new LetterGroups(names).add(this.#matching(query)).list()';
const REMOVED =
  "letter.fingerprint === fingerprint || letter.reason === 'failed' || letter.reason === 'unfinished',";
const TOMBSTONE = 'this.#tombstones.set(id, { ...letter, ...NO_CONTENT, discarded });';
const DISCARD = `this.#delete(letter);
    const discarded =`;

const BROKEN: readonly BrokenStore[] = [
  {
    name: 'keeps a second letter of the same bytes',
    by: 'the same bytes of one event',
    find: SAME,
    replace: '.find(() => false)',
  },
  {
    name: 'takes other bytes of one event for the same letter',
    by: 'other bytes, another id',
    find: SAME,
    replace: '.at(0)',
  },
  {
    name: 'returns the id that it was given, not that of the letter',
    by: 'the same bytes of one event',
    find: 'return known.id;',
    replace: 'return letter.id;',
  },
  {
    name: 'replaces a letter that is kept again by the new one',
    by: 'the same bytes of one event',
    find: TAKES_OVER,
    replace: 'this.#delete(known); return this.keep({ ...letter, id: known.id, attempts });',
  },
  {
    name: 'keeps the headers of the first attempt',
    by: 'the same bytes of one event',
    find: TAKES_OVER,
    replace: 'Object.assign(known, { reason, code, issues, attempts });',
  },
  {
    name: 'keeps the reason of the first attempt',
    by: 'a letter that is kept again takes over why',
    find: TAKES_OVER,
    replace: 'Object.assign(known, { code, issues, headers, keyIndex, keyId, signaturePrefix, attempts });',
  },
  {
    name: 'keeps the issues of an attempt that had more of them',
    by: 'a letter that is kept again takes over why',
    find: TAKES_OVER,
    replace:
      'Object.assign(known, { reason, code, headers, keyIndex, keyId, signaturePrefix, attempts }, issues.length > 0 && { issues });',
  },
  {
    name: 'counts no attempts',
    by: 'a letter that is kept again takes over why',
    find: ATTEMPTS,
    replace: 'const attempts = letter.attempts;',
  },
  {
    name: 'counts its own attempts alone',
    by: 'a letter that is kept again takes over why',
    find: ATTEMPTS,
    replace: 'const attempts = known.attempts + 1;',
  },
  {
    name: 'tells the time of the latest attempt',
    by: 'the same bytes of one event',
    find: TAKES_OVER,
    replace: `${TAKES_OVER} Object.assign(known, { keptAt: this.#now() + 1 });`,
  },
  {
    name: 'reads, thinks, and then writes',
    by: 'of many that keep one letter at once',
    find: `keep(letter: NewDeadLetter): string {
    this.#forgetExpired();
    const known = this.#of(letter.key)${SAME};`,
    replace: `async keep(letter: NewDeadLetter) {
    this.#forgetExpired();
    const known = this.#of(letter.key)${SAME};
    await null;`,
  },
  {
    name: 'keeps bytes as text',
    by: 'its bytes and headers are read',
    find: SET,
    replace: `kept.rawBody = Buffer.from(String(kept.rawBody)); ${SET}`,
  },
  {
    name: 'forgets the headers',
    by: 'its bytes and headers are read',
    find: SET,
    replace: `kept.headers = {}; ${SET}`,
  },
  {
    name: 'forgets which key had signed',
    by: 'its bytes and headers are read',
    find: SET,
    replace: `kept.keyIndex = 0; ${SET}`,
  },
  {
    name: 'forgets the id of the key',
    by: 'a letter is listed as it was given',
    find: SET,
    replace: `kept.keyId = undefined; ${SET}`,
  },
  {
    name: 'keeps the key of the first attempt',
    by: 'the same bytes of one event',
    find: TAKES_OVER,
    replace: 'Object.assign(known, { reason, code, issues, headers, keyIndex, attempts });',
  },
  {
    name: 'forgets the mode',
    by: 'a letter is listed as it was given',
    find: SET,
    replace: `kept.sandbox = false; ${SET}`,
  },
  {
    name: 'gives its own bytes away',
    by: 'what is read and listed belongs to the caller',
    find: 'rawBody: Buffer.from(rawBody), headers',
    replace: 'rawBody, headers',
  },
  {
    name: 'gives its own headers away',
    by: 'what is read and listed belongs to the caller',
    find: 'headers: { ...headers }, keyIndex,',
    replace: 'headers, keyIndex,',
  },
  {
    name: 'lists the bytes',
    by: 'a letter is listed as it was given',
    find: 'letters: page.map(withoutBytes), next',
    replace: 'letters: page.map((entry) => ({ ...entry, ...withoutBytes(entry) })), next',
  },
  {
    name: 'lists the time as a number',
    by: 'a letter is listed as it was given',
    find: 'keptAt: new Date(entry.keptAt),',
    replace: 'keptAt: entry.keptAt,',
  },
  {
    name: 'is true for an update of nothing',
    by: 'an update of a letter that is gone',
    find: 'return letter !== undefined;',
    replace: 'return true;',
  },
  {
    name: 'forgets the attempts with an update that gives none',
    by: 'an update changes why',
    find: UPDATE,
    replace: 'if (letter) Object.assign(letter, change, { attempts: attempts ?? 1 });',
  },
  {
    name: 'does not update the issues',
    by: 'an update changes why',
    find: UPDATE,
    replace:
      'if (letter) Object.assign(letter, change, attempts !== undefined && { attempts }, { issues: letter.issues });',
  },
  {
    name: 'lists the latest first',
    by: 'letters are listed in the order',
    find: 'one.serial - other.serial',
    replace: 'other.serial - one.serial',
  },
  {
    name: 'orders by the id',
    by: 'letters are listed in the order',
    find: 'one.serial - other.serial',
    replace: 'one.id < other.id ? -1 : 1',
  },
  {
    name: 'lists more than it is asked for',
    by: 'letters are listed in the order',
    find: PAGE,
    replace: 'const page = letters.slice(0, limit + 1);',
  },
  {
    name: 'has one page',
    by: 'letters are listed in the order',
    find: 'letters.length > limit ? String(page.at(-1)?.serial) : undefined;',
    replace: 'undefined;',
  },
  {
    name: 'begins a page where the one before it began',
    by: 'letters are listed in the order',
    find: 'String(page.at(-1)?.serial)',
    replace: 'String(page.at(0)?.serial)',
  },
  {
    name: 'counts pages by how many letters there were',
    by: 'letters that are removed between two pages',
    find: '.filter(({ serial }) => serial > Number(after));',
    replace: '.slice(Number(after));',
  },
  {
    name: 'counts all letters, whatever is asked for',
    by: 'a query finds the letters',
    find: 'return this.#matching(query).length;',
    replace: 'return this.#letters.size;',
  },
  ...['id', 'reason', 'eventId', 'eventName'].map((filter) => ({
    name: `has no filter ${filter}`,
    by: 'a query finds the letters',
    find: `(${filter} === undefined || letter.${filter} === ${filter})`,
    replace: 'true',
  })),
  {
    name: 'has no filter for the beginning of a name',
    by: 'a query finds the letters',
    find: 'letter.eventName.startsWith(eventNamePrefix)',
    replace: 'true',
  },
  {
    name: 'takes a character of a name for a wildcard',
    by: 'no character of a name is a wildcard',
    find: 'letter.eventName.startsWith(eventNamePrefix)',
    replace:
      "new RegExp('^' + eventNamePrefix.replace(/[.\\\\*]/g, '\\\\$&').replaceAll('_', '.')).test(letter.eventName)",
  },
  {
    name: 'takes names that differ in case for one',
    by: 'no character of a name is a wildcard',
    find: 'letter.eventName === eventName)',
    replace: 'letter.eventName.toLowerCase() === eventName.toLowerCase())',
  },
  {
    name: 'leaves out what was kept at the very time',
    by: 'since finds what was kept',
    find: 'letter.keptAt >= since.getTime()',
    replace: 'letter.keptAt > since.getTime()',
  },
  {
    name: 'ignores the age',
    by: 'since finds what was kept',
    find: 'letter.keptAt >= since.getTime()',
    replace: 'true',
  },
  {
    name: 'shows the letters of all namespaces',
    by: 'a namespace finds its own letters',
    find: 'letter.namespace === query.namespace &&',
    replace: '',
  },
  {
    name: 'counts groups over all queries',
    by: 'letters counted by reason and name',
    find: COUNT_GROUPS,
    replace:
      'new LetterGroups(names).add(this.#matching({ namespace: query.namespace, discarded: false })).list()',
  },
  {
    name: 'counts the same name of two reasons as one group',
    by: 'letters counted by reason and name',
    find: COUNT_GROUPS,
    replace:
      "new LetterGroups(names).add(this.#matching(query).map((letter) => ({ ...letter, reason: 'failed' }))).list()",
  },
  {
    name: 'tells the newest letter of a group, not the oldest',
    by: 'letters counted by reason and name',
    find: COUNT_GROUPS,
    replace:
      'new LetterGroups(names).add(this.#matching(query)).list().map((group) => ({ ...group, oldest: new Date(Math.max(...this.#matching(query).map(({ keptAt }) => keptAt))) }))',
  },
  {
    name: 'tells any number of names apart',
    by: 'letters of more names',
    find: COUNT_GROUPS,
    replace: 'new LetterGroups(1e9).add(this.#matching(query)).list()',
  },
  {
    name: 'leaves out the letters of further names',
    by: 'letters of more names',
    find: COUNT_GROUPS,
    replace:
      "new LetterGroups(names).add(this.#matching(query)).list().filter(({ eventName }) => eventName !== '…')",
  },
  {
    name: 'tells the names apart that were kept last',
    by: 'letters of more names',
    find: COUNT_GROUPS,
    replace: 'new LetterGroups(names).add(this.#matching(query).reverse()).list()',
  },
  {
    name: 'removes nothing',
    by: 'when an event is processed',
    find: 'for (const letter of done) this.#delete(letter);',
    replace: '',
  },
  {
    name: 'does not say how many it removed',
    by: 'when an event is processed',
    find: 'return done.length;',
    replace: 'return 0;',
  },
  {
    name: 'removes only what has failed',
    by: 'when an event is processed',
    find: REMOVED,
    replace: "letter.reason === 'failed' || letter.reason === 'unfinished',",
  },
  {
    name: 'removes only the same bytes',
    by: 'what waited for a retry',
    find: REMOVED,
    replace: 'letter.fingerprint === fingerprint,',
  },
  {
    name: 'removes every letter of the event',
    by: 'what waited for a retry',
    find: REMOVED,
    replace: 'true,',
  },
  {
    name: 'removes the same bytes of any event',
    by: 'other events keep their letters',
    find: 'const done = this.#of(key).filter(',
    replace: 'const done = [...this.#letters.values()].filter(',
  },
  {
    name: 'keeps no event again whose letter was removed',
    by: 'an event that was removed can be kept again',
    find: 'else this.#ofEvents.delete(letter.key);',
    replace: '',
  },
  {
    name: 'leaves no tombstone',
    by: 'of a letter that is discarded',
    find: TOMBSTONE,
    replace: '',
  },
  {
    name: 'lists a discarded letter among the letters',
    by: 'of a letter that is discarded',
    find: DISCARD,
    replace: 'const discarded =',
  },
  {
    name: 'forgets who discarded a letter',
    by: 'of a letter that is discarded',
    find: '{ by, because, at: new Date(this.#now()) }',
    replace: "{ by: '', because, at: new Date(this.#now()) }",
  },
  {
    name: 'leaves a tombstone with the bytes',
    by: 'of a letter that is discarded',
    find: 'const discarded = { by, because, at: new Date(this.#now()) };',
    replace: 'const discarded = { by, because, at: new Date(this.#now()), bytes: String(letter.rawBody) };',
  },
  {
    name: 'discards what is discarded',
    by: 'a letter is discarded once',
    find: "discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): boolean {\n    this.#forgetExpired();\n    const letter = this.#letters.get(id);",
    replace:
      "discard(id: string, { by, because }: Pick<Discarded, 'by' | 'because'>): boolean {\n    this.#forgetExpired();\n    const letter = this.#letters.get(id) ?? this.#tombstones.get(id);",
  },
  {
    name: 'is true for a letter that does not exist',
    by: 'a letter is discarded once',
    find: 'if (!letter) return false;',
    replace: 'if (!letter) return true;',
  },
  {
    name: 'keeps an event under the id of its tombstone',
    by: 'an event whose letter was discarded',
    find: SET,
    replace: `const old = [...this.#tombstones.values()].find(({ key }) => key === kept.key); if (old) kept.id = old.id; ${SET}`,
  },
  {
    name: 'deletes the tombstone of an event that is kept again',
    by: 'an event whose letter was discarded',
    find: SET,
    replace: `for (const { id, key } of this.#tombstones.values()) if (key === kept.key) this.#tombstones.delete(id); ${SET}`,
  },
  {
    name: 'keeps letters for ever',
    by: 'a letter whose retention is over',
    find: 'if (letter.keptAt > expired) break;',
    replace: 'break;',
  },
  {
    name: 'lists what is over until something deletes it',
    by: 'a letter whose retention is over',
    find: '#matching(query: DeadLetterQuery): Entry[] {\n    this.#forgetExpired();',
    replace: '#matching(query: DeadLetterQuery): Entry[] {',
  },
  {
    name: 'starts the retention again with every attempt',
    by: 'the retention counts from the first time',
    find: TAKES_OVER,
    replace: `${TAKES_OVER} Object.assign(known, { keptAt: this.#now() });`,
  },
  {
    name: 'counts the retention of a tombstone from the letter',
    by: 'the retention of a tombstone',
    find: 'if (discarded && discarded.at.getTime() > expired) break;',
    replace: 'if (this.#tombstones.values().next().value.keptAt > expired) break;',
  },
  {
    name: 'keeps tombstones for ever',
    by: 'the retention of a tombstone',
    find: 'if (discarded && discarded.at.getTime() > expired) break;',
    replace: 'break;',
  },
];

type MemoryDeadLetters = typeof memoryDeadLetters;

const MODULES: Record<string, unknown> = {
  '../claims/dead-letter-store.js': contract,
  '../errors.js': errors,
  '../options/option-checks.js': optionChecks,
  '../options/duration.js': duration,
};

/** The memory store, of sources that may be damaged first. */
function load(damage: (source: string) => string = (source) => source): MemoryDeadLetters {
  const modules: Record<string, unknown> = { ...MODULES };
  for (const { name, source } of SOURCES) {
    const { code } = transformSync(damage(source), {
      jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
      module: { type: 'commonjs' },
    });
    modules[name] = {};
    new Function('require', 'exports', code)((imported: string) => modules[imported], modules[name]);
  }
  const { memoryDeadLetters: create } = modules['./memory.js'] as { memoryDeadLetters?: MemoryDeadLetters };
  if (!create) throw new Error('The source of the memory store exports none.');
  return create;
}

/** The names of the cases that notice. */
async function noticed(create: MemoryDeadLetters): Promise<string[]> {
  let time = 1_700_000_000_000;
  const cases = deadLetterContract({
    create: ({ retention }) => create({ retention, now: () => time }),
    sleep: async (ms) => {
      time += ms;
    },
  });
  const failed: string[] = [];
  for (const { name, run } of cases) {
    await run().catch((error: Error) => {
      expect(error.message).toMatch(/^The store of dead letters breaks its contract: /);
      failed.push(name);
    });
  }
  return failed;
}

describe('the dead-letter contract', () => {
  test('is kept by the memory store as it is', async () => {
    expect(await noticed(load())).toEqual([]);
  });

  test.each(deadLetterContract({ create: ({ retention }) => load()({ retention }) }))(
    'is kept on a real clock: $name',
    ({ run }) => run(),
  );

  test.each(BROKEN)('notices a store that $name', async ({ by, find, replace }) => {
    expect(SOURCES.flatMap(({ source }) => source.split(find))).toHaveLength(SOURCES.length + 1);
    expect(await noticed(load((source) => source.replace(find, () => replace)))).toContainEqual(
      expect.stringMatching(`^${by}`),
    );
  });

  test('has no case that notices nothing', async () => {
    const names: string[] = [];
    for (const { find, replace } of BROKEN)
      names.push(...(await noticed(load((source) => source.replace(find, () => replace)))));
    const cases = deadLetterContract({ create: () => load()() }).map(({ name }) => name);
    expect(cases.filter((name) => !names.includes(name))).toEqual([]);
  });
});
