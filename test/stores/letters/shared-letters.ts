// What holds of every store of dead letters that processes share: many at once, pages that change, keys that rotate, dumps.
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { DeadLetterStore } from 'payment-webhooks';
import { aLetter, countOf, queryOf } from '../../setup/letters.js';

export const OLD_KEY = randomBytes(32);
export const NEW_KEY = randomBytes(32).toString('base64');
const newId = () => randomBytes(16).toString('hex');

type Open = (options?: { readonly encryptionKeys?: (Buffer | string)[] }) => DeadLetterStore;

export interface SharedLetters {
  /** A store in the place of these tests. */
  readonly open: Open;
  /** The same place through another client. */
  readonly another: Open;
  /** What the database has of a letter, by whatever it calls the parts. */
  dumpOf(id: string): Promise<Record<string, unknown>>;
  /** Which parts of a letter are bytes, what they are sealed to, and which parts the database may lose. */
  readonly parts: Readonly<Record<'bytes' | 'identity' | 'optional', readonly string[]>>;
  /** Changes a part of a letter in the database; undefined is one that is lost. @returns what is there now */
  change<Value>(id: string, part: string, edit: (value: unknown) => Value): Promise<Value>;
  readonly pages: { readonly letters: number; readonly limit: number };
}

export function keepsSharedLetters({ open, another, dumpOf, parts, change, pages }: SharedLetters): void {
  const sealed = () => open({ encryptionKeys: [OLD_KEY] });
  const rotated = () => open({ encryptionKeys: [NEW_KEY, OLD_KEY] });
  const onlyNew = () => open({ encryptionKeys: [NEW_KEY] });

  describe('kept by many at once', () => {
    test('of one event are one letter, from two clients of two stores', async () => {
      const stores = [sealed(), another({ encryptionKeys: [OLD_KEY] })];
      const letter = aLetter({ namespace: 'many-one' });
      const ids = await Promise.all(
        Array.from({ length: 50 }, (_, index) => stores[index % 2]?.keep({ ...letter, id: newId() })),
      );
      expect(new Set(ids).size).toBe(1);
      const { letters } = await sealed().list(queryOf(letter), { limit: 5 });
      expect(letters.map(({ id, attempts }) => [id, attempts])).toEqual([[ids[0], 50]]);
      expect((await sealed().read(ids[0] ?? '')).status).toBe('found');
    });

    test('of 50 events are 50 letters, each of them found and removed', async () => {
      const namespace = 'many-many';
      const letters = Array.from({ length: 50 }, () => aLetter({ namespace }));
      await Promise.all(letters.map((letter) => open().keep(letter)));
      expect(await countOf(open(), queryOf({ namespace }))).toBe(50);
      const removed = await Promise.all(letters.map((letter) => open().remove(letter)));
      expect(removed).toEqual(Array(50).fill(1));
      expect(await countOf(open(), queryOf({ namespace }))).toBe(0);
    });
  });

  test('are paged once each, in their order, while letters are added and removed', async () => {
    const namespace = 'paged';
    const store = open();
    const kept = Array.from({ length: pages.letters }, () => aLetter({ namespace }));
    for (const letter of kept) await store.keep(letter);
    const seen: string[] = [];
    const removed = new Set<string>();
    for (let after: string | undefined, page = 0; ; page += 1) {
      const { letters, next } = await store.list(queryOf({ namespace }), { limit: pages.limit, after });
      seen.push(...letters.map(({ id }) => id));
      // One that was seen, and one that is yet to come.
      for (const letter of [kept[page * pages.limit], kept[pages.letters - 1 - page]])
        if (letter && (await store.remove(letter)) === 1) removed.add(letter.id);
      if (page < 5) {
        const added = aLetter({ namespace });
        kept.push(added);
        await store.keep(added);
      }
      if (next === undefined) break;
      after = next;
    }
    expect(new Set(seen).size).toBe(seen.length);
    const stayed = kept.map(({ id }) => id).filter((id) => !removed.has(id));
    expect(seen.filter((id) => stayed.includes(id))).toEqual(stayed);
  });

  describe('with keys that rotate', () => {
    test('are sealed with the first key, and opened with any', async () => {
      const [letter, later] = [aLetter(), aLetter()];
      await sealed().keep(letter);
      expect(await rotated().read(letter.id)).toMatchObject({ status: 'found', rawBody: letter.rawBody });
      await rotated().keep(later);
      expect((await onlyNew().read(later.id)).status).toBe('found');
      expect(await sealed().read(later.id)).toEqual({ status: 'unreadable' });
    });

    test('are unreadable when the old key is gone, until a retry brings their bytes again', async () => {
      const letter = aLetter();
      await sealed().keep(letter);
      expect(await onlyNew().read(letter.id)).toEqual({ status: 'unreadable' });
      expect(await onlyNew().keep({ ...letter, id: newId() })).toBe(letter.id);
      for (const store of [onlyNew(), rotated()])
        expect(await store.read(letter.id)).toMatchObject({
          ...{ status: 'found', rawBody: letter.rawBody, headers: letter.headers },
          letter: { attempts: 2 },
        });
    });

    test.each([
      ['turned on', open, sealed],
      ['turned off', sealed, open],
    ])(
      'are unreadable when encryption is %s, until a retry brings their bytes again',
      async (_, written, read) => {
        const letter = aLetter();
        await written().keep(letter);
        await read().keep({ ...letter, id: newId() });
        expect(await read().read(letter.id)).toMatchObject({ status: 'found', rawBody: letter.rawBody });
      },
    );

    test('are unreadable without any key, and unencrypted ones with a key', async () => {
      const [secret, plain] = [aLetter(), aLetter()];
      await sealed().keep(secret);
      await open().keep(plain);
      expect(await open().read(secret.id)).toEqual({ status: 'unreadable' });
      expect(await sealed().read(plain.id)).toEqual({ status: 'unreadable' });
    });
  });

  describe('with a changed part', () => {
    test.each(parts.bytes)('are unreadable when a byte of %s is changed, or some are cut', async (part) => {
      const changes = [0, 1, 13, 29, -1].map((at) => (value: unknown) => flipped(value, at));
      for (const edit of [...changes, () => Buffer.of(1)]) {
        const id = await sealed().keep(aLetter());
        expect((await sealed().read(id)).status).toBe('found');
        await change(id, part, edit);
        expect(await sealed().read(id)).toEqual({ status: 'unreadable' });
      }
    });

    test.each(parts.identity)('are unreadable when %s is changed', async (part) => {
      const id = await sealed().keep(aLetter());
      const changed = await change(id, part, flipped);
      expect(await sealed().read(part === 'id' ? String(changed) : id)).toEqual({ status: 'unreadable' });
    });

    test.each(parts.bytes)('are unreadable when %s is that of another letter', async (part) => {
      const [one, other] = [aLetter(), aLetter()];
      for (const letter of [one, other]) await sealed().keep(letter);
      const theirs = await change(other.id, part, (value) => value);
      await change(one.id, part, () => theirs);
      expect(await sealed().read(one.id)).toEqual({ status: 'unreadable' });
      expect((await sealed().read(other.id)).status).toBe('found');
    });

    for (const part of parts.optional)
      test(`are unreadable without ${part}`, async () => {
        const id = await sealed().keep(aLetter());
        await change(id, part, () => undefined);
        expect(await sealed().read(id)).toEqual({ status: 'unreadable' });
      });

    test('are listed all the same, so that they can be found and discarded', async () => {
      const issues = [{ path: 'payload.id', message: 'required' }];
      const letter = aLetter({ namespace: 'changed', issues });
      await sealed().keep(letter);
      for (const part of ['issues', 'body']) await change(letter.id, part, () => Buffer.of(0));
      const { letters: listed } = await sealed().list(queryOf(letter), { limit: 5 });
      expect(listed.map((each) => [each.id, each.issues])).toEqual([[letter.id, []]]);
      expect(await sealed().discard(letter.id, { by: 'ada', because: 'changed' })).toBe(true);
    });
  });

  test('stay unknown in a dump where they are encrypted, but for the name and id of the event', async () => {
    const CANARY = 'CHIRP-personal';
    const SINGS = /chirp|43485249502d|Q0hJUlAt|NISVJQL|DSElSUC/i;
    const personal = () =>
      aLetter({
        rawBody: Buffer.from(JSON.stringify({ customer: { name: CANARY } })),
        headers: { 'x-forwarded-for': CANARY },
        cause: `${CANARY}: TypeError at orders.ts:10`,
        issues: [{ path: `payload.metadata.${CANARY}`, message: `expected string at ${CANARY}` }],
      });
    const letter = personal();
    const id = await sealed().keep(letter);
    const { cause, issues: mismatches } = letter;
    await sealed().update(id, { reason: 'invalid', code: 'EVENT_INVALID', cause, issues: mismatches });
    expect(await sealed().read(id)).toMatchObject({ letter: { cause, issues: mismatches } });
    await sealed().keep({ ...letter, id: newId() });
    const dump = JSON.stringify(await dumpOf(id));
    expect(dump).not.toMatch(SINGS);
    for (const known of [letter.eventName, letter.eventId]) expect(dump).toContain(known);
    await sealed().discard(id, { by: 'ada', because: 'test data' });
    expect(JSON.stringify(await dumpOf(id))).not.toMatch(SINGS);
    // The same letter without encryption sings in each part, so the search is one that finds.
    const plain = personal();
    await open().keep(plain);
    const { body, head, issues } = await dumpOf(plain.id);
    for (const part of [body, head, issues]) expect(part).toMatch(SINGS);
  });
}

/** With one bit of a byte changed, or of the last character; and the other mode. */
function flipped(value: unknown, at = -1): unknown {
  if (typeof value === 'string') return flipped(Buffer.from(value), at)?.toString();
  if (!Buffer.isBuffer(value)) return !value;
  const changed = Buffer.from(value);
  const index = at < 0 ? changed.length + at : at;
  changed[index] = (changed[index] ?? 0) ^ 1;
  return changed;
}
