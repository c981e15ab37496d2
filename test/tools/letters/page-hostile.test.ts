// What the page does with hostile events, bodies, methods and paths; and that no value of a payload leaves it unasked.
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import { memoryDeadLetters } from 'payment-webhooks';
import { z } from 'zod';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { lettersOf } from '../../setup/faulty-dead-letters.js';
import { openSocket } from '../../setup/raw-socket.js';
import { linesOf, pageWorld, postOf } from './page-world.js';

const SCRIPT = '<script>alert(1)</script>';
const SIGNED_OUT = { headers: { authorization: '' } };

describe('an event with script in every field', () => {
  const event = {
    id: '<img/src=x/onerror=alert(1)>',
    event_name: `${SCRIPT}.${SCRIPT}`,
    sandbox: false,
    payload: { [SCRIPT]: SCRIPT, ok: `</script>${SCRIPT}`, __proto__: { admin: true }, list: [SCRIPT] },
    [SCRIPT]: SCRIPT,
  };

  test('stays data: JSON that no browser takes for a page', async () => {
    const { ask, keep } = await pageWorld();
    const id = await keep(event);
    const inPath = encodeURIComponent(SCRIPT);
    const answers = [
      await ask('/ops/letters'),
      await ask('/ops/summary'),
      await ask(`/ops/letters/${id}`),
      await ask(`/ops/letters/${id}/reveal`, { body: {} }),
      await ask(`/ops/letters/${inPath}`),
      await ask(`/ops/letters?${inPath}=1`),
      await ask(`/ops/letters?event=${inPath}`),
      await ask('/ops/replay', { body: { [SCRIPT]: SCRIPT } }),
    ];
    for (const { headers, json } of answers) {
      expect(headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'content-security-policy': expect.stringContaining("default-src 'none'"),
      });
      expect(json).toEqual(expect.any(Object));
    }
    const stream = await ask('/ops/replay', { body: { dryRun: true } });
    expect(stream.headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    expect(linesOf(stream).at(-1)).toMatchObject({ report: { events: [{ eventName: event.event_name }] } });
    // A person who opens such an address reads text.
    const page = await ask(`/ops/letters/${inPath}`, { headers: { accept: 'text/html,*/*' } });
    expect(page.headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  test('is masked, also in keys that are no field names', async () => {
    const { ask, keep } = await pageWorld();
    const { json } = await ask(`/ops/letters/${await keep(event)}`);
    expect(JSON.stringify(json.payload)).not.toContain('alert');
    expect(json.payload).toMatchObject({
      '*': 'string',
      payload: { '*': 'string', ok: 'string', list: ['string'] },
    });
  });

  test('is found by its name and id', async () => {
    const { ask, keep } = await pageWorld();
    const id = await keep(event);
    for (const filter of [{ event: event.event_name }, { eventId: event.id }])
      expect((await ask(`/ops/letters?${new URLSearchParams(filter)}`)).json.letters).toMatchObject([{ id }]);
  });
});

test('no answer and no log line has a value of a payload before it is revealed', async () => {
  const deadLetters = memoryDeadLetters();
  const canary = 'canary-4111111111111111';
  const payload = {
    refund: { id: canary, amount: 98_765_431, [canary]: canary, list: [canary, { a: canary }], Name: 'x' },
    [`Mr. ${canary}`]: true,
    [`${canary}@example.com`]: null,
  };
  const before = await pageWorld({ receiver: { deadLetters } });
  for (const name of ['refund.made', 'payout.sent']) await before.keep(fixtures.event(name, payload));
  const strict = z.looseObject({ refund: z.strictObject({ id: z.number() }) });
  const events = { 'refund.made': strict, 'payout.sent': z.looseObject({}) };
  const handlers = { '*': () => Promise.reject(new Error(`${canary} has no account`)) };
  const { ask, hooks, log } = await pageWorld({ receiver: { deadLetters, events, handlers } });
  const texts: string[] = [];
  const gather = async (...request: Parameters<typeof ask>) => {
    const { text, headers } = await ask(...request);
    texts.push(text, JSON.stringify(headers));
  };
  await gather('/ops/');
  await gather('/ops/letters');
  await gather('/ops/summary');
  await gather('/ops/replay', { body: { dryRun: true } });
  await gather('/ops/replay', { body: {} });
  const letters = await lettersOf(hooks);
  expect(letters.map(({ reason }) => reason).sort()).toEqual(['failed', 'invalid']);
  for (const { id } of letters) await gather(`/ops/letters/${id}`);
  await gather('/ops/discard', { body: { id: letters[0]?.id, because: 'test data' } });
  await gather('/ops/letters?discarded=true');
  const logged = log.lines.filter(({ level }) => level === 30);
  expect([...texts, JSON.stringify(logged)].join('\n')).not.toMatch(/canary|4111|98765431/);
  // The same search finds it once it is asked for.
  const { text } = await ask(`/ops/letters/${letters[1]?.id}/reveal`, { body: {} });
  expect(text).toMatch(/canary/);
});

describe('a large payload', () => {
  test('of 2 MB is masked in part, and revealed in full', async () => {
    const { ask, keep } = await pageWorld({ receiver: { limit: '4mb' } });
    const event = fixtures.event('refund.made', {
      list: Array.from({ length: 60_000 }, (_, index) => ({ sku: `item ${index}`, n: index })),
      text: 'x'.repeat(500_000),
    });
    const body = JSON.stringify(event);
    expect(body.length).toBeGreaterThan(2_000_000);
    const id = await keep(event);
    const { status, json, text } = await ask(`/ops/letters/${id}`);
    expect([status, json.size]).toEqual([200, body.length]);
    expect(text.length).toBeLessThan(500_000);
    expect(json.payload.payload.list[0]).toEqual({ sku: 'string', n: 'number' });
    expect(JSON.stringify(json.payload)).toContain('…');
    expect((await ask(`/ops/letters/${id}/reveal`, { body: {} })).json.body).toBe(body);
  });

  test('that is deep is cut', async () => {
    const { ask, keep } = await pageWorld({ receiver: { limit: '4mb' } });
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const event = `{"id":"1","event_name":"a.b","sandbox":false,"payload":{"a":${deep}}}`;
    const id = await keep(Buffer.from(event));
    const { status, json } = await ask(`/ops/letters/${id}`);
    expect(status).toBe(200);
    expect(JSON.stringify(json.payload)).toMatch(/"payload":\{"a":\[{30,31}"…"\]{30,31}\}\}$/);
  });
});

describe('a body', () => {
  const CHUNKED = { 'content-length': '', 'transfer-encoding': 'chunked' };

  test.each<[string, number, string | Buffer, Record<string, string>]>([
    ['that is empty', 400, '', {}],
    ['that is empty and not announced', 400, '', CHUNKED],
    ['that is not JSON', 400, '{"event":', {}],
    ['that is a list', 400, '[]', {}],
    ['that is null', 400, 'null', {}],
    ['that is text', 400, '"replay"', {}],
    ['that is not UTF-8', 400, Buffer.from([0x7b, 0xff, 0x7d]), {}],
    ['with a byte order mark alone', 400, '\ufeff', {}],
    ['that is deep', 400, '['.repeat(16_000), {}],
    ['that is too large', 413, `{"event":"${'x'.repeat(20_000)}"}`, {}],
    ['of 5 MB', 413, Buffer.alloc(5_000_000, 0x20), {}],
    ['that is too large and not announced', 413, `{"event":"${'x'.repeat(20_000)}"}`, CHUNKED],
    ['that is compressed', 415, '{}', { 'content-encoding': 'gzip' }],
    ['with a prototype', 422, '{"__proto__":{"event":"*"},"constructor":1}', {}],
  ])('%s is answered %i, and changes nothing', async (_, expected, body, headers) => {
    const { ask, keep, hooks, log } = await pageWorld();
    await keep();
    log.text.length = 0;
    for (const path of ['/ops/replay', '/ops/discard', '/ops/letters/x/reveal']) {
      const { status, json } = await ask(path, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      });
      // The letter of a reveal is looked for first.
      expect(status).toBe(path.endsWith('reveal') ? 404 : expected);
      expect(Object.keys(json)).toEqual(['message', 'code']);
    }
    expect(await lettersOf(hooks)).toHaveLength(1);
    expect(log.lines).toEqual([]);
  });

  test('that another middleware swallowed is not taken for one without filters', async () => {
    const swallow: express.RequestHandler = (req, _res, next) => void req.resume().on('end', () => next());
    const { ask, keep, hooks } = await pageWorld({ before: [swallow] });
    await keep();
    const { status, json } = await ask('/ops/replay', { body: {} });
    expect(status).toBe(500);
    expect(json.message).toMatch(/^The body was read before the page/);
    expect(await lettersOf(hooks)).toHaveLength(1);
  });

  test('that ends early changes nothing, and costs the server nothing', async () => {
    const { port, ask, keep, hooks } = await pageWorld();
    await keep();
    const socket = await openSocket(port);
    socket.write(postOf('/ops/discard', '{"event":"*",', 40));
    socket.socket.end();
    await socket.closed;
    expect((await ask('/ops/letters')).json.letters).toHaveLength(1);
    expect(await lettersOf(hooks)).toHaveLength(1);
  });
});

describe('a method', () => {
  test.each([
    ['POST', 'letters', 'GET, HEAD'],
    ['DELETE', 'letters/x', 'GET, HEAD'],
    ['PUT', 'summary', 'GET, HEAD'],
    ['OPTIONS', 'letters', 'GET, HEAD'],
    ['GET', 'letters/x/reveal', 'POST'],
    ['HEAD', 'replay', 'POST'],
    ['GET', 'replay', 'POST'],
    ['PATCH', 'replay', 'POST'],
    ['GET', 'discard', 'POST'],
    ['OPTIONS', 'discard', 'POST'],
  ])('%s for %s is answered 405 with those that work', async (method, path, allowed) => {
    const { ask, keep, hooks } = await pageWorld();
    await keep();
    const { status, headers } = await ask(`/ops/${path}`, { method });
    expect([status, headers.allow]).toEqual([405, allowed]);
    expect(await lettersOf(hooks)).toHaveLength(1);
  });

  test.each(['letters', 'summary', ''])('HEAD for %j is answered without a body', async (path) => {
    const { ask } = await pageWorld();
    const { status, text } = await ask(`/ops/${path}`, { method: 'HEAD' });
    expect([status, text]).toEqual([200, '']);
  });

  test.each(['POST', 'PUT', 'DELETE', 'TRACE', 'PROPFIND'])('%s for the page is 404', async (method) => {
    const { ask } = await pageWorld();
    expect((await ask('/ops/', { method })).status).toBe(404);
  });

  test('in a header changes nothing', async () => {
    const { ask, keep, hooks } = await pageWorld();
    await keep();
    await ask('/ops/discard?_method=POST', { headers: { 'x-http-method-override': 'POST' } });
    expect(await lettersOf(hooks)).toHaveLength(1);
  });
});

describe('a path', () => {
  test.each([
    '/ops/assets/../../package.json',
    '/ops/%2e%2e/package.json',
    '/ops/..%2fpackage.json',
    '/ops/..%5cpackage.json',
    '/ops/assets/..%2f..%2f..%2fpackage.json',
    '/ops/assets//etc/passwd',
    '/ops/assets/%00',
    '/ops/.git/config',
    '/ops/.npmrc',
    '/ops/letters/x/y',
    '/ops/letters/../../secret',
    '/ops/__proto__',
    '/ops/letters/%00',
  ])('%s leads nowhere', async (path) => {
    const { ask } = await pageWorld();
    const { status, text } = await ask(path);
    expect([400, 404]).toContain(status);
    expect(text).not.toMatch(/"name"|root:/);
  });

  test('that is not UTF-8 is answered 400', async () => {
    const { ask, log } = await pageWorld();
    const { status, json } = await ask('/ops/letters/%E0%A4%A');
    expect([status, json.code]).toEqual([400, 'MALFORMED']);
    expect(log.lines).toEqual([]);
  });

  test('below the page never reaches what the app has after it', async () => {
    const open: express.RequestHandler = (_req, res) => void res.send('open to all');
    const { ask } = await pageWorld({ app: (page) => express().use('/ops', page).use(open) });
    expect((await ask('/ops/anything')).status).toBe(404);
    expect((await ask('/ops/anything', SIGNED_OUT)).status).toBe(403);
    expect((await ask('/elsewhere')).text).toBe('open to all');
  });

  test('that is absolute is that of the page', async () => {
    const { ask } = await pageWorld();
    expect((await ask('http://evil.example/ops/letters')).status).toBe(200);
    expect((await ask('http://evil.example/ops/letters', SIGNED_OUT)).status).toBe(403);
  });
});
