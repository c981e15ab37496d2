// The dead-letter contract, part three: removing processed events, and discarding.
import { types } from 'node:util';
import type { NewDeadLetter } from '../../contracts/dead-letter-store.js';
import { assert, assertSame, type DeadLetterCases } from './context.js';

const WHY = { by: 'ada', because: 'test data; "quoted", Ωμέγα' } as const;

export const REMOVING_CASES: DeadLetterCases = {
  'when an event is processed its letter is removed, whatever the reason': async (context) => {
    for (const reason of ['unknown', 'invalid', 'failed', 'conflict', 'rejected', 'unfinished'] as const) {
      const letter = await context.kept({ reason });
      assertSame(await context.store.remove(letter), 1, 'remove() returns how many letters it removed');
      await context.gone(letter.id, 'a removed letter is gone');
      await context.listed([], 'a removed letter is not listed');
    }
  },

  'letters that waited for a retry are removed, and others with other bytes stay': async (context) => {
    const eventId = 'e-1';
    const processed = await context.kept({ eventId, reason: 'invalid' });
    const stays: NewDeadLetter[] = [];
    for (const reason of ['unknown', 'invalid', 'failed', 'conflict', 'rejected', 'unfinished'] as const) {
      const letter = await context.kept({ eventId, reason, bytes: reason });
      if (reason !== 'failed' && reason !== 'unfinished') stays.push(letter);
    }
    assertSame(await context.store.remove(processed), 3, 'remove() returns how many letters it removed');
    await context.listed(stays, 'letters with other bytes stay, unless they waited for a retry');
  },

  'other events keep their letters, even with the same bytes': async (context) => {
    const processed = await context.kept({ eventId: 'e-1' });
    const others = [
      await context.kept({ eventId: 'e-2' }),
      await context.kept({ eventId: 'e-1', sandbox: true }),
      await context.kept({ eventId: 'E-1' }),
    ];
    await context.store.remove(processed);
    await context.listed(others, 'remove() removes only letters of its event');
    assertSame(await context.store.remove(processed), 0, 'remove() finds nothing the second time');
  },

  'an event that was removed can be kept again': async (context) => {
    const first = await context.kept({ eventId: 'e-1', attempts: 5 });
    await context.store.remove(first);
    const second = await context.kept({ eventId: 'e-1' });
    await context.listed([second], 'an event can be kept again');
    assertSame((await context.only()).attempts, 1, 'a removed letter is forgotten');
  },

  'a discarded letter leaves a tombstone, which says who, why and when': async (context) => {
    const { id } = await context.kept({ reason: 'invalid', eventName: 'refund.failed', bytes: 'personal' });
    const letter = await context.only();
    assertSame(await context.store.discard(id, WHY), true, 'discard() returns true for an existing letter');
    await context.gone(id, 'a discarded letter no longer has bytes');
    await context.listed([], 'a discarded letter is not listed as a letter');
    const [tombstone, ...others] = await context.list({ discarded: true });
    assertSame([tombstone?.id, others.length], [id, 0], 'there is one tombstone of one letter');
    const { discarded, keyId: _, ...rest } = { ...tombstone };
    const { keyId, ...of } = letter;
    assert(keyId !== undefined, 'a letter says which key signed it', keyId);
    assertSame(rest, of, 'a tombstone says which letter it was');
    assertSame([discarded?.by, discarded?.because], [WHY.by, WHY.because], 'a tombstone says who and why');
    assert(types.isDate(discarded?.at), 'a tombstone says when', discarded);
    assert(!JSON.stringify(tombstone).includes('personal'), 'a tombstone holds no bytes', tombstone);
    const count = await context.store.count?.(context.query({ discarded: true }));
    if (count !== undefined) assertSame(count, 1, 'tombstones are counted');
  },

  'a letter is discarded once, and not removed or changed after that': async (context) => {
    const letter = await context.kept();
    await context.store.discard(letter.id, WHY);
    const again = await context.store.discard(letter.id, { by: 'eve', because: 'another' });
    const change = { reason: 'conflict', code: undefined, issues: [] } as const;
    const changed = await context.store.update(letter.id, change);
    assertSame([again, changed], [false, false], 'a tombstone does not change');
    assertSame(await context.store.remove(letter), 0, 'a tombstone is not removed');
    const [tombstone] = await context.list({ discarded: true });
    const { discarded, reason } = { ...tombstone };
    assertSame([discarded?.by, reason], ['ada', 'failed'], 'a tombstone does not change');
    const unknown = await context.store.discard('no such id', WHY);
    assertSame(unknown, false, 'discard() returns false without a letter');
  },

  'an event whose letter was discarded can be kept again, and its tombstone stays': async (context) => {
    const first = await context.kept({ eventId: 'e-1', attempts: 5 });
    await context.store.discard(first.id, WHY);
    const second = await context.kept({ eventId: 'e-1' });
    assert(second.id !== first.id, 'a letter that is kept after a tombstone has a new id', second.id);
    await context.listed([second], 'an event can be kept again');
    assertSame((await context.only()).attempts, 1, 'a discarded letter is forgotten');
    await context.listed([first], 'a tombstone stays', { discarded: true });
  },
};
