import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ServiceClient, type ServiceClientOptions } from 'payment-webhooks/client';
import { afterwards, listening } from '../setup/afterwards.js';
import { needing } from '../setup/platform.js';
import { refusingPort } from '../setup/ports.js';
import { failure, json, ownSpecServer, PRIVATE_KEY, startSpecServer } from './spec-server.js';

const server = ownSpecServer();

const clientOf = (options: ServiceClientOptions = {}) =>
  new ServiceClient({ baseUrl: server.baseUrl, privateKey: PRIVATE_KEY, ...options });

const MIB = 1_048_576;

describe('an answer that is not what it should be', () => {
  test('200 with HTML is not JSON, and the message says to check the address', async () => {
    server.once((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hi'));
    const error = await failure(clientOf().account.me());
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'RESPONSE_NOT_JSON' });
    expect(error.message).toContain('GET /api/v2/account/me was answered 200 with text/html instead of JSON');
    expect(error.message).toContain('baseUrl');
    expect(error).not.toHaveProperty('status');
    expect(server.requests).toHaveLength(1);
  });

  test.each(['', ' \n', '{"data":['])('200 with %j is not JSON', async (body) => {
    server.once((_, response) => response.writeHead(200).end(body));
    await expect(clientOf().webhooks.list()).rejects.toMatchObject({ code: 'RESPONSE_NOT_JSON' });
  });

  test('a deletion needs no body, and ignores one', async () => {
    for (const body of ['', 'gone', '{"data":null}']) {
      server.once((_, response) => response.writeHead(200).end(body));
      await expect(clientOf().webhooks.delete('w1')).resolves.toBeUndefined();
    }
  });

  test('10 MB of JSON are not read', async () => {
    server.once((_, response) => json(response, 200, { data: 'x'.repeat(10 * MIB) }));
    const error = await failure(clientOf().account.me());
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'RESPONSE_TOO_LARGE' });
    expect(server.requests).toHaveLength(1);
  });

  test.each([false, true])('the limit is exact, with a length: %s', async (declared) => {
    const answer = (bytes: number) =>
      server.once((_, response) => {
        const body = JSON.stringify({ x: 'x'.repeat(bytes - 8) });
        response.writeHead(200, declared ? { 'content-length': bytes } : {});
        if (!declared) response.write(body.slice(0, 3));
        response.end(declared ? body : body.slice(3));
      });
    const client = clientOf({ maxResponseBytes: 5_000 });
    answer(5_000);
    await expect(client.account.me()).resolves.toBeDefined();
    answer(5_001);
    await expect(client.account.me()).rejects.toMatchObject({ code: 'RESPONSE_TOO_LARGE' });
  });

  test('a compressed answer counts as what it unpacks to', async () => {
    server.once((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50 * MIB, 32))),
    );
    await expect(clientOf().account.me()).rejects.toMatchObject({ code: 'RESPONSE_TOO_LARGE' });
  });

  test('a body that never ends is aborted at the limit, and its sender stopped', async () => {
    let written = 0;
    const stopped = new Promise<void>((resolve) => {
      server.once((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = () => {
          while (!response.destroyed && response.write(' '.repeat(65_536))) written += 65_536;
        };
        response.on('drain', more);
        response.on('close', resolve);
        more();
      });
    });
    await expect(clientOf().account.me()).rejects.toMatchObject({ code: 'RESPONSE_TOO_LARGE' });
    await stopped;
    expect(written).toBeLessThan(20 * MIB);
  });

  test('a body that trickles without end is aborted by the timeout, which covers its last byte', async () => {
    server.once((_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    });
    const startedAt = performance.now();
    const error = await failure(clientOf({ timeout: 200, retries: 0 }).account.me());
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'TIMED_OUT' });
    expect(error).not.toHaveProperty('status');
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('a server that does not speak HTTP is a network failure', async () => {
    const port = await listening(createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n')));
    const client = clientOf({ baseUrl: `http://127.0.0.1:${port}`, retries: 0 });
    await expect(client.account.me()).rejects.toMatchObject({ code: 'NETWORK_FAILED' });
  });

  test('a port where nothing listens is a network failure that says so', async () => {
    const baseUrl = `http://127.0.0.1:${await refusingPort()}`;
    await expect(clientOf({ baseUrl, retries: 0 }).account.me()).rejects.toMatchObject({
      ...{ code: 'NETWORK_FAILED', cause: { code: 'ECONNREFUSED' } },
      message: expect.stringContaining('nothing listens at that address'),
    });
  });

  test('JSON of another shape is an error that names the codec', async () => {
    const noWebhooks = [{ data: {} }, { data: [{ url: 'x' }] }, 5, null, { data: [{ id: 1, url: 'x' }] }];
    for (const body of [...noWebhooks, []]) {
      server.once((_, response) => json(response, 200, body));
      const call = Array.isArray(body) ? clientOf().account.me() : clientOf().webhooks.list();
      const error = await failure(call);
      expect(error).toMatchObject({ name: 'ServiceError', code: 'RESPONSE_UNEXPECTED', status: 200, body });
      expect(error.message).toContain('codec');
    }
  });

  test.each([
    ['objects', '{"a":', '1', '}'],
    ['lists', '[', '', ']'],
  ])('%s 50,000 levels deep are an error, not a crash', async (_, open, middle, close) => {
    const body = open.repeat(50_000) + middle + close.repeat(50_000);
    for (const status of [200, 400]) {
      server.once((_, response) => response.writeHead(status).end(body));
      await expect(clientOf().webhooks.list()).rejects.toMatchObject({ status });
    }
  });
});

describe('redirects', () => {
  const redirect = (status: number, location: string | undefined) =>
    server.once((_, response) => response.writeHead(status, location ? { location } : {}).end());

  test.each([301, 302, 303, 307, 308])('%i is refused: the credential does not follow it', async (status) => {
    const stranger = await startSpecServer();
    afterwards(() => stranger.close());
    redirect(status, `${stranger.baseUrl}/api/v2/account/me?a=b`);
    const error = await failure(clientOf().account.me());
    expect(error).toMatchObject({ name: 'ServiceError', code: 'REDIRECT_REFUSED', status });
    expect(error.message).toBe(
      `GET /api/v2/account/me was answered with a redirect (${status}) to ${stranger.baseUrl}/api/v2/account/me. The client does not follow redirects, so that it cannot send the credential elsewhere. Set baseUrl to the final address.`,
    );
    expect(stranger.requests).toHaveLength(0);
  });

  test.each([
    ['/api/v2/accounts/me', 'to X/api/v2/accounts/me.'],
    ['//evil.example/', 'to http://evil.example/.'],
    ['http://u:p@X', 'to X/.'],
    ['javascript:1', 'without a valid address.'],
    [undefined, 'without a valid address.'],
  ])('to %s is refused', async (location, shown) => {
    redirect(302, location?.replace('X', new URL(server.baseUrl).host));
    const error = await failure(clientOf().account.me());
    expect(error).toMatchObject({ code: 'REDIRECT_REFUSED' });
    expect(error.message).toContain(`redirect (302) ${shown.replace('X', server.baseUrl)}`);
    expect(server.requests).toHaveLength(1);
  });

  test('of a write is refused, and the write is not repeated', async () => {
    redirect(307, `${server.baseUrl}/api/v2/webhooks`);
    const creating = clientOf().webhooks.create({ url: 'https://a.example' });
    await expect(creating).rejects.toMatchObject({ code: 'REDIRECT_REFUSED' });
    expect(server.requests).toHaveLength(1);
    expect(server.webhooks.size).toBe(0);
  });
});

needing('openssl').describe('TLS', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tls-'));
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    const make = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    execFileSync('openssl', [...make, '-days', '2', '-keyout', key, '-out', cert, ...subject], {
      stdio: 'pipe',
    });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('a self-signed certificate is refused with the reason, and nothing is sent', async () => {
    let requests = 0;
    const port = await listening(
      createTlsServer(
        { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'cert.pem')) },
        (_, response) => {
          requests += 1;
          response.end('{}');
        },
      ),
    );
    const error = await failure(clientOf({ baseUrl: `https://localhost:${port}` }).account.me());
    const cause = { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' };
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'TLS_FAILED', cause });
    expect(error.message).toContain('self-signed certificate');
    expect(error.message).toContain('NODE_EXTRA_CA_CERTS');
    expect(requests).toBe(0);
  });
});
