// Who may see the page: only users of `authorize`, and not through another origin, a frame, a form or DNS rebinding.
import { describe, expect, jest, test } from '@jest/globals';
import express from 'express';
import { ConfigurationError, memoryDeadLetters, receiver } from 'payment-webhooks';
import type { DeadLetterPageOptions } from 'payment-webhooks/ops';
import { deadLetterPage } from 'payment-webhooks/ops';
import { KEY } from '../../setup/delivery.js';
import { lettersOf } from '../../setup/faulty-dead-letters.js';
import { openSocket } from '../../setup/raw-socket.js';
import { type Ask, authorize, pageWorld, USER } from './page-world.js';

const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', accept: 'text/html' };

describe('deadLetterPage() is refused at construction', () => {
  const hooks = receiver({ privateKey: KEY, deadLetters: memoryDeadLetters(), logger: false });
  const page = deadLetterPage as unknown as (...given: readonly unknown[]) => unknown;

  test.each<[string, readonly unknown[], RegExp]>([
    ['without options', [hooks], /^The options of deadLetterPage\(\) are undefined\./],
    ['without authorize', [hooks, {}], /^authorize is undefined\. Pass a function that returns the user/],
    ['with authorize: true', [hooks, { authorize: true }], /^authorize is true\./],
    ['with a user for authorize', [hooks, { authorize: 'ada' }], /^authorize is "ada"\./],
    ['with an unknown option', [hooks, { authorize, host: [] }], /"host"\. Did you mean "hosts"\?/],
    ['with hosts as text', [hooks, { authorize, hosts: 'ops.example' }], /^hosts is "ops\.example"\./],
    ['with no host', [hooks, { authorize, hosts: [] }], /^hosts is an array\./],
    ['with a URL as host', [hooks, { authorize, hosts: ['https://ops.example'] }], /^hosts has "https:/],
    ['with a port', [hooks, { authorize, hosts: ['ops.example:80'] }], /^hosts has "ops\.example:80"/],
    ['with a logger that is not one', [hooks, { authorize, logger: {} }], /^logger is an object\./],
    ['without a receiver', [undefined, { authorize }], /is undefined\. Pass what receiver\(\) returned\./],
    ['with an app', [express(), { authorize }], /is a function\. Pass what receiver\(\) returned\./],
    [
      'for a receiver without dead letters',
      [receiver({ privateKey: KEY, logger: false }), { authorize }],
      /^This receiver keeps no dead letters\. Give it a dead-letter store: receiver\(\{ deadLetters/,
    ],
  ])('%s', (_, given, message) => {
    const attempt = () => page(...given);
    expect(attempt).toThrow(ConfigurationError);
    expect(attempt).toThrow(message);
  });
});

/** Every kind of answer that the page has. */
const REQUESTS: readonly (readonly [string, Ask])[] = [
  ['/ops', {}],
  ['/ops/', {}],
  ['/ops/', { method: 'HEAD' }],
  ['/ops/', { method: 'OPTIONS' }],
  ['/ops/index.html', {}],
  ['/ops/assets/page.js', {}],
  ['/ops/nothing', {}],
  ['/ops/letters', {}],
  ['/ops/letters', { method: 'HEAD' }],
  ['/ops/summary', {}],
  ['/ops/letters/none', {}],
  ['/ops/letters/none/reveal', { body: {} }],
  ['/ops/replay', { body: {} }],
  ['/ops/discard', { body: { event: '*', because: 'test data' } }],
  ['/ops/discard', { method: 'DELETE' }],
];

describe('authorize', () => {
  test.each(REQUESTS)('is asked for %s %j, and refuses all alike', async (path, ask) => {
    const { ask: send, hooks, keep } = await pageWorld();
    await keep();
    const { status, json } = await send(path, { ...ask, headers: { authorization: 'Bearer bad' } });
    const message = 'You are not allowed to see this page. Sign in with another account.';
    expect(status).toBe(403);
    if (ask.method !== 'HEAD') expect(json).toEqual({ message, code: 'FORBIDDEN' });
    expect(await lettersOf(hooks)).toHaveLength(1);
  });

  test.each([undefined, null, false, 0, '', Number.NaN])(
    'that returns %s refuses everybody',
    async (user) => {
      for (const authorize of [() => user as undefined, async () => user as undefined]) {
        const { ask } = await pageWorld({ page: { authorize } });
        expect((await ask('/ops/letters')).status).toBe(403);
      }
    },
  );

  const fails = () => {
    throw new Error('no session of grace@example.com');
  };

  test.each<[string, () => unknown]>([
    ['throws', fails],
    ['rejects', async () => fails()],
    ['rejects with nothing', () => Promise.reject()],
    ['returns true', () => true],
    ['returns a user without a name', () => ({ email: 'grace@example.com' })],
    ['returns a blank name', () => '  '],
    ['returns a user with a blank name', () => ({ name: '' })],
    ['returns a number', () => 7],
    ['returns a user that cannot be read', () => Object.defineProperty({}, 'name', { get: fails })],
  ])('that %s refuses everybody, and the log says so without a name', async (_, wrong) => {
    const { ask, log } = await pageWorld({ page: { authorize: wrong as () => undefined } });
    const { status, json } = await ask('/ops/letters');
    const message = 'Your request could not be authorized. Check the log.';
    expect([status, json]).toEqual([500, { message, code: 'FAILED' }]);
    const line = { level: 50, msg: expect.stringMatching(/^authorize of deadLetterPage\(\)/) };
    expect(log.lines).toEqual([expect.objectContaining(line)]);
    expect(log.text.join()).not.toContain('grace');
  });

  test.each<[unknown, string]>([
    ['ada', 'ada'],
    [{ name: 'Ada', id: 7 }, 'Ada'],
    [{ id: 7 }, '7'],
    [{ id: 'u-7', name: null }, 'u-7'],
    ['x'.repeat(200), 'x'.repeat(100)],
  ])('that returns %j gives the name of the user', async (user, name) => {
    const { ask } = await pageWorld({ page: { authorize: async () => user as string } });
    expect((await ask('/ops/summary')).json.user).toBe(name);
  });

  test('gets the request as the app sees it', async () => {
    const { ask } = await pageWorld({ page: { authorize: (req) => `${req.originalUrl} ${req.get('x-a')}` } });
    expect((await ask('/ops/summary?', { headers: { 'x-a': 'b' } })).json.user).toBe('/ops/summary? b');
  });

  test('refuses a person who opens the page in text', async () => {
    const { ask } = await pageWorld({ page: { authorize: () => false } });
    const { status, headers, text } = await ask('/ops/', { headers: NAVIGATION });
    expect([status, headers['content-type']]).toEqual([403, 'text/plain; charset=utf-8']);
    expect(text).toBe('You are not allowed to see this page. Sign in with another account.\n');
  });
});

/** Without a trailing slash the page is one script, allowed by its hash, which adds it. */
const CSP =
  /^default-src 'none'; script-src (?:'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:|'sha256-[\w+/]{43}='); base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/;

test.each(REQUESTS)('%s %j has every security header, also when it is refused', async (path, ask) => {
  // What a permissive middleware in front sets is taken away.
  const permissive: express.RequestHandler = (_req, res, next) => {
    res.set({
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Allow-Credentials': 'true',
      'Content-Security-Policy': "default-src 'unsafe-inline' *",
      'X-Frame-Options': 'SAMEORIGIN',
      'Cache-Control': 'public, max-age=3600',
    });
    next();
  };
  const { ask: send } = await pageWorld({ before: [permissive] });
  for (const authorization of ['Bearer good', 'Bearer bad']) {
    const { headers } = await send(path, { ...ask, headers: { authorization } });
    expect(headers).toMatchObject({
      'cache-control': expect.stringMatching(/^no-store(?:, no-transform)?$/),
      'content-security-policy': expect.stringMatching(CSP),
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(headers['set-cookie']).toBeUndefined();
  }
});

const FOREIGN: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['another origin', { origin: 'https://evil.example' }],
  ['another origin of an old browser with a cookie', { origin: 'https://evil.example', cookie: 'a=b' }],
  ['a sandboxed frame', { origin: 'null' }],
  ['another port', { origin: 'http://ops.example:8080' }],
  ['a name that begins alike', { origin: 'https://ops.example.evil.example' }],
  ['a name that ends alike', { origin: 'https://evil-ops.example' }],
  ['an extension', { origin: 'chrome-extension://ops.example' }],
  ['an origin that is not one', { origin: 'ops.example' }],
  ['two origins', { origin: 'https://ops.example, https://evil.example' }],
  ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://ops.example' }],
  ['a subdomain', { 'sec-fetch-site': 'same-site' }],
  ['several at once', { 'sec-fetch-site': 'same-origin, cross-site' }],
];
const HOST = { host: 'ops.example' };
const SAME = { 'sec-fetch-site': 'same-origin' };

describe('a request from', () => {
  const body = { event: '*', because: 'evil' };

  test.each(FOREIGN)('%s changes nothing, and authorize is not asked', async (_, headers) => {
    const authorize = jest.fn(() => USER);
    const { ask, hooks, keep } = await pageWorld({ page: { authorize } });
    const changes = { '/ops/discard': body, '/ops/replay': {}, [`/ops/letters/${await keep()}/reveal`]: {} };
    const message = expect.stringMatching(/^This request comes from a different origin/);
    for (const [path, body] of Object.entries(changes)) {
      const { status, json } = await ask(path, { body, headers: { ...HOST, ...headers } });
      expect([status, json]).toEqual([403, { message, code: 'FORBIDDEN' }]);
    }
    expect(authorize).not.toHaveBeenCalled();
    expect(await lettersOf(hooks)).toHaveLength(1);
  });

  test.each(FOREIGN)('%s reads nothing', async (_, headers) => {
    const { ask, keep } = await pageWorld();
    const foreign = { headers: { ...HOST, ...headers } };
    for (const path of ['letters', 'summary', `letters/${await keep()}`, 'assets/page.js', ''])
      expect((await ask(`/ops/${path}`, foreign)).status).toBe(403);
    expect((await ask('/ops/letters', { method: 'OPTIONS', ...foreign })).status).toBe(403);
  });

  test.each<[string, Readonly<Record<string, string>>]>([
    ['the page', { ...SAME, origin: 'https://ops.example' }],
    ['the page behind a proxy that changes Host', { ...SAME, origin: 'https://a.example' }],
    ['the page in an old browser', { origin: 'https://ops.example', cookie: 'a=b' }],
    ['the page at another port', { host: 'ops.example:8443', origin: 'https://ops.example:8443' }],
    ['the page at the usual port', { host: 'ops.example:443', origin: 'https://ops.example' }],
    ['the page in capitals', { host: 'OPS.example', origin: 'https://ops.example' }],
    ['a program', {}],
    ['a program with a cookie too', { cookie: 'a=b' }],
  ])('%s is served', async (_, headers) => {
    const { ask, keep } = await pageWorld();
    await keep();
    expect((await ask('/ops/letters', { headers: { ...HOST, ...headers } })).status).toBe(200);
    const { status, json } = await ask('/ops/discard', { body, headers: { ...HOST, ...headers } });
    expect([status, json]).toEqual([200, { discarded: 1 }]);
  });

  test('a browser that sends a cookie and no Origin changes nothing', async () => {
    const { ask, hooks, keep } = await pageWorld({ page: { authorize: () => USER } });
    await keep();
    const headers = { authorization: '', cookie: 'session=1' };
    const { status, json } = await ask('/ops/discard', { body, headers });
    expect(status).toBe(403);
    expect(json.message).toMatch(/^This request has a cookie and no Origin\./);
    expect(await lettersOf(hooks)).toHaveLength(1);
  });

  test('a link elsewhere opens the page, and a frame does not', async () => {
    const { ask } = await pageWorld();
    const link = { ...NAVIGATION, 'sec-fetch-site': 'cross-site' };
    expect((await ask('/ops/', { headers: link })).status).toBe(200);
    expect((await ask('/ops', { headers: link })).status).toBe(200);
    for (const dest of ['iframe', 'frame', 'embed', 'object', 'image', 'script', ''])
      expect((await ask('/ops/', { headers: { ...link, 'sec-fetch-dest': dest } })).status).toBe(403);
    expect((await ask('/ops/letters', { headers: link })).status).toBe(403);
  });
});

describe('a form', () => {
  test.each([
    'application/x-www-form-urlencoded',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'text/plain; application/json',
    '',
  ])('of type %j is refused', async (type) => {
    for (const parser of [express.json(), express.urlencoded(), express.text({ type: '*/*' })]) {
      const { ask, hooks, keep } = await pageWorld({ before: [parser] });
      await keep();
      const { status, json } = await ask('/ops/discard', {
        method: 'POST',
        body: '{"event":"*","because":"="}',
        headers: { 'content-type': type, ...SAME },
      });
      expect([status, json.code]).toEqual([415, 'NOT_JSON']);
      expect(await lettersOf(hooks)).toHaveLength(1);
    }
  });
});

describe('with hosts', () => {
  const world = () => pageWorld({ page: { hosts: ['ops.example', '10.0.0.7', '::2'] } });
  const OWN = [
    'ops.example',
    'OPS.EXAMPLE:8443',
    '10.0.0.7:3000',
    '[::2]:80',
    'localhost:9',
    '127.0.0.1',
    '[::1]',
  ];

  test.each(OWN)('%s is answered', async (host) => {
    const { ask } = await world();
    expect((await ask('/ops/letters', { headers: { host } })).status).toBe(200);
  });

  const REBOUND = ['evil.example', 'ops.example.evil.example', 'ops.example.', '10.0.0.8'];
  test.each(REBOUND)('a name of DNS rebinding is refused: %s', async (host) => {
    const { ask } = await world();
    const headers = { host, origin: `http://${host}`, ...SAME };
    for (const [path, request] of REQUESTS)
      expect([path, (await ask(path, { ...request, headers })).status]).toEqual([path, 403]);
    expect((await ask('/ops/letters', { headers: { host } })).json.message).toBe(
      `This page does not answer to the host ${JSON.stringify(host)}. Add it to hosts of deadLetterPage().`,
    );
  });

  test('what a client says of a proxy counts for nothing', async () => {
    const { ask } = await world();
    const headers = { host: 'evil.example', 'x-forwarded-host': 'ops.example' };
    expect((await ask('/ops/letters', { headers })).status).toBe(403);
  });
});

test('two Host headers are refused: a proxy may have used either', async () => {
  const { port } = await pageWorld();
  const socket = await openSocket(port);
  const hosts = 'Host: ops.example\r\nHost: evil.example\r\n';
  socket.write(
    `GET /ops/letters HTTP/1.1\r\n${hosts}Authorization: Bearer good\r\nConnection: close\r\n\r\n`,
  );
  expect(await socket.closed).toMatch(/^HTTP\/1\.1 40[03] /);
});

test('a host that cannot be one is refused without hosts too', async () => {
  const { ask } = await pageWorld();
  for (const host of ['ops.example@evil.example', 'a@b', 'a/b', 'a b', '<script>'])
    expect((await ask('/ops/letters', { headers: { host } })).json.message).toBe(
      'The Host header of this request is invalid.',
    );
});

describe('authorize that returns login', () => {
  const basic: DeadLetterPageOptions['authorize'] = ({ headers }) => {
    const [, credentials = ''] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
    const [user, password] = Buffer.from(credentials, 'base64').toString().split(':');
    return password === 'secret' ? user : 'login';
  };
  const CHALLENGE = 'Basic realm="Dead letters", charset="UTF-8"';
  const asked = (text: string) => ({ headers: { authorization: `Basic ${btoa(text)}` } });

  test('makes a browser ask for a password, for the page and for each of its requests', async () => {
    const { ask, keep } = await pageWorld({ page: { authorize: basic } });
    await keep();
    const navigating = { authorization: '', accept: 'text/html', 'sec-fetch-mode': 'navigate' };
    const page = await ask('/ops/', { headers: navigating });
    expect([page.status, page.headers['www-authenticate']]).toEqual([401, CHALLENGE]);
    expect(page.text).toBe('Sign in to see this page.\n');
    for (const [path, body] of [
      ['letters'],
      ['causes'],
      ['discard', { event: '*', because: 'x' }],
    ] as const) {
      const answer = await ask(`/ops/${path}`, { ...asked('ada:wrong'), ...(body && { body }) });
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, CHALLENGE]);
      expect(answer.json).toEqual({ message: 'Sign in to see this page.', code: 'UNAUTHENTICATED' });
    }
    const { status, headers, json } = await ask('/ops/summary', asked('ada:secret'));
    expect([status, headers['www-authenticate'], json.user, json.total]).toEqual([200, undefined, 'ada', 1]);
  });

  test('is not asked of another origin, which is refused first', async () => {
    const { ask } = await pageWorld({ page: { authorize: basic } });
    const { status, headers } = await ask('/ops/letters', { headers: { 'sec-fetch-site': 'cross-site' } });
    expect([status, headers['www-authenticate']]).toEqual([403, undefined]);
  });
});
