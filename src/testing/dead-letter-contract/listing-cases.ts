// The dead-letter contract, part two: which letters a query finds, and in which order.
import type { DeadLetterPage, DeadLetterReason, NewDeadLetter } from '../../contracts/dead-letter-store.js';
import { assert, type DeadLetterCases } from './context.js';

/** Longer than one tick of the clock of a store. */
const A_WHILE_MS = 20;

export const LISTING_CASES: DeadLetterCases = {
  'letters are listed in order of arrival across pages, even within a millisecond': async (context) => {
    const letters = [];
    for (let index = 0; index < 25; index += 1) letters.push(await context.kept());
    await context.listed(letters, 'letters are listed in order of arrival');
    const ids = (await context.list({}, 4)).map(({ id }) => id);
    const inOrder = ids.length === 25 && letters.every(({ id }, index) => id === ids[index]);
    assert(inOrder, 'small pages list the same letters in the same order', ids);
  },

  'removing letters between two pages skips no other letter': async (context) => {
    const letters = [];
    for (let index = 0; index < 6; index += 1) letters.push(await context.kept());
    let first: DeadLetterPage = { letters: [] };
    for await (const page of context.pages({}, 3)) {
      first = page;
      if (page.letters.length > 0) break;
    }
    const listed = first.letters.length;
    for (const { key, fingerprint } of letters.slice(0, listed))
      await context.store.remove({ key, fingerprint });
    const ids = (await context.list({}, 3, first.next)).map(({ id }) => id);
    const expected = letters.slice(listed).map(({ id }) => id);
    assert(ids.join() === expected.join(), 'the next page begins where the previous one ended', ids);
  },

  'a query finds the letters that match all of its fields': async (context) => {
    const of = (eventName: string, reason: DeadLetterReason, eventId: string) =>
      context.kept({ eventName, reason, eventId });
    const paid = await of('transaction.paid', 'failed', 'e-1');
    const refund = await of('refund.succeeded', 'unknown', 'e-2');
    const failed = await of('refund.failed', 'failed', 'e-3');
    const is = (expected: (typeof paid)[], filter: Parameters<typeof context.listed>[2]) =>
      context.listed(expected, 'a query finds only the letters that match all of its fields', filter);
    await is([paid, refund, failed], {});
    await is([refund], { id: refund.id });
    await is([paid, failed], { reason: 'failed' });
    await is([failed], { eventId: 'e-3' });
    await is([refund], { eventName: 'refund.succeeded' });
    await is([refund, failed], { eventNamePrefix: 'refund.' });
    await is([failed], { eventNamePrefix: 'refund.', reason: 'failed' });
    await is([], { eventName: 'refund.succeeded', reason: 'failed' });
    await is([], { id: 'no such id' });
  },

  'no character of a name is a wildcard, and case matters': async (context) => {
    const resources = ['a_b', 'axb', 'a%', 'a*', "a'b", 'a\\b', 'A_B'];
    const letters = [];
    for (const eventName of [...resources.map((resource) => `${resource}.paid`), 'a_b.Paid'])
      letters.push(await context.kept({ eventName }));
    for (const letter of letters) {
      const { eventName } = letter;
      await context.listed([letter], `the name ${eventName} finds its own letter alone`, { eventName });
      const eventNamePrefix = eventName.slice(0, -'paid'.length);
      const expected = letters.filter((other) => other.eventName.startsWith(eventNamePrefix));
      const promise = `the prefix ${eventNamePrefix} finds names that begin with it`;
      await context.listed(expected, promise, { eventNamePrefix });
    }
  },

  'since finds letters that were kept at that time or later': async (context) => {
    const first = await context.kept();
    await context.sleep(A_WHILE_MS);
    const second = await context.kept();
    const [, letter] = await context.list();
    const keptAt = letter?.keptAt ?? new Date(0);
    await context.listed([second], 'since excludes earlier letters', { since: keptAt });
    const later = new Date(keptAt.getTime() + 1);
    await context.listed([], 'since excludes letters that were kept before it', { since: later });
    await context.listed([first, second], 'every letter was kept after 1970', { since: new Date(0) });
  },

  'counts by reason and name agree with the list': async (context) => {
    const of = (reason: DeadLetterReason, eventName: string, filter: Partial<NewDeadLetter> = {}) =>
      context.kept({ reason, eventName, ...filter });
    await of('unknown', 'refund.failed');
    await context.sleep(A_WHILE_MS);
    await of('failed', 'refund.failed');
    await of('unknown', 'a%.paid');
    await of('unknown', 'refund.failed');
    const discarded = await of('unknown', 'a%.paid');
    await context.store.discard(discarded.id, { by: 'ada', because: 'test data' });
    await of('unknown', 'refund.failed', { namespace: `${context.namespace}-other` });
    await context.counted({});
    await context.counted({ reason: 'unknown' });
    await context.counted({ eventNamePrefix: 'refund.' });
    await context.counted({ discarded: true });
    await context.counted({ id: 'no such id' });
  },

  'names beyond the limit are counted together, and the first names separately': async (context) => {
    for (const eventName of ['z.first', 'a.second', 'b.third', 'z.first', 'c.fourth', 'b.third'])
      await context.kept({ reason: 'unknown', eventName });
    for (const eventName of ['b.third', 'a.second']) await context.kept({ reason: 'failed', eventName });
    for (const names of [2, 3, 4]) await context.counted({}, names);
  },

  'a namespace finds its own letters': async (context) => {
    const own = await context.kept();
    await context.kept({ namespace: `${context.namespace}-other` });
    await context.listed([own], 'letters of another namespace are not found');
  },
};
