// The JSON of the dead-letter page: letters listed, counted, seen masked, revealed, replayed and discarded.
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import type { ReceiverOptions } from 'payment-webhooks';
import { z } from 'zod';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { captureLog } from '../../setup/captured-log.js';
import { receivable } from '../../setup/delivery.js';
import { faultyDeadLetters, lettersOf } from '../../setup/faulty-dead-letters.js';
import { hangs, rejects } from '../../setup/faulty-store.js';
import { openSocket } from '../../setup/raw-socket.js';
import { gate, soon, until } from '../../setup/waiting.js';
import {
  type Ask,
  keptRefunds,
  linesOf,
  type PageWorld,
  pageWorld,
  postOf,
  REFUNDS,
  USER,
} from './page-world.js';

const down = () => {
  throw new Error('the database of Grace Hopper is down');
};
const NOT_ALL =
  /^Say which letters to discard: id, reason, event, eventId, keyId, cause, since\. To discard all, send event: "\*"\.$/;

describe('letters', () => {
  test('are listed by the page, oldest first, with filters', async () => {
    const { ask, keep } = await pageWorld();
    const ids: string[] = [];
    for (const name of ['refund.made', 'refund.failed', 'payout.sent'])
      ids.push(await keep(fixtures.event(name, {})));
    const { status, json } = await ask('/ops/letters?limit=2&reason=&event=');
    expect([status, json.letters[1].id, json.letters.length]).toEqual([200, ids[1], 2]);
    expect(json.letters[0]).toEqual({
      ...{ id: ids[0], reason: 'unknown', eventName: 'refund.made', eventId: expect.any(String) },
      ...{ namespace: 'default', sandbox: false, attempts: 1, issues: [] },
      keyId: expect.stringMatching(/^[\da-f]{12}$/),
      keptAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    const rest = await ask(`/ops/letters?limit=2&after=${json.next}`);
    expect(rest.json).toMatchObject({ letters: [{ id: ids[2] }], next: null });
    const named = await ask('/ops/letters?event=refund.*&since=7d');
    expect(named.json.letters).toHaveLength(2);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    expect((await ask(`/ops/letters?since=${tomorrow}`)).json).toEqual({ letters: [], next: null });
  });

  test('say when they are retried by themselves, in the list and alone', async () => {
    const redrive = { delays: ['1h'] } as const;
    const { ask, keep } = await pageWorld({ receiver: { handlers: { '*': down }, redrive } });
    const id = await keep(fixtures.transactionPaid());
    const [letter] = (await ask('/ops/letters')).json.letters;
    expect(Date.parse(letter.nextTry) - Date.parse(letter.keptAt)).toBe(3_600_000);
    expect((await ask(`/ops/letters/${id}`)).json.letter.nextTry).toBe(letter.nextTry);
  });

  test('are counted by reason and name, with the names of the receiver and the user', async () => {
    const { ask, keep } = await pageWorld();
    for (const name of ['refund.made', 'payout.sent', 'payout.sent']) await keep(fixtures.event(name, {}));
    const { json } = await ask('/ops/summary?reason=unknown');
    expect(json).toEqual({
      total: 3,
      oldest: expect.stringMatching(/Z$/),
      groups: [
        { reason: 'unknown', eventName: 'payout.sent', count: 2, oldest: expect.any(String) },
        { reason: 'unknown', eventName: 'refund.made', count: 1, oldest: expect.any(String) },
      ],
      names: ['transaction.paid'],
      user: USER,
    });
    const none = { total: 0, oldest: null, groups: [] };
    expect((await ask('/ops/summary?event=no.such')).json).toMatchObject(none);
  });
});

test.each<[string, Ask, RegExp]>([
  ['letters?raeson=unknown', {}, /Unknown option "raeson"\. Did you mean "reason"\?/],
  ['letters?reason=unkown', {}, /reason is "unkown"\. Pass one of unknown,/],
  ['letters?limit=0', {}, /limit is 0\./],
  ['letters?limit=many', {}, /limit is NaN\./],
  ['letters?limit=101', {}, /limit is 101\. Pass at most 100/],
  ['letters?reason=unknown&reason=failed', {}, /"reason" is given twice/],
  ['letters?since=2026-99-99', {}, /since is "2026-99-99"\./],
  ['letters?since=yesterday', {}, /since is "yesterday"\./],
  ['letters?discarded=maybe', {}, /discarded is "maybe"\./],
  ['letters?__proto__=1', {}, /Unknown option "__proto__"/],
  ['summary?limit=5', {}, /Unknown option "limit"/],
  ['replay', { body: { evnt: 'refund.*' } }, /Unknown option "evnt"\. Did you mean "event"\?/],
  ['replay', { body: { reason: null } }, /reason is null/],
  ['replay', { body: { concurrency: 1e9 } }, /concurrency is 1000000000\. Pass an integer from 1 to 100/],
  ['replay', { body: { dryRun: 'yes' } }, /dryRun is "yes"/],
  ['replay', { body: { signal: {} } }, /Unknown option "signal"/],
  ['replay', { body: { discarded: true } }, /Unknown option "discarded"/],
  ['discard', { body: { because: 'test data' } }, NOT_ALL],
  ['discard', { body: { event: '*' } }, /^because is undefined/],
  ['discard', { body: { event: '*', because: ' ' } }, /^because is blank/],
  ['discard', { body: { event: '*', because: 'x', by: 'eve' } }, /Unknown option "by"/],
  ['discard', { body: { event: '*', because: 'x', expect: 1 } }, /Unknown option "expect"/],
  ['discard', { body: { id: '', because: 'x' } }, /^id is ""/],
])('%s with %j is refused with what to give, before anything changes', async (path, given, message) => {
  const { ask, keep, hooks } = await pageWorld();
  await keep();
  const { status, json } = await ask(`/ops/${path}`, given);
  expect([status, json]).toEqual([422, { message: expect.stringMatching(message), code: 'INVALID' }]);
  expect(await lettersOf(hooks)).toHaveLength(1);
});

describe('one letter', () => {
  const event = fixtures.event('refund.made', {
    refund: { id: 'r-1', amount: 12.5, customer: { name: 'Grace Hopper' }, paid: true, note: null },
    lines: [{ sku: 'secret-sku' }, 'x'],
    emails: { 'grace@example.com': 'yes', 'Grace Hopper': 'no' },
  });

  test('is shown with keys and types, and no value', async () => {
    const { ask, keep } = await pageWorld();
    const id = await keep(event);
    const { status, json } = await ask(`/ops/letters/${id}`);
    expect(status).toBe(200);
    expect(json).toEqual({
      letter: expect.objectContaining({ id, reason: 'unknown', eventName: 'refund.made' }),
      content: 'found',
      payload: {
        id: 'string',
        event_name: 'string',
        sandbox: 'boolean',
        payload: {
          refund: {
            ...{ id: 'string', amount: 'number', paid: 'boolean', note: 'null' },
            customer: { name: 'string' },
          },
          lines: [{ sku: 'string' }, 'string'],
          emails: { '*': 'string', '* 2': 'string' },
        },
      },
      size: Buffer.byteLength(JSON.stringify(event)),
      headers: { 'content-type': 'application/json' },
      wouldRun: false,
      diagnosis: [
        'refund.made was not declared when it arrived, and the receiver has no onUnknown handler.',
        'Declare refund.made in the option events, and register a handler for it.',
        'A replay would leave it here: the event is still not declared.',
      ],
    });
  });

  test('is revealed exactly, and the log says to whom', async () => {
    const { ask, keep, log } = await pageWorld();
    const id = await keep(event);
    log.text.length = 0;
    const { status, json } = await ask(`/ops/letters/${id}/reveal`, { body: {} });
    const headers = { 'content-type': 'application/json' };
    expect([status, json]).toEqual([200, { body: JSON.stringify(event), headers }]);
    const letter = { deadLetterId: id, eventId: event.id, eventName: 'refund.made' };
    expect(log.lines).toMatchObject([{ level: 30, msg: 'letter revealed', user: USER, ...letter }]);
  });

  test('that is not UTF-8 is revealed as base64', async () => {
    const bytes = { rawBody: Buffer.from([0xff, 0x00]) };
    const deadLetters = faultyDeadLetters({ read: async (real) => ({ ...Object(await real()), ...bytes }) });
    const { ask, keep } = await pageWorld({ receiver: { deadLetters } });
    const id = await keep();
    const revealed = await ask(`/ops/letters/${id}/reveal`, { body: {} });
    expect(revealed.json).toMatchObject({ body: '/wA=', base64: true });
    expect((await ask(`/ops/letters/${id}`)).json).toMatchObject({ payload: null, size: 2 });
  });

  test('that was changed in its store is said to be unreadable, and never shown', async () => {
    const deadLetters = faultyDeadLetters({ read: async () => ({ status: 'unreadable' }) });
    const { ask, keep } = await pageWorld({ receiver: { deadLetters } });
    const id = await keep();
    const { json } = await ask(`/ops/letters/${id}`);
    expect(json).toMatchObject({ content: 'unreadable', payload: null, size: 0, headers: {} });
    expect(json.diagnosis.at(-1)).toMatch(/^The stored content was altered or cannot be decrypted/);
    expect((await ask(`/ops/letters/${id}/reveal`, { body: {} })).status).toBe(409);
  });

  test.each<[string, Ask]>([
    ['', {}],
    ['/reveal', { body: {} }],
  ])('that does not exist is answered 404 at its path%s', async (route, given) => {
    const { ask } = await pageWorld();
    const { status, json } = await ask(`/ops/letters/${encodeURIComponent('<b>')}${route}`, given);
    const message = expect.stringMatching(/^There is no letter "<b>"/);
    expect([status, json]).toEqual([404, { message, code: 'NOT_FOUND' }]);
  });
});

describe('the diagnosis', () => {
  const amount = z.looseObject({ refund: z.looseObject({ id: z.string(), amount: z.number() }) });
  const paid = fixtures.transactionPaid();
  const diagnosisOf = async (id: string | undefined, { ask }: Pick<PageWorld, 'ask'>): Promise<string[]> =>
    (await ask(`/ops/letters/${id}`)).json.diagnosis;

  test('of a payload that does not fit names the paths, those of today too', async () => {
    const world = await pageWorld({
      receiver: { events: { 'refund.made': amount }, handlers: { '*': () => {} } },
    });
    const id = await world.keep(fixtures.event('refund.made', { refund: { id: 7 } }));
    expect(await diagnosisOf(id, world)).toEqual([
      'Its payload did not match the schema of refund.made at payload.refund.id, payload.refund.amount, and the receiver has no onInvalid handler.',
      'Change the schema of refund.made to accept what arrives.',
      'A replay would leave it here: it still does not match at payload.refund.id, payload.refund.amount.',
    ]);
  });

  test('of a failed handler says where to look, and what a replay would do', async () => {
    const world = await pageWorld({ receiver: { handlers: { '*': down } } });
    expect(await diagnosisOf(await world.keep(paid), world)).toEqual([
      expect.stringMatching(/^A handler failed \(down: Error at page-json\.test\.ts:\d+\)\.$/),
      `Fix what made it fail: the log has the error, with the event id ${paid.id}.`,
      'A replay would run its handlers now.',
    ]);
  });

  test('of an invalid envelope says so, and that its id is a digest', async () => {
    const world = await pageWorld();
    const id = await world.keep({ ...fixtures.event('refund.made', {}), payload: [] });
    expect(await diagnosisOf(id, world)).toEqual([
      'It is authentic, but it does not have the documented shape at payload. Its id is the digest of its bytes.',
      'Apply its effect by hand and discard it, or update payment-webhooks to a version that accepts it.',
      'A replay would leave it here: it still does not match at payload.',
    ]);
  });

  describe('of what was kept by an earlier deployment says what the one of today would do', () => {
    const throwing = { '~standard': { version: 1, vendor: 'test', validate: down } } as const;
    const notConfigured = /^The private key that signed it is not configured \(key ID [\da-f]{12}\)\.$/;

    test.each<[string, ReceiverOptions, readonly string[]]>([
      [
        'it is declared and has a handler',
        { events: REFUNDS, handlers: { '*': () => {} } },
        ['refund.made has a handler now.', 'A replay would run its handlers now.'],
      ],
      [
        'it is declared without a handler',
        { events: REFUNDS },
        [
          'Register a handler for refund.made, or check the option sandbox.',
          'A replay would leave it here: no handler matches it.',
        ],
      ],
      [
        'its key is not configured',
        { privateKey: 'pri_another_key_of_the_account' },
        [
          expect.stringMatching(notConfigured),
          'If that key has leaked, the event may be forged: discard it. After a rotation, replay it on the command line with --keys any.',
        ] as string[],
      ],
      [
        'its schema throws',
        { events: { 'refund.made': throwing }, handlers: { '*': () => {} } },
        [
          'Fix the schema of refund.made or the key function: one of them throws or takes too long.',
          'A replay would leave it here.',
        ],
      ],
    ])('where %s', async (_, today, sentences) => {
      const world = await pageWorld({ receiver: { deadLetters: await keptRefunds('r-1'), ...today } });
      const [letter] = await lettersOf(world.hooks);
      expect((await diagnosisOf(letter?.id, world)).slice(1)).toEqual(sentences);
    });
  });

  test('of a conflict says that it is never replayed', async () => {
    const world = await pageWorld({ receiver: { handlers: { '*': () => {} } } });
    expect((await world.hooks.receive(receivable(paid))).status).toBe(200);
    const id = await world.keep({ ...paid, payload: { ...paid.payload, more: 1 } });
    expect(await diagnosisOf(id, world)).toEqual([
      'An event with the same id but different bytes was processed first.',
      expect.stringMatching(/^A replay never runs it/),
    ]);
  });

  test('of an event that the journal has, tried twice, in a receiver that is busy', async () => {
    const door = gate();
    let runs = 0;
    const handler = () => {
      runs += 1;
      return runs === 1 ? down() : door.opened;
    };
    const receiver = { journal: true, maxInFlight: 1, handlers: { '*': handler } };
    const world = await pageWorld({ receiver });
    const sent = receivable();
    await world.hooks.receive(sent);
    const retried = world.hooks.receive(sent);
    await until(() => runs === 2);
    const [letter] = await lettersOf(world.hooks);
    expect(await diagnosisOf(letter?.id, world)).toEqual([
      'The journal kept it before its handlers ran. They are still running, or their process has died.',
      'It was tried 2 times.',
      'The receiver is busy, so it is unknown what a replay would do now.',
    ]);
    door.open();
    await retried;
  });

  test('says that the receiver is shutting down', async () => {
    const world = await pageWorld();
    const id = await world.keep();
    await world.hooks.close();
    expect((await diagnosisOf(id, world)).at(-1)).toMatch(/^The receiver is shutting down/);
  });
});

describe('a replay', () => {
  test('streams progress and ends with the report, and is logged with the user', async () => {
    const deadLetters = await keptRefunds('a', 'b', 'c');
    const ran: string[] = [];
    const handlers = { '*': ({ id }: { id: string }) => void ran.push(id) };
    const { ask, log, hooks } = await pageWorld({ receiver: { deadLetters, events: REFUNDS, handlers } });
    const dry = await ask('/ops/replay', { body: { event: 'refund.*', dryRun: true } });
    expect(linesOf(dry).at(-1)).toMatchObject({ report: { dryRun: true, processed: 3 } });
    expect([ran, log.lines]).toEqual([[], []]);
    const answer = await ask('/ops/replay', { body: { since: '1d', concurrency: 2 } });
    const type = 'application/x-ndjson; charset=utf-8';
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': type } });
    const lines = linesOf(answer);
    expect(lines.at(-2)).toEqual({ progress: { done: 3, total: 3, processed: 3, failed: 0 } });
    expect(lines.at(-1)).toMatchObject({
      report: { dryRun: false, processed: 3, events: [{ eventName: 'refund.made' }] },
    });
    expect(ran.sort()).toEqual(['a', 'b', 'c']);
    expect(await lettersOf(hooks)).toEqual([]);
    expect(log.lines.at(-1)).toMatchObject({ msg: 'letters replayed', user: USER, processed: 3, failed: 0 });
  });

  test('says how far it is while one letter takes long, also right after another line', async () => {
    const deadLetters = await keptRefunds('a', 'b', 'c');
    const door = gate();
    const handlers = { '*': ({ id }: { id: string }) => (id === 'c' ? door.opened : undefined) };
    const { port } = await pageWorld({ receiver: { deadLetters, events: REFUNDS, handlers } });
    const socket = await openSocket(port);
    socket.write(postOf('/ops/replay', '{}'));
    await socket.until(/"done":1,/);
    const told = () => /"done":2,/.test(socket.received);
    // Without a word for ten seconds the latest line is written again, which is not what is meant here.
    expect(await soon(told, 8_000)).toBe(true);
    door.open();
    expect(await socket.closed).toContain('"report"');
  });

  test('does not begin when its client has left', async () => {
    const [left, asked] = [gate(), gate()];
    const authorize = async () => {
      asked.open();
      await left.opened;
      return USER;
    };
    const { port, hooks, log } = await pageWorld({
      page: { authorize },
      receiver: { deadLetters: await keptRefunds('a'), events: REFUNDS, handlers: { '*': () => {} } },
      before: [express.json(), (_req, res, next) => void next(res.once('close', left.open) && undefined)],
    });
    const socket = await openSocket(port);
    socket.write(postOf('/ops/replay', '{}'));
    await asked.opened;
    socket.socket.destroy();
    await until(() => log.lines.some(({ msg }) => msg === 'letters replayed'));
    expect(await lettersOf(hooks)).toMatchObject([{ attempts: 1 }]);
    expect(log.lines.at(-1)).toMatchObject({ stopped: 'aborted', processed: 0 });
  });
});

describe('discarding', () => {
  test('leaves a tombstone with the user that authorize returned', async () => {
    const { ask, keep, hooks, log } = await pageWorld();
    const id = await keep();
    await keep(fixtures.event('payout.sent', {}));
    const body = { id, because: 'test data' };
    expect((await ask('/ops/discard', { body })).json).toEqual({ discarded: 1 });
    expect((await ask('/ops/discard', { body })).json).toEqual({ discarded: 0 });
    expect(await lettersOf(hooks)).toHaveLength(1);
    const { json } = await ask('/ops/letters?discarded=true');
    const discarded = { by: USER, because: 'test data', at: expect.any(String) };
    expect(json.letters).toEqual([expect.objectContaining({ id, discarded })]);
    const line = { msg: 'letters discarded', user: USER, discarded: 1 };
    expect(log.lines).toContainEqual(expect.objectContaining(line));
  });

  test('takes all that fit', async () => {
    const { ask, keep, hooks } = await pageWorld();
    for (const id of ['a', 'b', 'c']) await keep({ ...fixtures.event('test.made', {}), id });
    await keep(fixtures.event('refund.made', {}));
    const body = { event: 'test.*', because: 'test data' };
    expect((await ask('/ops/discard', { body })).json).toEqual({ discarded: 3 });
    expect((await lettersOf(hooks)).map(({ eventName }) => eventName)).toEqual(['refund.made']);
  });

  test('that fails in the middle is logged with how many are gone', async () => {
    const deadLetters = faultyDeadLetters();
    const { ask, keep, hooks, log } = await pageWorld({ receiver: { deadLetters } });
    for (const id of ['a', 'b', 'c']) await keep({ ...fixtures.event('test.made', {}), id });
    let discards = 0;
    deadLetters.faults.discard = async (real) => {
      discards += 1;
      return discards === 3 ? down() : real();
    };
    const { status } = await ask('/ops/discard', { body: { event: '*', because: 'test data' } });
    expect([status, (await lettersOf(hooks)).length]).toEqual([503, 1]);
    const told = log.lines.filter(({ msg }) => msg === 'letters discarded');
    expect(told).toEqual([expect.objectContaining({ user: USER, discarded: 2, failure: true })]);
  });

  test('leaves what is kept while it is at work', async () => {
    const deadLetters = faultyDeadLetters();
    const { ask, keep, hooks } = await pageWorld({ receiver: { deadLetters } });
    await keep(fixtures.event('test.made', { n: 1 }));
    deadLetters.faults.discard = async (real) => {
      deadLetters.faults.discard = undefined;
      await keep(fixtures.event('test.made', { n: 2 }));
      return real();
    };
    const { json } = await ask('/ops/discard', { body: { event: '*', because: 'test data' } });
    expect([json, (await lettersOf(hooks)).length]).toEqual([{ discarded: 1 }, 1]);
  });
});

test('a store that is down is answered 503, without what it said', async () => {
  const deadLetters = faultyDeadLetters();
  const { ask, keep } = await pageWorld({ receiver: { deadLetters, storeTimeout: 50 } });
  const id = await keep();
  const message = expect.stringMatching(/^The dead-letter store did not answer/);
  for (const fault of [rejects, hangs]) {
    Object.assign(deadLetters.faults, { list: fault, count: fault });
    for (const path of ['letters', 'summary', `letters/${id}`]) {
      const { status, json } = await ask(`/ops/${path}`);
      expect([path, status, json]).toEqual([path, 503, { message, code: 'STORE_UNAVAILABLE' }]);
    }
    const error = { message: expect.any(String), code: 'STORE_UNAVAILABLE' };
    expect(linesOf(await ask('/ops/replay', { body: {} }))).toEqual([{ error }]);
  }
});

test('the log is that of the receiver unless the page has one, or of the request', async () => {
  const own = captureLog();
  const { ask, keep, log } = await pageWorld({ page: { logger: own.logger } });
  const id = await keep();
  log.text.length = 0;
  await ask(`/ops/letters/${id}/reveal`, { body: {} });
  expect([log.lines, own.lines]).toEqual([[], [expect.objectContaining({ msg: 'letter revealed' })]]);

  const ofRequest = captureLog();
  const logged = await pageWorld({
    receiver: { deadLetters: await keptRefunds('a'), logger: undefined },
    before: [(req, _res, next) => void next(Object.assign(req, { log: ofRequest.logger }) && undefined)],
  });
  const [letter] = await lettersOf(logged.hooks);
  await logged.ask(`/ops/letters/${letter?.id}/reveal`, { body: {} });
  expect(ofRequest.lines).toEqual([expect.objectContaining({ msg: 'letter revealed', user: USER })]);
});
