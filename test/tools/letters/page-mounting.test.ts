// The page in real apps: any prefix, Express 4 and 5, node:http, behind a proxy, with body parsers in front; and a replay whose reader leaves.
import { createHash } from 'node:crypto';
import type http from 'node:http';
import { type ClientHttp2Session, connect, createServer } from 'node:http2';
import { json as readJson } from 'node:stream/consumers';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import express4 from 'express4';
import { keepRawBody, memoryDeadLetters, receiver } from 'payment-webhooks';
import { deadLetterPage } from 'payment-webhooks/ops';
import { afterwards, listening } from '../../setup/afterwards.js';
import { KEY } from '../../setup/delivery.js';
import { lettersOf } from '../../setup/faulty-dead-letters.js';
import { openSocket } from '../../setup/raw-socket.js';
import { gate, until } from '../../setup/waiting.js';
import {
  authorize,
  keptRefunds,
  linesOf,
  type PageWorld,
  pageWorld,
  postOf,
  REFUNDS,
  SIGNED_IN,
  send,
} from './page-world.js';

const EXPRESSES: readonly (readonly [string, typeof express])[] = [
  ['Express 5', express],
  ['Express 4', express4 as unknown as typeof express],
];

test('the page returns a promise that resolves without a value when its answer is written, for h3 and Nitro', async () => {
  const page = deadLetterPage(receiver({ privateKey: KEY, deadLetters: memoryDeadLetters() }), {
    authorize: ({ headers }) => headers.authorization,
    logger: false,
  });
  const settled: unknown[] = [];
  const port = await listening(async (req, res) => {
    settled.push([await page(req, res), res.writableEnded]);
  });
  const statuses = ['/letters', '/nothing'].map(async (path) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: 'ada' } });
    await answer.text();
    return answer.status;
  });
  expect(await Promise.all(statuses)).toEqual([200, 404]);
  await until(() => settled.length === 2);
  expect(settled).toEqual([
    [undefined, true],
    [undefined, true],
  ]);
});

/** @param at where the page is mounted */
async function everyRouteWorks({ ask, keep, hooks }: PageWorld, at: string): Promise<void> {
  const id = await keep();
  expect((await ask(`${at}/?reason=unknown`)).headers['content-type']).toMatch(/^text\/html/);
  expect((await ask(`${at}/letters?reason=unknown`)).json.letters).toMatchObject([{ id }]);
  expect((await ask(`${at}/letters?reason=failed`)).json.letters).toEqual([]);
  expect((await ask(`${at}/summary`)).json).toMatchObject({ total: 1, user: 'ada' });
  expect((await ask(`${at}/letters/${id}`)).json).toMatchObject({ content: 'found' });
  expect((await ask(`${at}/letters/${id}/reveal`, { body: {} })).json.body).toContain('"r-1"');
  const replay = await ask(`${at}/replay`, { body: { id } });
  expect(linesOf(replay).at(-1)).toMatchObject({ report: { stillUnknown: 1 } });
  const discard = await ask(`${at}/discard`, { body: { id, because: 'test data' } });
  expect(discard.json).toEqual({ discarded: 1 });
  expect(await lettersOf(hooks)).toEqual([]);
  const ofJson = { 'content-type': 'application/json' };
  for (const sized of [{ 'content-length': '0' }, { 'transfer-encoding': 'chunked' }]) {
    const empty = { method: 'POST', headers: { ...ofJson, ...sized } };
    expect((await ask(`${at}/replay`, empty)).json.code).toBe('MALFORMED');
  }
  expect((await ask(`${at}/nothing`)).status).toBe(404);
  expect((await ask(`${at}/letters`, { method: 'PUT' })).status).toBe(405);
  expect((await ask(`${at}/letters/%E0%A4%A`)).status).toBe(400);
  expect((await ask(`${at}/letters`, { headers: { authorization: '' } })).status).toBe(403);
}

describe.each(EXPRESSES)('under %s', (_, make) => {
  const PARSERS: readonly (readonly [string, readonly express.RequestHandler[]])[] = [
    ['no body parser', []],
    ['express.json()', [make.json()]],
    ['express.json() that keeps the raw body', [make.json({ verify: keepRawBody })]],
    ['express.urlencoded()', [make.urlencoded({ extended: true })]],
    ['express.raw() of everything', [make.raw({ type: '*/*' })]],
    ['express.text() of everything', [make.text({ type: '*/*' })]],
    ['all of them', [make.urlencoded({ extended: false }), make.json(), make.text(), make.raw()]],
  ];

  test.each(PARSERS)('with %s in front every route works', async (_name, parsers) => {
    const at = '/ops/webhooks';
    await everyRouteWorks(await pageWorld({ app: (page) => make().use(at, ...parsers, page) }), at);
  });

  test('it works at two prefixes, in a router, and at the root', async () => {
    const app = (page: express.RequestHandler) =>
      make().use('/one', page).use('/deep/down', make.Router().use('/dead', page)).use(page);
    const { port, keep } = await pageWorld({ app });
    await keep();
    for (const at of ['/one', '/deep/down/dead', '']) {
      expect((await send(port, `${at}/letters`)).json.letters).toHaveLength(1);
      expect((await send(port, `${at}/`)).headers['content-type']).toMatch(/^text\/html/);
    }
  });

  test('without a trailing slash its URL answers with a script that adds one, and that its policy allows', async () => {
    const { ask } = await pageWorld({ app: (page) => make().use('/ops/webhooks', page) });
    for (const path of ['/ops/webhooks', '/ops/webhooks?reason=failed']) {
      const { status, headers, text } = await ask(path);
      const [, script = ''] = /<script>(.*)<\/script>/.exec(text) ?? [];
      const hash = createHash('sha256').update(script).digest('base64');
      expect([status, headers['content-security-policy']]).toEqual([
        200,
        `default-src 'none'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      ]);
      // To another path of this origin, whatever the path looks like.
      for (const href of ['https://ops.example/dead?q=1#top', 'https://ops.example//evil.example']) {
        const replaced: string[] = [];
        const location = { toString: () => href, replace: (url: URL) => void replaced.push(url.href) };
        runInNewContext(script, { URL, location });
        const { origin, pathname, search, hash } = new URL(href);
        expect(replaced).toEqual([`${origin}${pathname}/${search}${hash}`]);
      }
    }
    expect((await ask('//evil.example/../ops/webhooks')).status).toBe(404);
    expect((await ask('/ops/webhooks', { headers: { authorization: '' } })).status).toBe(403);
  });

  test('a proxy that the app trusts says which host was asked', async () => {
    const body = { id: 'none', because: 'test data' };
    const forwarded = { 'x-forwarded-host': 'ops.example', 'x-forwarded-proto': 'https' };
    const headers = { host: 'internal:3000', ...forwarded };
    const ofPage = { ...headers, origin: 'https://ops.example' };
    const trusts = (page: express.RequestHandler) => make().set('trust proxy', 'loopback').use('/ops', page);
    const trusting = await pageWorld({ app: trusts });
    expect((await trusting.ask('/ops/discard', { body, headers: ofPage })).status).toBe(200);
    for (const origin of ['https://evil.example', 'http://ops.example', 'http://internal:3000']) {
      const { status } = await trusting.ask('/ops/discard', { body, headers: { ...headers, origin } });
      expect(status).toBe(403);
    }
    const wary = await pageWorld({ app: (page) => make().use('/ops', page) });
    const refused = await wary.ask('/ops/discard', { body, headers: ofPage });
    expect(refused.status).toBe(403);
    expect(refused.json.message).toMatch(/set "trust proxy" in the app\.$/);
  });
});

describe('on node:http', () => {
  const app =
    (page: express.RequestHandler): http.RequestListener =>
    (req, res) => {
      req.url = req.url?.replace(/^\/ops(?=\/)/, '');
      (page as unknown as http.RequestListener)(req, res);
    };

  test('every route works', async () => everyRouteWorks(await pageWorld({ app }), '/ops'));

  test('an origin of http is that of the page, and one of https behind a proxy too', async () => {
    const { ask } = await pageWorld({ app });
    const status = async (origin: string) =>
      (await ask('/ops/letters', { headers: { host: 'ops.example', origin } })).status;
    expect(await status('http://ops.example')).toBe(200);
    expect(await status('https://ops.example')).toBe(200);
    expect(await status('https://evil.example')).toBe(403);
  });
});

test('a replay whose reader leaves ends after the letter that it is at, and can be started again', async () => {
  const [entered, door, left] = [gate(), gate(), gate()];
  const ran: string[] = [];
  const handler = async ({ id }: { id: string }) => {
    ran.push(id);
    entered.open();
    await door.opened;
  };
  const { port, ask, hooks, log } = await pageWorld({
    before: [(_req, res, next) => void next(res.once('close', left.open) && undefined)],
    receiver: { deadLetters: await keptRefunds('a', 'b', 'c'), events: REFUNDS, handlers: { '*': handler } },
  });
  const { socket } = await openSocket(port);
  socket.write(postOf('/ops/replay', '{}'));
  await entered.opened;
  socket.destroy();
  // The server has to notice before the handler ends, or the next letter begins.
  await left.opened;
  door.open();
  await until(() => log.lines.some(({ msg }) => msg === 'letters replayed'));
  expect(log.lines.at(-1)).toMatchObject({ processed: 1, stopped: 'aborted', user: 'ada' });
  expect([ran, (await lettersOf(hooks)).length]).toEqual([['a'], 2]);
  const again = await ask('/ops/replay', { body: {} });
  expect(linesOf(again).at(-1)).toMatchObject({ report: { processed: 2 } });
  expect(ran).toEqual(['a', 'b', 'c']);
});

describe('over HTTP/2', () => {
  async function ask(session: ClientHttp2Session, headers: http.OutgoingHttpHeaders, body?: object) {
    const text = body && JSON.stringify(body);
    const sized = text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const stream = session.request({ ...SIGNED_IN, ...sized, ...headers });
    const status = new Promise((resolve) => stream.once('response', (head) => resolve(head[':status'])));
    stream.end(text);
    return { json: await readJson(stream), status: await status };
  }

  test('it answers to its own host alone, and discards a letter', async () => {
    const { hooks, keep } = await pageWorld();
    const page = deadLetterPage(hooks, { authorize, hosts: ['ops.example'] });
    const server = createServer((request, response) => page(request as never, response as never));
    const session = connect(`http://127.0.0.1:${await listening(server)}`);
    afterwards(() => session.destroy());
    const id = await keep();
    expect(await ask(session, { ':path': '/letters' })).toMatchObject({
      status: 200,
      json: { letters: [{ id }] },
    });
    expect(await ask(session, { ':path': '/letters', ':authority': 'evil.example' })).toMatchObject({
      status: 403,
      json: { message: expect.stringContaining('"evil.example"') },
    });
    const discard = { ':method': 'POST', ':path': '/discard' };
    expect(await ask(session, discard, { id, because: 'test data' })).toMatchObject({
      json: { discarded: 1 },
    });
  });
});
