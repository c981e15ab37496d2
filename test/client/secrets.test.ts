import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { ServiceClient, type ServiceClientOptions } from 'payment-webhooks/client';
import { failure, json, ownSpecServer } from './spec-server.js';

const server = ownSpecServer();

const KEY = 'pri_c4nary"\\+/?é&x';
const TOKEN = 'c4nary-token/+~';
const BASIC = Buffer.from(`${KEY}:`).toString('base64');

/** Everything that a program could log of an error, down its chain of causes. */
function everything(error: unknown): string {
  const texts: string[] = [];
  for (let link = error; link; link = (link as { cause?: unknown }).cause) {
    const { message, stack, body } = link as Error & { body?: unknown };
    texts.push(String(link), message, String(stack), JSON.stringify(link), JSON.stringify(body) ?? '');
    texts.push(inspect(link, { depth: Infinity, showHidden: true }));
  }
  return texts.join('\n');
}

const secretsOf = (secret: string) => [
  secret,
  'c4nary',
  BASIC.slice(0, 12),
  Buffer.from(secret).toString('base64').slice(0, 12),
  Buffer.from(TOKEN).toString('base64').slice(0, 12),
];

describe.each<[string, ServiceClientOptions, string]>([
  ['a private key', { privateKey: KEY }, KEY],
  ['a token', { accessToken: TOKEN }, TOKEN],
  ['a token function', { accessToken: async () => TOKEN }, TOKEN],
])('with %s', (_, credential, secret) => {
  const clientOf = (options: ServiceClientOptions = {}) =>
    new ServiceClient({ baseUrl: server.baseUrl, retries: 0, ...credential, ...options });
  const expectClean = (text: string) => {
    for (const part of secretsOf(secret)) expect(text).not.toContain(part);
  };

  test('no view of the client shows the credential', () => {
    const client = clientOf();
    for (const part of [client, client.account, client.webhooks]) {
      expectClean(inspect(part, { depth: Infinity, showHidden: true, getters: true }));
      expectClean(JSON.stringify(part));
      expectClean(Object.getOwnPropertyNames(part).join());
    }
  });

  test.each([400, 401, 403, 404, 422, 429, 500])(
    'a credential that the service echoes in a %i is taken out of the error',
    async (status) => {
      server.always((request, response) => {
        const sent = request.headers.authorization ?? '';
        const bare = sent.slice(sent.indexOf(' ') + 1);
        json(response, status, {
          message: `"${sent}" and ${secret} and ${bare}`,
          [secret]: { [bare]: [bare, { deep: secret }] },
          errors: { [secret]: [`not ${bare}`] },
          ['__proto__']: secret,
          url: `https://x.example/?key=${encodeURIComponent(secret)}&b=${encodeURIComponent(bare)}`,
          base64: Buffer.from(secret).toString('base64'),
          url64: Buffer.from(`${secret}:`).toString('base64url'),
          quoted: JSON.stringify(secret),
        });
      });
      const error = await failure(clientOf().account.me());
      expect(error.status).toBe(status);
      expect(error.message).toContain('[redacted]');
      expectClean(everything(error));
    },
  );

  test('nor is it in an error page, a content type, a redirect or a body of another shape', async () => {
    const page = (status: number, headers: Record<string, string>, body: string) =>
      server.once((_, response) => response.writeHead(status, headers).end(body));
    const bare = (secret === KEY ? BASIC : TOKEN).replace(/=+$/, '');
    page(502, {}, `<pre>Authorization: ${bare} ${secret}</pre>`);
    page(200, { 'content-type': `text/${bare}` }, 'hello');
    page(302, { location: `https://${bare}.example/` }, '');
    page(200, {}, JSON.stringify({ data: [{ id: secret, url: 5 }] }));
    for (let i = 0; i < 4; i += 1) {
      const told = everything(await failure(clientOf().webhooks.list()));
      expectClean(told);
      expect(told.toLowerCase()).not.toContain(bare.toLowerCase());
    }
  });

  test('nor is it in what a fetch of your own throws', async () => {
    const fetch = async (_: unknown, init?: RequestInit) => {
      const inner = Object.assign(new Error(`bad header ${JSON.stringify(init?.headers)} ${secret}`), {
        config: init,
      });
      throw new Error('fetch failed', { cause: inner });
    };
    const error = await failure(clientOf({ fetch: fetch as typeof globalThis.fetch }).account.me());
    expect(error).toMatchObject({ code: 'NETWORK_FAILED' });
    expectClean(everything(error));
  });

  test('nor is it in what a codec of your own throws', async () => {
    server.always((_, response) => json(response, 200, { data: secret }));
    const account = (body: unknown) => {
      throw new Error(`cannot read ${JSON.stringify(body)}`);
    };
    const error = await failure(clientOf({ codec: { account } }).account.me());
    expect(error).toMatchObject({ code: 'RESPONSE_UNEXPECTED' });
    expectClean(everything(error));
  });

  test('nor is it in the error of a call that was given it as an id', async () => {
    server.always((_, response) => json(response, 404, {}));
    const error = await failure(clientOf().webhooks.delete(secret));
    expect(error.status).toBe(404);
    expectClean(everything(error));
  });
});
