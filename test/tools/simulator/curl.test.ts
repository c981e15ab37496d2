// "Copy as curl": a real curl, in real shells, must send what the simulator sent. A witness records both raw.
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import type { FaultKind, SimulatorOptions } from 'payment-webhooks/simulator';
import { needing } from '../../setup/platform.js';
import { call, first, hasAddress, listening, simulator } from './world.js';

type Request = { line: string; headers: Map<string, string>; body: Buffer };

/** A server that takes each request apart by itself: no HTTP library could tidy up what came. */
async function witness(host: string) {
  const requests: Request[] = [];
  const server = createServer((socket) => {
    let bytes = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      const [line = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
      const headers = new Map(
        lines.map((text): [string, string] => {
          const colon = text.indexOf(':');
          return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()];
        }),
      );
      const body = bytes.subarray(end + 4);
      if (body.length < Number(headers.get('content-length'))) {
        if (headers.has('expect')) socket.write('HTTP/1.1 100 Continue\r\n\r\n');
        return;
      }
      requests.push({ line, headers, body });
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
  });
  return { port: await listening(server, host), requests };
}

interface Sending extends SimulatorOptions {
  readonly host?: string;
  readonly path?: string;
  readonly shell?: string;
  readonly payload?: object;
  readonly fault?: FaultKind;
}

/** One delivery, as the simulator sent it and as curl, typed into a shell, sent it again. */
async function sentTwice({
  host = '127.0.0.1',
  path = '/',
  shell = 'sh',
  payload = {},
  fault,
  ...options
}: Sending) {
  const service = await simulator({ retry: 'off', ...options });
  const { port, requests } = await witness(host.startsWith('[') ? '::1' : '127.0.0.1');
  const { url } = await service.webhooks.create({ url: `http://${host}:${port}${path}` });
  const delivery = first(await service.trigger('a.b', { payload }, fault ? { fault } : {}));
  const { text } = await call(`${service.baseUrl}/_sim/deliveries/${delivery.id}/curl`);
  const typing = promisify(execFile)(shell);
  typing.child.stdin?.end(text);
  await typing;
  return { port, url, requests, delivery };
}

const SENT = ['host', 'content-type', 'content-length', 'x-service-signature'];

function expectSame(requests: readonly Request[]): void {
  const parts = requests.map(({ line, headers, body }) => [
    ...[line, ...SENT.map((name) => headers.get(name))],
    body.toString('latin1'),
  ]);
  // Two: a glob would be sent as several requests.
  expect(parts).toEqual([parts[0], parts[0]]);
}

const HARD = `'"\\$HOME \`id\` $(id) !! !$ ; & | > < # * ? [1-3] {a,b} ~ %s %n \\\\ \\n é 支払い \u{1f600}`;

describe('a URL with', () => {
  needing('curl').test.each([
    ['a range in brackets', '/hooks/[1-3]?list=[a-c]'],
    ['alternatives in braces', '/hooks/{a,b}?list={c,d}'],
    ['quotes', `/it's/"x"?it's="y"`],
    ['what a shell expands', '/$HOME/`id`/$(id)/!!/~?a=$HOME&b=`id`&c=!!;d|e'],
    ['letters beyond ASCII', '/支払い/é?名=é'],
    ['escapes', '/a%20b/%5B1-3%5D/%7Ba,b%7D?c=%27%24'],
    ['dots', '/a/../b/./c/%2e%2e/d'],
    ['backslashes', '/a\\b?c=\\d'],
    ['a fragment', '/hooks#fragment'],
    ['no path', ''],
  ])('%s is sent as the simulator sent it', async (_, path) => {
    expectSame((await sentTwice({ path })).requests);
  });

  test('rejects a URL with a space', async () => {
    const service = await simulator();
    await expect(service.webhooks.create({ url: 'http://127.0.0.1/a b' })).rejects.toThrow('white space');
  });

  needing('curl').test('a host outside ASCII is named in its ASCII form', async () => {
    // Whether the system resolves such a name to this machine differs; curl always does.
    const { port, url, requests } = await sentTwice({ host: 'bücher.localhost', path: '/hooks' });
    expect(url).toContain('bücher');
    expect(requests.at(-1)?.headers.get('host')).toBe(`xn--bcher-kva.localhost:${port}`);
    expect(requests.at(-1)?.line).toBe('POST /hooks HTTP/1.1');
  });

  (hasAddress('::1') ? needing('curl').test : test.skip)('an IPv6 host reaches it', async () => {
    const { port, requests } = await sentTwice({ host: '[0:0::1]', path: '/hooks/[1-3]' });
    expectSame(requests);
    expect(requests[1]?.headers.get('host')).toBe(`[::1]:${port}`);
  });
});

needing('curl').describe('a body', () => {
  test.each(['sh', 'bash'])('of what %s would expand goes out byte for byte', async (shell) => {
    const payload = { text: HARD, '@file': `@${__filename}`, lines: 'a\nb\r\n\tc\u0000\u001b\u009b' };
    const { requests } = await sentTwice({ shell, payload });
    expectSame(requests);
    expect(JSON.parse(String(requests[1]?.body)).payload).toEqual(payload);
  });

  test('that is longer than the argument of a program may be is sent byte for byte', async () => {
    const { requests } = await sentTwice({ payload: { text: HARD.repeat(5_000) } });
    expectSame(requests);
    expect(requests[1]?.body.byteLength).toBeGreaterThan(300_000);
  });

  test('that a fault has cut is sent as it was cut', async () => {
    const { requests, delivery } = await sentTwice({ fault: 'truncate_body' });
    expect(String(requests[0]?.body)).toBe(delivery.attempts[0]?.request.body);
  });
});

needing('curl').test('the signature header is sent under the given name', async () => {
  const { requests } = await sentTwice({ signatureHeader: 'X-Pay-Signature', debugHeaders: true });
  for (const name of ['x-pay-signature', 'x-sim-delivery', 'x-sim-attempt']) {
    expect(requests[1]?.headers.get(name)).toBe(requests[0]?.headers.get(name));
  }
  expectSame(requests);
});
