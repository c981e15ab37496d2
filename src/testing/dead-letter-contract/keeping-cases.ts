// The dead-letter contract, part one: what is kept, and what another attempt changes.
import type { DeadLetter, NewDeadLetter } from '../../contracts/dead-letter-store.js';
import { assert, assertSame, type DeadLetterCases } from './context.js';

/** As long as one can be. */
const CAUSE = `märk-paid: TypeError at orders.ts:${'1'.repeat(166)}`;

/** Every byte value; together they are not UTF-8. */
const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

export const KEEPING_CASES: DeadLetterCases = {
  'a letter is listed as it was kept, with the time of the store': async (context) => {
    const issues = [{ path: 'payload.metadata', message: 'expected record' }];
    const why = { reason: 'invalid', code: 'EVENT_INVALID', cause: CAUSE, issues, attempts: 3 } as const;
    const given = await context.kept({ ...why, sandbox: true });
    const letter = await context.only();
    assertSame(metadataOf(letter), metadataOf(given), 'a letter is listed as it was kept');
    const hasContent = 'rawBody' in letter || 'headers' in letter;
    assert(!hasContent, 'a list contains no bytes or headers', Object.keys(letter));
  },

  'bytes and headers are read as they were kept, whatever they contain': async (context) => {
    const headers = { 'content-type': 'application/json', 'x-odd': 'Ωμέγα "q" \\ \u2028', __proto__x: '1' };
    const letter = { ...context.letter({ keyIndex: 2 }), rawBody: Buffer.from(ALL_BYTES), headers };
    const id = await context.store.keep(letter);
    const content = await context.read(id);
    assertSame(content.rawBody.toString('hex'), ALL_BYTES.toString('hex'), 'every byte is kept as it was');
    assertSame({ ...content.headers }, headers, 'headers are kept as they were');
    assertSame(content.keyIndex, 2, 'the index of the key is kept');
    assertSame(content.signaturePrefix, letter.signaturePrefix, 'the first digits of the signature are kept');
    const expected = metadataOf({ ...letter, id });
    assertSame(metadataOf(content.letter), expected, 'read() returns the letter with its content');
  },

  'read() and list() return copies: changing them changes nothing': async (context) => {
    const { id } = await context.kept({ bytes: 'as it was' });
    const content = await context.read(id);
    content.rawBody.fill(0);
    Object.assign(content.headers, { 'content-type': 'changed' });
    Object.assign(content.letter, { reason: 'conflict' });
    (await context.only()).keptAt.setTime(0);
    const { rawBody, headers, letter } = await context.read(id);
    assertSame(rawBody.toString(), 'as it was', 'the bytes of a letter are read as a copy');
    const type = headers['content-type'];
    assertSame(type, 'application/json', 'the headers of a letter are read as a copy');
    assertSame(letter.reason, 'failed', 'a letter is read as a copy');
    assert((await context.only()).keptAt.getTime() !== 0, 'a letter is listed as a copy', 0);
  },

  'the same bytes of one event are one letter, which keeps its id, place and time': async (context) => {
    const first = await context.kept({ eventId: 'e-1' });
    const before = await context.only();
    const later = await context.kept({ eventId: 'e-2' });
    const proof = { keyIndex: 1, keyId: 'aaaaaaaaaaaa', signaturePrefix: 'bbbbbbbbbbbb' };
    const again = await context.kept({ eventId: 'e-1', headers: { 'x-again': '1' }, ...proof });
    assertSame(again.id, first.id, 'keep() returns the id of the letter');
    await context.listed([first, later], 'a letter that is kept again keeps its place');
    const [after] = await context.list();
    assertSame(after?.keptAt, before.keptAt, 'keptAt is the time at which a letter was first kept');
    const { headers, keyIndex, signaturePrefix } = await context.read(first.id);
    assertSame(
      [{ ...headers }, { keyIndex, keyId: after?.keyId, signaturePrefix }],
      [{ 'x-again': '1' }, proof],
      'headers and key are those of the latest delivery',
    );
  },

  'keeping a letter again replaces its reason, and counts the attempt': async (context) => {
    const eventId = 'e-1';
    const issues = [{ path: 'payload', message: 'expected object' }];
    await context.kept({ eventId, reason: 'unknown', code: undefined, cause: 'ship: Error at a.ts:1' });
    await context.kept({ eventId, reason: 'invalid', code: 'EVENT_INVALID', issues });
    const second = await context.only();
    assertSame(whyOf(second), ['invalid', 'EVENT_INVALID', undefined, issues, 2], 'one attempt more');
    await context.kept({ eventId, reason: 'failed', code: 'HANDLER_FAILED', cause: CAUSE, attempts: 7 });
    const third = await context.only();
    assertSame(
      whyOf(third),
      ['failed', 'HANDLER_FAILED', CAUSE, [], 7],
      'the number of attempts that is given, and the cause of the latest one',
    );
    await context.kept({ eventId, reason: 'conflict', code: undefined, attempts: 2 });
    const fourth = await context.only();
    assertSame(whyOf(fourth), ['conflict', undefined, undefined, [], 8], 'never fewer attempts than before');
  },

  'other bytes, another id, the other mode and another namespace are other letters': async (context) => {
    const alike = { eventId: 'e-1' };
    const letters = [
      await context.kept(alike),
      await context.kept({ ...alike, bytes: 'other' }),
      await context.kept({ eventId: 'E-1' }),
      await context.kept({ ...alike, sandbox: true }),
    ];
    await context.kept({ ...alike, namespace: `${context.namespace}-other` });
    await context.listed(letters, 'letters are one only if key and fingerprint are the same');
  },

  'concurrent calls that keep the same letter all get its id': async (context) => {
    const same = () => context.kept({ eventId: 'e-1' });
    const ids = (await Promise.all(Array.from({ length: 12 }, same))).map(({ id }) => id);
    const { id, attempts } = await context.only();
    const areSame = ids.every((other) => other === id);
    assert(areSame, 'keep() returns the id of the only letter', ids);
    assertSame(attempts, 12, 'each call is an attempt');
  },

  'an update changes the reason, and the attempts only if it has any': async (context) => {
    const { id } = await context.kept({ attempts: 2, cause: 'ship: Error at a.ts:1' });
    const issues = [{ path: 'payload', message: 'expected object' }];
    const change = { reason: 'invalid', code: 'EVENT_INVALID', cause: CAUSE, issues } as const;
    assertSame(await context.store.update(id, change), true, 'update() returns true for an existing letter');
    const first = await context.only();
    assertSame(whyOf(first), ['invalid', 'EVENT_INVALID', CAUSE, issues, 2], 'attempts stay as they were');
    await context.store.update(id, { reason: 'unknown', code: undefined, issues: [], attempts: 5 });
    const second = await context.only();
    assertSame(
      whyOf(second),
      ['unknown', undefined, undefined, [], 5],
      'update() sets the attempts that it is given',
    );
    const { rawBody } = await context.read(id);
    assertSame(rawBody.toString(), '{}', 'update() does not change the bytes');
  },

  'an update of a removed letter returns false, and does not restore it': async (context) => {
    const { id, key, fingerprint } = await context.kept();
    await context.store.remove({ key, fingerprint });
    const change = { reason: 'failed', code: undefined, issues: [] } as const;
    assertSame(await context.store.update(id, change), false, 'update() returns false for a removed letter');
    await context.listed([], 'update() does not restore a letter');
  },
};

type Metadata = DeadLetter | NewDeadLetter;

function metadataOf(letter: Metadata) {
  const { id, reason, namespace, eventName, eventId, sandbox, attempts, code, cause, issues, keyId } = letter;
  return { id, reason, namespace, eventName, eventId, sandbox, attempts, code, cause, issues, keyId };
}

function whyOf({ reason, code, cause, issues, attempts }: Metadata) {
  return [reason, code, cause, issues, attempts];
}
