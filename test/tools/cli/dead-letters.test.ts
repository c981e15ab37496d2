// `dead-letters …` and `learn --page` against a receiver and its real page.
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import { memoryDeadLetters, memoryStore } from 'payment-webhooks';
import { z } from 'zod';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { listening } from '../../setup/afterwards.js';
import { KEY, receivable } from '../../setup/delivery.js';
import { faultyDeadLetters, lettersOf } from '../../setup/faulty-dead-letters.js';
import { freePort } from '../../setup/ports.js';
import { gate, until } from '../../setup/waiting.js';
import { pageWorld, USER, type WorldOptions } from '../letters/page-world.js';
import { fileWith } from './files.js';
import { failed, jsonLines, runCli, type Setting } from './run-cli.js';

const token = fileWith('good\n');

const refund = (id: string, payload: object = { refund: { id } }) => ({
  ...fixtures.event('refund.made', payload),
  id,
});
const SCHEMA = z.looseObject({ refund: z.looseObject({ id: z.string() }) });

/** `dead-letters …` for the page at this port. */
const commandFor = (port: number, setting?: Setting) => commandAt(`http://127.0.0.1:${port}/ops`, setting);

const commandAt =
  (page: string, setting?: Setting, command = 'dead-letters', file = token) =>
  (...words: string[]) =>
    runCli([command, ...words, '--page', page, '--token-file', file], setting);

/** A page without a declared event. */
async function worldOf() {
  const page = await pageWorld();
  return { ...page, run: commandFor(page.port) };
}

/** Letters that an app without the event has kept, and a page of the app that has it, with this handler. */
async function world(
  ids: readonly string[],
  { handle = () => {}, receiver, ...more }: WorldOptions & { handle?: (id: string) => unknown } = {},
) {
  const shared = { store: memoryStore(), deadLetters: memoryDeadLetters() };
  const before = await pageWorld({ receiver: shared });
  for (const id of ids) await before.keep(refund(id));
  const after = await pageWorld({
    ...more,
    receiver: {
      ...shared,
      events: { 'refund.made': SCHEMA },
      handlers: { '*': async ({ id }) => void (await handle(id)) },
      ...receiver,
    },
  });
  return { ...after, before, run: commandFor(after.port) };
}

describe('dead-letters list', () => {
  test('lists what is asked for, in the order of arrival', async () => {
    const { keep, run } = await worldOf();
    await keep(refund('r-1'));
    await keep(refund('r-2'));
    await keep(fixtures.event('payout.sent', {}, { id: 'p-1' }));
    const ids = async (...words: string[]) =>
      jsonLines(await run('list', '--json', ...words)).map(({ eventId }) => eventId);
    expect(await ids()).toEqual(['r-1', 'r-2', 'p-1']);
    expect(await ids('--event', 'refund.*')).toEqual(['r-1', 'r-2']);
    expect(await ids('--event-id', 'r-2')).toEqual(['r-2']);
    expect(await ids('--reason', 'unknown', '--since', '1h')).toHaveLength(3);
    expect(await ids('--reason', 'failed')).toEqual([]);
    const [{ id }] = jsonLines(await run('list', '--json'));
    expect(await ids('--id', id)).toEqual(['r-1']);
    expect(await run('list', '--limit', '2')).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^ID +REASON +EVENT +EVENT ID +ATTEMPTS +KEPT +CAUSE\n[\da-f]{32} {2}unknown {2}refund\.made {2}r-1 +1 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*\n.* r-2 .*\n$/,
      ),
      stderr: 'There are more than 2. Raise --limit, or add a filter.\n',
    });
  });

  test('has a column for the next try of letters that retry themselves', async () => {
    const receiver = { redrive: { delays: ['1h'], reasons: ['unknown'] } } as const;
    const { keep, port } = await pageWorld({ receiver: { ...receiver, deadLetters: memoryDeadLetters() } });
    await keep(refund('r-1'));
    const { stdout } = await commandFor(port)('list');
    expect(stdout).toMatch(
      /ATTEMPTS +KEPT +NEXT TRY +CAUSE\n.* r-1 +1 +(\d{4}-\S+ \S+) +(?!\1)\d{4}-\S+ \S+/,
    );
    const [{ id }] = jsonLines(await commandFor(port)('list', '--json'));
    expect((await commandFor(port)('show', id)).stdout).toMatch(/^next try +\d{4}-/m);
  });

  test('reads all pages, and says when there is nothing', async () => {
    const { hooks, run } = await worldOf();
    expect(await run('list')).toEqual({ code: 0, stdout: 'There are no dead letters.\n', stderr: '' });
    expect((await run('list', '--reason', 'failed')).stdout).toBe('No dead letter matches.\n');
    const ids = Array.from({ length: 230 }, (_, index) => `r-${index}`);
    for (const id of ids) await hooks.receive(receivable(refund(id)));
    const listed = jsonLines(await run('list', '--json', '--limit', '230'));
    expect(listed.map(({ eventId }) => eventId)).toEqual(ids);
  });
});

describe('a list as the app answers it', () => {
  const letter = (id: number) => ({
    ...{ id: `${id}`, reason: 'failed', namespace: 'webhooks', eventName: 'refund.made', eventId: `r-${id}` },
    ...{ sandbox: false, attempts: 1, keptAt: '2026-01-31T12:00:00.000Z', code: null, issues: [] },
  });
  /** An app whose list of letters is this. */
  const served = async (list: (after: string | null) => object) =>
    commandFor(
      await listening((req, res) => {
        const { searchParams } = new URL(String(req.url), 'http://localhost');
        res.setHeader('content-type', 'application/json');
        res.end(JSON.stringify(list(searchParams.get('after'))));
      }),
    );

  test.each([
    ['repeats a cursor', () => 'same'],
    ['goes round in a circle', (after: string | null) => (after === 'a' ? 'b' : 'a')],
  ])('stops with an error at a list that %s', async (_name, next) => {
    let requests = 0;
    const run = await served((after) => {
      requests += 1;
      return { letters: [letter(requests)], next: next(after) };
    });
    const reason =
      "The list of dead letters returned the same cursor twice. Check list() of the app's dead-letter store with deadLetterContract().\n";
    expect(await run('list', '--limit', '1000')).toMatchObject({ code: 1, stderr: reason });
    expect(requests).toBeLessThan(5);
  });

  test('shows a time that is not a date as the app sent it', async () => {
    const run = await served(() => ({ letters: [{ ...letter(1), keptAt: 'yesterday' }], next: null }));
    expect((await run('list')).stdout).toContain('yesterday');
  });

  test('accepts an empty last page', async () => {
    const run = await served((after) =>
      after === null ? { letters: [letter(1)], next: 'more' } : { letters: [], next: 'more still' },
    );
    expect(jsonLines(await run('list', '--json'))).toMatchObject([{ id: '1' }]);
  });
});

describe('dead-letters show', () => {
  test('shows why a letter was kept with every value masked, and the body only when it is revealed', async () => {
    const { keep, run, log } = await worldOf();
    const id = await keep(refund('r-1', { refund: { iban: 'DE02\u001b[2J' } }));
    const masked = await run('show', id);
    expect(masked).toMatchObject({ code: 0, stderr: '' });
    expect(masked.stdout).toMatch(new RegExp(`^letter +${id}\nreason +unknown`));
    expect(masked.stdout).toContain('refund.made was not declared when it arrived');
    expect(masked.stdout).toContain('"iban": "string"');
    expect(masked.stdout).not.toContain('DE02');
    expect(log.lines.filter(({ msg }) => msg === 'letter revealed')).toEqual([]);

    const shown = await run('show', id, '--reveal');
    expect(shown.stdout).toContain('"iban":"DE02\\u001b[2J"');
    expect(shown.stdout).not.toContain('\u001b');
    expect(log.lines).toContainEqual(expect.objectContaining({ msg: 'letter revealed', user: USER }));
    const [{ letter, body }] = jsonLines(await run('show', id, '--reveal', '--json'));
    expect([letter.id, JSON.parse(body).payload.refund.iban]).toEqual([id, 'DE02\u001b[2J']);
  });

  test('fails on a letter that is not there', async () => {
    const { run } = await worldOf();
    expect(await run('show', '../summary')).toEqual(failed(1, /^There is no letter "\.\.\/summary"\./));
  });
});

describe('the key of a letter', () => {
  test('is shown, and is a filter', async () => {
    const { run, hooks } = await world(['r-1']);
    const [letter] = await lettersOf(hooks);
    const keyId = letter?.keyId ?? '';
    expect((await run('show', `${letter?.id}`)).stdout).toMatch(new RegExp(`^key +${keyId}$`, 'm'));
    const listed = async (id: string) => jsonLines(await run('list', '--json', '--key-id', id));
    expect(await listed(keyId)).toMatchObject([{ eventId: 'r-1', keyId }]);
    expect(await listed('0123456789ab')).toEqual([]);
    const refused = await run('list', '--key-id', KEY);
    expect(refused).toEqual(failed(2, '--key-id is not the id of a key'));
    expect(refused.stderr).not.toContain(KEY);
  });

  test('has to be configured for a replay, unless --keys any is given', async () => {
    const { run } = await world(['r-1'], { receiver: { privateKey: 'pri_another_key' } });
    const stdout = expect.stringContaining('refund.made: 1 without a configured key\n1 of 1 left.\n');
    expect(await run('replay')).toMatchObject({ code: 1, stdout });
    expect(await run('replay', '--keys', 'every')).toMatchObject({ code: 2 });
    const any = await run('replay', '--keys', 'any');
    expect(any).toMatchObject({ code: 0, stdout: 'refund.made: 1 processed\n0 of 1 left.\n' });
  });
});

describe('dead-letters replay', () => {
  test('processes what it can, and its exit code says whether a letter is left', async () => {
    const ran: string[] = [];
    const handle = (id: string) => {
      ran.push(id);
      if (id === 'r-2' && ran.length < 4) throw new Error('the bank is down');
    };
    const { run, hooks, before } = await world(['r-1', 'r-2', 'r-3'], { handle });
    const dry = await run('replay', '--dry-run');
    expect(dry).toEqual({ code: 0, stdout: 'refund.made: 3 processed\n0 of 3 would be left.\n', stderr: '' });
    expect(ran).toEqual([]);
    const report =
      'refund.made: 2 processed, 1 failed\n1 of 3 left.\nfailed: The log of your app has the error of the handler.\n';
    expect(await run('replay', '--event', 'refund.*')).toEqual({ code: 1, stdout: report, stderr: '' });
    expect(ran).toEqual(['r-1', 'r-2', 'r-3']);
    const second = await run('replay', '--concurrency', '4', '--json');
    expect(second.code).toBe(0);
    expect(jsonLines(second)).toEqual([expect.objectContaining({ processed: 1, failed: 0, dryRun: false })]);
    expect(await lettersOf(hooks)).toEqual([]);
    expect(await run('replay')).toMatchObject({ code: 0, stdout: 'No dead letter matches.\n' });
    await before.keep(fixtures.event('payout.sent', {}));
    const unknown = 'payout.sent: 1 still unknown\n1 of 1 left.\nstill unknown: Declare the event,';
    expect(await run('replay')).toMatchObject({ code: 1, stdout: expect.stringContaining(unknown) });
  });

  test('says where payloads do not fit', async () => {
    const { run, before } = await world([]);
    for (const id of ['r-1', 'r-2']) await before.keep(refund(id, { refund: { id: 7 } }));
    const invalid = 'refund.made: 2 still invalid\n  schema error in 2: payload.refund.id\n2 of 2 left.';
    expect(await run('replay')).toMatchObject({ code: 1, stdout: expect.stringContaining(invalid) });
  });

  test('shows a progress bar only in a terminal', async () => {
    const { run, port } = await world(['r-1', 'r-2']);
    expect((await run('replay', '--dry-run')).stderr).toBe('');
    const { stderr } = await commandFor(port, { tty: true })('replay');
    expect(stderr).toContain(`\r\u001b[K[${'#'.repeat(24)}] 2 of 2, 2 processed, 0 failed`);
    expect(stderr.endsWith('\r\u001b[K')).toBe(true);
  });

  test('says how to continue when the connection breaks in the middle', async () => {
    const sockets: { destroy(): void }[] = [];
    const { run, hooks } = await world(['r-1', 'r-2', 'r-3'], {
      handle: (id) => void (id === 'r-2' && sockets.at(-1)?.destroy()),
      before: [({ socket }, _, next) => next(void sockets.push(socket))],
    });
    const reason =
      /^The connection ended in the middle of the replay( after \d of 3 letters)?\. What was processed stays processed\. Run the same command again for the rest\.\n$/;
    expect(await run('replay')).toEqual(failed(1, reason));
    await until(async () => (await lettersOf(hooks)).length < 3);
    expect((await run('replay')).code).toBe(0);
    expect(await lettersOf(hooks)).toEqual([]);
  });

  test('Ctrl-C stops it after the current letter', async () => {
    const [started, left, go] = [gate(), gate(), gate()];
    const ran: string[] = [];
    const { run, hooks } = await world(['r-1', 'r-2', 'r-3'], {
      handle: async (id) => {
        ran.push(id);
        started.open();
        await go.opened;
      },
      before: [(_, response, next) => next(void response.on('close', left.open))],
    });
    const running = run('replay');
    await started.opened;
    const listeners = process.listenerCount('SIGINT');
    process.emit('SIGINT');
    const stderr = 'Stopped. What was processed stays processed. Run the same command again for the rest.\n';
    expect(await running).toEqual({ code: 1, stdout: '', stderr });
    expect(process.listenerCount('SIGINT')).toBe(listeners - 1);
    await left.opened;
    go.open();
    await until(async () => (await lettersOf(hooks)).length === 2);
    expect((await run('replay')).code).toBe(0);
    expect(ran).toEqual(['r-1', 'r-2', 'r-3']);
  });
});

describe('dead-letters discard', () => {
  const because = ['--because', 'test data'];

  test('deletes one letter, and leaves who, when and why', async () => {
    const { keep, run } = await worldOf();
    const id = await keep(refund('r-1'));
    const discard = () => run('discard', '--id', id, ...because);
    expect(await discard()).toMatchObject({ code: 0, stdout: '1 discarded.\n' });
    const listed = await run('list', '--discarded');
    expect(listed.stdout).toMatch(new RegExp(`BY +DISCARDED +BECAUSE\n.* ${USER} +[\\d: -]+ +test data\n$`));
    const stderr = 'Nothing was discarded: the letters are gone, or their events are being processed.\n';
    expect(await discard()).toEqual({ code: 1, stdout: '', stderr });
  });

  test('deletes no letter that is being replayed, and says so', async () => {
    const [started, work] = [gate(), gate()];
    const { hooks, run } = await world(['r-1', 'r-2'], {
      handle: async () => {
        started.open();
        await work.opened;
      },
    });
    const replaying = hooks.deadLetters?.replay({ eventId: 'r-1' });
    await started.opened;
    const stdout = '1 discarded. The others are gone, or their events are being processed.\n';
    const discarded = await run('discard', '--event', 'refund.*', '--yes', ...because);
    expect(discarded).toMatchObject({ code: 0, stdout });
    work.open();
    expect(await replaying).toMatchObject({ processed: 1 });
  });

  test('asks before it deletes several, and deletes no letter that came after the question', async () => {
    const { keep, hooks, run, port } = await worldOf();
    for (const id of ['r-1', 'r-2']) await keep(refund(id));
    const words = ['discard', '--event', 'refund.*', ...because];
    const stderr =
      'Discard 2 dead letters? Their bytes are deleted for good. Standard input is not a terminal, so give --yes to confirm.\n';
    expect(await run(...words)).toEqual({ code: 2, stdout: '', stderr });
    const answering = (stdin: string) => commandFor(port, { tty: true, stdin })(...words);
    expect((await answering('n\n')).code).toBe(2);
    expect(await lettersOf(hooks)).toHaveLength(2);
    expect(await answering('y\n')).toMatchObject({ code: 0, stdout: '2 discarded.\n' });
    expect(await lettersOf(hooks)).toEqual([]);
    for (const id of ['r-3', 'r-4']) await keep(refund(id));
    expect(await run(...words, '--yes', '--json')).toMatchObject({ code: 0, stdout: '{"discarded":2}\n' });
    expect(await run(...words)).toMatchObject({ code: 0, stdout: 'No dead letter matches.\n' });
  });

  test.each<[string[], RegExp]>([
    [['--id', 'x'], /^--because is missing/],
    [['--id', 'x', '--because', ' '], /^--because is missing/],
    [because, /^Say which letters: give --id or another filter/],
    [['--id', 'x', '--event', '*', ...because], /^--id names one letter/],
    [['--id', '', ...because], /^--id is empty/],
  ])('%j is refused', async (words, message) => {
    const { run, keep, hooks } = await worldOf();
    await keep();
    expect(await run('discard', ...words)).toEqual(failed(2, message));
    expect(await lettersOf(hooks)).toHaveLength(1);
  });
});

describe('learn --page', () => {
  const learnFrom = (port: number) => commandAt(`http://127.0.0.1:${port}/ops`, {}, 'learn');

  test('learns from unknown and invalid letters, which is logged, and from no other', async () => {
    const { port, keep, hooks, log } = await pageWorld({
      receiver: {
        events: { 'payout.sent': z.looseObject({ payout: z.looseObject({}) }), 'refund.lost': SCHEMA },
        handlers: { '*': () => Promise.reject(new Error('down')) },
      },
    });
    await keep(fixtures.event('refund.lost', { refund: { id: 'r' } }));
    await keep(refund('r-1', { refund: { id: 'r-1', email: 'ada@lovelace.example' } }));
    await keep(refund('r-2', { refund: { id: 'r-2' } }));
    await keep(fixtures.event('payout.sent', { payout: [] }));
    const run = learnFrom(port);
    const learned = jsonLines(await run('--json', '--since', '1h'));
    expect(learned.map(({ event, events }) => [event, events])).toEqual([
      ['payout.sent', 1],
      ['refund.made', 2],
    ]);
    expect(learned[1].code).toContain('email: z.string().optional(),');
    expect(JSON.stringify(learned)).not.toContain('lovelace');
    const revealed = log.lines.filter(({ msg }) => msg === 'letter revealed');
    expect(revealed).toHaveLength(3);
    const { stdout } = await run('refund.*', '--limit', '1');
    expect(stdout).toContain('learned from. */\nexport const refundMadePayload');
    expect(stdout).not.toContain('email: z.string().optional()');
    const stderr = 'There are no unknown or invalid dead letters of order.*.\n';
    expect(await run('order.*')).toEqual({ code: 1, stdout: '', stderr });
    expect(await lettersOf(hooks)).toHaveLength(4);
  });

  test('leaves letters out that are not what was kept', async () => {
    const deadLetters = faultyDeadLetters();
    const { port, keep } = await pageWorld({ receiver: { deadLetters } });
    for (const id of ['r-1', 'r-2']) await keep(refund(id));
    let reads = 0;
    deadLetters.faults.read = (real: () => unknown) => {
      reads += 1;
      return reads === 1 ? { status: 'unreadable' } : real();
    };
    expect(await learnFrom(port)()).toEqual({
      code: 0,
      stdout: expect.stringContaining('the one event that it was learned from'),
      stderr: 'Skipped 1 body that is not an event.\n',
    });
    deadLetters.faults.read = () => ({ status: 'unreadable' });
    expect(await learnFrom(port)()).toMatchObject({ code: 1, stderr: 'No body is an event.\n' });
  });
});

describe('an invalid address or token', () => {
  const list = (url: string, file?: string) => commandAt(url, {}, 'dead-letters', file)('list');

  test.each<[string, number, RegExp]>([
    ['nonsense', 2, /^--page is not an absolute https: URL/],
    ['ftp://shop.example', 2, /^--page is not an absolute https: URL/],
    ['https://u:c4nary@shop.example/ops', 2, /^--page has a user name, a query or a fragment/],
    ['https://shop.example/ops?x=c4nary', 2, /^--page has a user name, a query or a fragment/],
    ['http://shop.example/ops', 2, /^--page is http: to another machine, so others could read the token/],
    ['http://127.0.0.1.example/ops', 2, /^--page is http: to another machine/],
    ['https://no.invalid/ops', 3, /^Nothing listens at https:\/\/no\.invalid \((?:ENOTFOUND|EAI_AGAIN)\)/],
  ])('%s', async (url, code, message) => {
    const run = await list(url);
    expect(run).toEqual(failed(code, message));
    expect(run.stderr).not.toContain('c4nary');
  });

  test('may also be given as --url, the former name, which the help does not show', async () => {
    const { port } = await worldOf();
    const run = (...words: string[]) => runCli(['dead-letters', 'list', ...words]);
    const where = ['--url', `http://127.0.0.1:${port}/ops`, `--token-file=${token}`];
    expect(await run(...where)).toMatchObject({ code: 0, stderr: '' });
    expect((await run('--url=nonsense')).stderr).toMatch(/^--page is not/);
    expect((await run('--', '--url')).stderr).toContain('no argument "--url"');
    const { stdout } = await run('--help');
    expect(stdout).toContain('--page URL');
    expect(stdout).not.toContain('--url');
  });

  test('names what is missing, and refuses invalid tokens', async () => {
    const url = 'https://shop.example/ops';
    const words = ['dead-letters', 'list'];
    expect((await runCli(words)).stderr).toMatch(/^--page is missing/);
    expect((await runCli([...words, '--page', url])).stderr).toMatch(/^--token-file is missing/);
    const cases = [
      ['/nowhere/c4nary', '--token-file cannot be read (ENOENT).\n'],
      [fileWith('\n'), '--token-file is empty. The file must hold only the token.\n'],
      ...['c4nary x', 'c4nary\nx', 'c4näry'].map((text) => [
        fileWith(text),
        '--token-file has a space, a line break or another character that a header must not contain. The file must hold only the token.\n',
      ]),
    ] as const;
    for (const [file = '', stderr] of cases)
      expect(await list(url, file)).toEqual({ code: 2, stdout: '', stderr });
  });

  test('says that nothing listens', async () => {
    const origin = `http://localhost:${await freePort()}`;
    const stderr = `Nothing listens at ${origin} (ECONNREFUSED). Check --page, and whether the app runs.\n`;
    expect(await list(`${origin}/ops`)).toMatchObject({ code: 3, stderr });
  });

  test('passes on why the page refuses the token', async () => {
    const { port, hooks } = await worldOf();
    const url = `http://127.0.0.1:${port}/ops/`;
    const run = commandAt(url, {}, 'dead-letters', fileWith('c4nary'));
    const stderr =
      'The page refuses the token in --token-file (403). You are not allowed to see this page. Sign in with another account.\n';
    expect(await run('list')).toEqual({ code: 1, stdout: '', stderr });
    const refused = await run('replay', '--json');
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await lettersOf(hooks)).toEqual([]);
  });

  test.each<[string, express.RequestHandler, RegExp]>([
    [
      'a 401 before it',
      (_, res) => void res.status(401).end('who?'),
      /refuses the token .* \(401\)\. Check the token and --page\.\n/,
    ],
    ['another page', (_, res) => void res.send('<h1>'), /answered 200, but it is not a dead-letter page/],
    ['another JSON', (_, res) => void res.json([1]), /answered 200, but it is not a dead-letter page/],
    ['another path', (_, __, next) => next(), /answered 404, but it is not a dead-letter page\. Set --page/],
    [
      'a login',
      (_, res) => res.redirect('https://login.example/?to=c4nary'),
      /^The server redirects \(302\) to https:\/\/login\.example\/, and the token was not sent there/,
    ],
  ])('%s', async (_, handler, message) => {
    const run = commandFor(await listening(express().use(handler)));
    for (const command of ['list', 'replay']) {
      const ended = await run(command);
      expect(ended).toEqual(failed(1, message));
      expect(ended.stderr).not.toContain('c4nary');
    }
  });
});

test('dead-letters replay --cause replays the letters of one of two bugs among 400, and leaves those of the other', async () => {
  const shared = { store: memoryStore(), deadLetters: memoryDeadLetters() };
  const events = { 'refund.made': SCHEMA };
  const bugs = [
    () => Promise.reject(new TypeError('no total for Ada')),
    () => Promise.reject(new TypeError('no total for Ada')),
  ];
  const bugOf = (id: string) => (Number(id) % 5 === 0 ? 1 : 0);
  const before = await pageWorld({ receiver: { ...shared, events } });
  before.hooks.on('refund.made' as never, ({ id }: { id: string }) => bugs[bugOf(id)]?.(), {
    name: 'mark-paid',
  });
  for (let id = 0; id < 400; id += 1) await before.hooks.receive(receivable(refund(String(id))));
  const handled: string[] = [];
  const handlers = { '*': ({ id }: { id: string }) => void handled.push(id) };
  const { hooks, port } = await pageWorld({ receiver: { ...shared, events, handlers } });
  const run = commandFor(port);
  const [first, second] = (await lettersOf(hooks)).map(({ cause }) => cause ?? '').reverse();
  expect([first, second]).toEqual(
    [0, 0].map(() => expect.stringMatching(/^mark-paid: TypeError at dead-letters\.test\.ts:\d+$/)),
  );
  const cause = (await lettersOf(hooks, { eventId: '5' }))[0]?.cause ?? '';
  const listed = await run('list', '--cause', cause, '--limit', '400');
  expect(listed.stdout.split('\n').filter((line) => line.endsWith(`  ${cause}`))).toHaveLength(80);
  expect(listed.stdout).toMatch(/ KEPT +CAUSE\n/);
  const dry = jsonLines(await run('replay', '--cause', cause, '--dry-run', '--json'));
  expect([dry, handled]).toEqual([[expect.objectContaining({ processed: 80 })], []]);
  expect(await run('replay', '--cause', cause)).toMatchObject({ code: 0 });
  expect(new Set(handled)).toEqual(new Set(Array.from({ length: 80 }, (_, index) => String(index * 5))));
  const left = await lettersOf(hooks);
  expect([left.length, left.filter(({ eventId }) => bugOf(eventId) === 1).length]).toEqual([320, 0]);
  const shown = await run('show', left[0]?.id ?? '');
  expect(shown.stdout).toContain(`cause     ${left[0]?.cause}`);
  const gone = await run('discard', '--cause', 'mark-paid', '--because', 'test data', '--yes');
  expect(gone.stdout).toBe('320 discarded.\n');
  expect((await run('list', '--cause', 'mark')).stdout).toBe('No dead letter matches.\n');
}, 60_000);
