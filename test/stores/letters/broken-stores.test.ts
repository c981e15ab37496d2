// Whether the dead-letter contract notices: the memory store is damaged in one place at a time, and each time a case must fail.
import { describe, test } from '@jest/globals';
import type {
  DeadLetterPageRequest,
  DeadLetterQuery,
  DeadLetterStore,
} from '../../../src/contracts/dead-letter-store.js';
import * as contract from '../../../src/contracts/dead-letter-store.js';
import * as errors from '../../../src/errors.js';
import * as options from '../../../src/options/define-options.js';
import type { memoryDeadLetters } from '../../../src/stores/letters/memory.js';
import { deadLetterContract } from '../../../src/testing/dead-letter-contract.js';
import * as duration from '../../../src/time.js';
import { type Damage, noticesEachDamage } from '../damaged-source.js';

const SAME = '.find(({ fingerprint }) => fingerprint === letter.fingerprint)';
const takesOver = (fields: string) => `Object.assign(known, { ${fields} });`;
const TAKES_OVER = takesOver('reason, code, cause, issues, ...proof, attempts');
const ATTEMPTS = 'const attempts = Math.max(known.attempts + 1, letter.attempts);';
const SET = 'this.#letters.set(kept.id, kept);';
const UPDATE =
  'if (letter) Object.assign(letter, { ...change, cause }, attempts !== undefined && { attempts });';
const PAGE = 'const page = letters.slice(0, limit);';
const COUNT_GROUPS = 'new LetterGroups(names).add(this.#matching(query)).list()';
const counted = (letters: string) => COUNT_GROUPS.replace('this.#matching(query)', letters);
const REMOVED =
  "letter.fingerprint === fingerprint || letter.reason === 'failed' || letter.reason === 'unfinished',";
const TOMBSTONE = 'this.#tombstones.set(id, { ...letter, ...NO_CONTENT, discarded });';
const DISCARD = `this.#delete(letter);
    const discarded =`;
const TOMBSTONES = 'for (const { id, key } of this.#tombstones.values()) if (key === kept.key)';
const STAYS = 'if (discarded && discarded.at.getTime() > expired) break;';
const AT = 'at: new Date(this.#now()) }';

/** The statement does what it did, and before that something else. */
const first = (more: string, statement: string) => [statement, `${more} ${statement}`] as const;

/** By the beginning of the name of the case that notices. */
const BROKEN: Readonly<Record<string, readonly Damage[]>> = {
  'the same bytes of one event are one letter, which keeps its id, place and time': [
    ['keeps a second letter of the same bytes', SAME, '.find(() => false)'],
    ['returns the id that it was given, not that of the letter', 'return known.id;', 'return letter.id;'],
    [
      'replaces a letter that is kept again by the new one',
      TAKES_OVER,
      'this.#delete(known); return this.keep({ ...letter, id: known.id, attempts });',
    ],
    [
      'keeps the headers of the first attempt',
      TAKES_OVER,
      takesOver('reason, code, cause, issues, attempts'),
    ],
    ['tells the time of the latest attempt', ...first('known.keptAt = this.#now() + 1;', TAKES_OVER)],
    [
      'keeps the key of the first attempt',
      TAKES_OVER,
      takesOver('reason, code, cause, issues, headers, keyIndex, attempts'),
    ],
  ],
  'other bytes, another id': [['takes other bytes of one event for the same letter', SAME, '.at(0)']],
  'keeping a letter again replaces its reason, and counts the attempt': [
    [
      'keeps the reason of the first attempt',
      TAKES_OVER,
      takesOver('code, cause, issues, ...proof, attempts'),
    ],
    [
      'keeps the cause of the first attempt',
      TAKES_OVER,
      takesOver('reason, code, issues, ...proof, attempts'),
    ],
    [
      'keeps an earlier cause when the latest attempt has none',
      TAKES_OVER,
      TAKES_OVER.replace('cause,', 'cause: cause ?? known.cause,'),
    ],
    [
      'keeps the issues of an attempt that had more of them',
      ...first('if (issues.length === 0) issues.push(...known.issues);', TAKES_OVER),
    ],
    ['counts no attempts', ATTEMPTS, 'const attempts = letter.attempts;'],
    ['counts its own attempts alone', ATTEMPTS, 'const attempts = known.attempts + 1;'],
  ],
  'concurrent calls that keep the same letter all get its id': [
    [
      'reads, thinks, and then writes',
      `keep(letter: NewDeadLetter): string {
    this.#forgetExpired();
    const known = this.#of(letter.key)${SAME};`,
      `async keep(letter: NewDeadLetter) {
    this.#forgetExpired();
    const known = this.#of(letter.key)${SAME};
    await null;`,
    ],
  ],
  'bytes and headers are read as they were kept, whatever they contain': [
    ['keeps bytes as text', ...first('kept.rawBody = Buffer.from(String(kept.rawBody));', SET)],
    ['forgets the headers', ...first('kept.headers = {};', SET)],
    ['forgets which key had signed', ...first('kept.keyIndex = 0;', SET)],
  ],
  'a letter is listed as it was kept, with the time of the store': [
    ['forgets the id of the key', ...first('kept.keyId = undefined;', SET)],
    ['forgets the cause', ...first('kept.cause = undefined;', SET)],
    ['cuts the cause', ...first('kept.cause = kept.cause?.slice(0, 100);', SET)],
    ['forgets the mode', ...first('kept.sandbox = false;', SET)],
    [
      'lists the bytes',
      'letters: page.map(withoutBytes), next',
      'letters: page.map((entry) => ({ ...entry, ...withoutBytes(entry) })), next',
    ],
    ['lists the time as a number', 'keptAt: new Date(entry.keptAt),', 'keptAt: entry.keptAt,'],
  ],
  'read() and list() return copies: changing them changes nothing': [
    ['gives its own bytes away', 'rawBody: Buffer.from(rawBody), headers', 'rawBody, headers'],
    ['gives its own headers away', 'headers: { ...headers }, keyIndex,', 'headers, keyIndex,'],
  ],
  'an update of a removed letter returns false, and does not restore it': [
    ['is true for an update of nothing', 'return letter !== undefined;', 'return true;'],
  ],
  'an update changes the reason, and the attempts only if it has any': [
    [
      'forgets the attempts with an update that gives none',
      UPDATE,
      UPDATE.replace('attempts !== undefined && { attempts }', '{ attempts: attempts ?? 1 }'),
    ],
    ['does not update the cause', UPDATE, UPDATE.replace(', cause }', ' }')],
    ['does not update the issues', UPDATE, UPDATE.replace(', cause }', ', cause, issues: letter.issues }')],
  ],
  'letters are listed in order of arrival across pages, even within a millisecond': [
    ['lists the latest first', 'one.serial - other.serial', 'other.serial - one.serial'],
    ['orders by the id', 'one.serial - other.serial', 'one.id < other.id ? -1 : 1'],
    ['lists more than it is asked for', PAGE, 'const page = letters.slice(0, limit + 1);'],
    ['has one page', 'letters.length > limit ? String(page.at(-1)?.serial) : undefined;', 'undefined;'],
    [
      'has a further page after the last one, without end',
      '? String(page.at(-1)?.serial) : undefined;',
      '? String(page.at(-1)?.serial) : String((page.at(-1)?.serial ?? Number(after)) + 1);',
    ],
    ['begins a page where the one before it began', 'page.at(-1)?.serial', 'page.at(0)?.serial'],
  ],
  'removing letters between two pages skips no other letter': [
    [
      'counts pages by how many letters there were',
      '.filter(({ serial }) => serial > Number(after))',
      '.slice(Number(after))',
    ],
  ],
  'a query finds the letters that match all of its fields': [
    ...['id', 'reason', 'eventId', 'eventName'].map(
      (filter): Damage => [
        `has no filter ${filter}`,
        `(${filter} === undefined || letter.${filter} === ${filter})`,
        'true',
      ],
    ),
    ['counts all letters, whatever is asked for', 'this.#matching(query).length', 'this.#letters.size'],
    ['has no filter for the beginning of a name', 'letter.eventName.startsWith(eventNamePrefix)', 'true'],
  ],
  'no character of a name is a wildcard, and case matters': [
    [
      'takes a character of a name for a wildcard',
      'letter.eventName.startsWith(eventNamePrefix)',
      "new RegExp('^' + eventNamePrefix.replace(/[.\\\\*]/g, '\\\\$&').replaceAll('_', '.')).test(letter.eventName)",
    ],
    [
      'takes names that differ in case for one',
      'letter.eventName === eventName)',
      'letter.eventName.toLowerCase() === eventName.toLowerCase())',
    ],
  ],
  'since finds letters that were kept at that time or later': [
    ['excludes letters that were kept at that time', 'keptAt >= since.getTime()', 'keptAt > since.getTime()'],
    ['ignores the age', 'letter.keptAt >= since.getTime()', 'true'],
  ],
  'a namespace finds its own letters': [
    ['shows the letters of all namespaces', 'letter.namespace === query.namespace &&', ''],
  ],
  'counts by reason and name agree with the list': [
    [
      'counts groups over all queries',
      COUNT_GROUPS,
      counted('this.#matching({ namespace: query.namespace, discarded: false })'),
    ],
    [
      'counts the same name of two reasons as one group',
      COUNT_GROUPS,
      counted("this.#matching(query).map((letter) => ({ ...letter, reason: 'failed' }))"),
    ],
    [
      'tells the newest letter of a group, not the oldest',
      COUNT_GROUPS,
      `${COUNT_GROUPS}.map((group) => ({ ...group, oldest: new Date(this.#matching(query).at(-1).keptAt) }))`,
    ],
  ],
  'names beyond the limit are counted together, and the first names separately': [
    ['tells any number of names apart', COUNT_GROUPS, COUNT_GROUPS.replace('names', '1e9')],
    [
      'leaves out further names',
      COUNT_GROUPS,
      `${COUNT_GROUPS}.filter(({ eventName }) => eventName !== '…')`,
    ],
    ['tells the names apart that were kept last', COUNT_GROUPS, counted('this.#matching(query).reverse()')],
  ],
  'when an event is processed': [
    ['removes nothing', 'for (const letter of done) this.#delete(letter);', ''],
    ['does not say how many it removed', 'return done.length;', 'return 0;'],
    ['removes only what has failed', 'letter.fingerprint === fingerprint || letter.reason', 'letter.reason'],
  ],
  'letters that waited for a retry are removed, and others with other bytes stay': [
    ['removes only the same bytes', REMOVED, 'letter.fingerprint === fingerprint,'],
    ['removes every letter of the event', REMOVED, 'true,'],
  ],
  'other events keep their letters, even with the same bytes': [
    ['removes the same bytes of any event', 'this.#of(key).filter(', '[...this.#letters.values()].filter('],
  ],
  'an event that was removed can be kept again': [
    ['keeps no event again whose letter was removed', 'else this.#ofEvents.delete(letter.key);', ''],
  ],
  'a discarded letter leaves a tombstone, which says who, why and when': [
    ['leaves no tombstone', TOMBSTONE, ''],
    ['lists a discarded letter among the letters', DISCARD, 'const discarded ='],
    ['forgets who discarded a letter', `by, because, ${AT}`, `by: '', because, ${AT}`],
    ['leaves a tombstone with the bytes', AT, `bytes: String(letter.rawBody), ${AT}`],
  ],
  'a letter is discarded once, and not removed or changed after that': [
    [
      'discards what is discarded',
      'const letter = this.#letters.get(id);\n    if (!letter) return false;',
      'const letter = this.#letters.get(id) ?? this.#tombstones.get(id);\n    if (!letter) return false;',
    ],
    ['is true for a letter that does not exist', 'if (!letter) return false;', 'if (!letter) return true;'],
  ],
  'an event whose letter was discarded': [
    ['keeps an event under the id of its tombstone', ...first(`${TOMBSTONES} kept.id = id;`, SET)],
    ['deletes the tombstone of its event', ...first(`${TOMBSTONES} this.#tombstones.delete(id);`, SET)],
  ],
  'an expired letter is not found by any call': [
    ['never expires letters', 'if (letter.keptAt > expired) break;', 'break;'],
    [
      'lists expired letters until something deletes them',
      '#matching(query: DeadLetterQuery): Entry[] {\n    this.#forgetExpired();',
      '#matching(query: DeadLetterQuery): Entry[] {',
    ],
  ],
  'the retention starts when a letter is first kept': [
    ['starts the retention again with every attempt', ...first('known.keptAt = this.#now();', TAKES_OVER)],
  ],
  'the retention of a tombstone starts when its letter is discarded': [
    [
      'counts the retention of a tombstone from the letter',
      STAYS,
      'if (this.#tombstones.values().next().value.keptAt > expired) break;',
    ],
    ['never expires tombstones', STAYS, 'break;'],
  ],
};

describe('the dead-letter contract', () => {
  const { load } = noticesEachDamage<typeof memoryDeadLetters>({
    sources: ['stores/letters/count-letters', 'stores/letters/memory'],
    exported: 'memoryDeadLetters',
    modules: {
      '../../contracts/dead-letter-store.js': contract,
      '../../errors.js': errors,
      '../../options/define-options.js': options,
      '../../time.js': duration,
    },
    contract: (create, now, sleep) =>
      deadLetterContract({ create: ({ retention }) => create({ retention, now }), sleep }),
    complaint: /^The dead-letter store breaks its contract: /,
    damages: BROKEN,
  });

  test.each(deadLetterContract({ create: ({ retention }) => load()({ retention }) }))(
    'is kept on a real clock: $name',
    ({ run }) => run(),
  );

  test.each(deadLetterContract({ create: ({ retention }) => withEmptyPages(load()({ retention })) }))(
    'is kept by a store that returns an empty page before each one that is not: $name',
    ({ run }) => run(),
  );
});

function withEmptyPages(store: DeadLetterStore): DeadLetterStore {
  const list = store.list.bind(store);
  return Object.assign(store, {
    list: (query: DeadLetterQuery, { limit, after = '' }: DeadLetterPageRequest) =>
      after.startsWith('full')
        ? list(query, { limit, after: after.slice('full'.length) || undefined })
        : { letters: [], next: `full${after}` },
  });
}
