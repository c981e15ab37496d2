// The context of a dead-letter contract case: a store, its letters, and assertions.
import { createHash, randomBytes } from 'node:crypto';
import { types } from 'node:util';
import {
  type DeadLetter,
  type DeadLetterContent,
  type DeadLetterGroup,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetterStore,
  FURTHER_NAMES,
  type NewDeadLetter,
} from '../../contracts/dead-letter-store.js';
import { assertionsOf } from '../contract-cases.js';

const { violation, ...assertions } = assertionsOf('The dead-letter store');
export const { assert, assertSame } = assertions;

/** Each promise of the store, with its check. */
export type DeadLetterCases = Readonly<Record<string, (context: DeadLetterContext) => Promise<void>>>;

/** The fields of a letter that matter to a case; the rest is filled in. */
export interface Kept extends Partial<Omit<NewDeadLetter, 'rawBody' | 'fingerprint' | 'key'>> {
  readonly bytes?: string | undefined;
}

type Filter = Partial<Omit<DeadLetterQuery, 'namespace'>>;

/** More than a case needs, even if the store has many other letters. */
const MAX_PAGES = 1_000;

export class DeadLetterContext {
  readonly store: DeadLetterStore;
  readonly sleep: (ms: number) => Promise<void>;
  /** Unique, so that no other case has letters in it. */
  readonly namespace = `contract-${randomBytes(8).toString('hex')}`;

  constructor(store: DeadLetterStore, sleep: (ms: number) => Promise<void>) {
    this.store = store;
    this.sleep = sleep;
  }

  /** A letter as the receiver makes it. The same event id and bytes are one letter. */
  letter({ bytes = '{}', ...given }: Kept = {}): NewDeadLetter {
    const { eventId = randomBytes(8).toString('hex'), sandbox = false, namespace = this.namespace } = given;
    return {
      id: randomBytes(16).toString('hex'),
      reason: 'failed',
      eventName: 'refund.succeeded',
      attempts: 1,
      code: 'HANDLER_FAILED',
      issues: [],
      headers: { 'content-type': 'application/json' },
      keyIndex: 0,
      keyId: '0123456789ab',
      signaturePrefix: 'ba9876543210',
      ...given,
      ...{ eventId, sandbox, namespace },
      key: keyOf({ namespace, sandbox, eventId }),
      fingerprint: createHash('sha256').update(bytes).digest('hex'),
      rawBody: Buffer.from(bytes),
    };
  }

  /** Keeps a letter. @returns it, with the id that the store gave it */
  async kept(given: Kept = {}): Promise<NewDeadLetter> {
    const letter = this.letter(given);
    const id = await this.store.keep(letter);
    assert(typeof id === 'string' && id !== '', 'keep() returns the id of the letter', id);
    return { ...letter, id };
  }

  query(filter: Filter = {}): DeadLetterQuery {
    return { namespace: this.namespace, discarded: false, ...filter };
  }

  /** All letters, page by page. */
  async list(filter: Filter = {}, limit = 100, from?: string): Promise<DeadLetter[]> {
    const letters: DeadLetter[] = [];
    for await (const page of this.pages(filter, limit, from)) letters.push(...page.letters);
    return letters;
  }

  /** As the receiver reads them: a page may be empty although there are more. */
  async *pages(filter: Filter, limit: number, from?: string): AsyncGenerator<DeadLetterPage, void> {
    const seen = new Set([from]);
    for (let after = from; ; ) {
      const page = await this.store.list(this.query(filter), { limit, after });
      assert(page.letters.length <= limit, 'a page has at most `limit` letters', page.letters.length);
      for (const { keptAt } of page.letters) assert(types.isDate(keptAt), 'keptAt is a Date', keptAt);
      yield page;
      const { next } = page;
      if (next === undefined || (page.letters.length === 0 && seen.has(next))) return;
      assert(!seen.has(next), 'the cursor of the next page is a new one', next);
      assert(seen.size < MAX_PAGES, 'the last page has no `next`', next);
      seen.add(next);
      after = next;
    }
  }

  /** Expects exactly these letters, in this order. */
  async listed(expected: readonly NewDeadLetter[], promise: string, filter: Filter = {}): Promise<void> {
    assertSame(idsOf(await this.list(filter)), idsOf(expected), promise);
    const count = await this.store.count?.(this.query(filter));
    if (count !== undefined) assertSame(count, expected.length, 'count() counts what list() lists');
  }

  /** Compares countGroups(), if the store has it, with the list. */
  async counted(filter: Filter, names = 1_000): Promise<void> {
    if (!this.store.countGroups) return;
    const counted = await this.store.countGroups(this.query(filter), { names });
    const expected = countedOf(await this.list(filter), names);
    for (const { oldest } of counted) assert(types.isDate(oldest), 'oldest is a Date', oldest);
    assertSame(inOrder(counted), inOrder(expected), 'countGroups() counts what list() lists');
  }

  /** The only letter of the case. */
  async only(): Promise<DeadLetter> {
    const [letter, ...others] = await this.list();
    if (letter && others.length === 0) return letter;
    throw violation('the same bytes of one event are one letter', others.length + (letter ? 1 : 0));
  }

  async read(id: string): Promise<Extract<DeadLetterContent, { status: 'found' }>> {
    const content = await this.store.read(id);
    if (content.status === 'found') return content;
    throw violation('an existing letter can be read', content);
  }

  async gone(id: string, promise: string): Promise<void> {
    assertSame(await this.store.read(id), { status: 'gone' }, promise);
  }
}

/** As the receiver makes it: a namespace has no colon. */
export function keyOf(letter: Pick<NewDeadLetter, 'namespace' | 'sandbox' | 'eventId'>): string {
  return `${letter.namespace}:${letter.sandbox ? 'sandbox' : 'live'}:${letter.eventId}`;
}

/** Not the class that stores use, which would agree with its own bugs. */
function countedOf(letters: readonly DeadLetter[], names: number): DeadLetterGroup[] {
  const groups = new Map<string, DeadLetterGroup>();
  for (const { reason, eventName, keptAt } of letters) {
    const ofReason = letters.filter((letter) => letter.reason === reason).map((letter) => letter.eventName);
    const toldApart = [...new Set(ofReason)].slice(0, names).includes(eventName);
    const name = toldApart ? eventName : FURTHER_NAMES;
    const { count, oldest } = groups.get(`${reason} ${name}`) ?? { count: 0, oldest: keptAt };
    const earliest = keptAt < oldest ? keptAt : oldest;
    groups.set(`${reason} ${name}`, { reason, eventName: name, count: count + 1, oldest: earliest });
  }
  return [...groups.values()];
}

function inOrder(groups: readonly DeadLetterGroup[]): string[] {
  const lines = groups.map(
    ({ reason, eventName, count, oldest }) => `${count} of ${reason} ${eventName} since ${oldest.toJSON()}`,
  );
  return lines.sort();
}

function idsOf(letters: readonly { readonly id: string }[]): string[] {
  return letters.map(({ id }) => id);
}
