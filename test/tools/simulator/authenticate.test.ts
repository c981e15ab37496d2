// Who is let in at the service's own endpoints (spec: Authentication, Errors).
import { describe, expect, test } from '@jest/globals';
import { seeds } from 'payment-webhooks/simulator';
import { basic, bearer, call, raw, simulator } from './world.js';

const UNAUTHENTICATED = '{"message":"Unauthenticated."}';
const base64 = (text: string) => Buffer.from(text).toString('base64');

const routes = (prefix: string) =>
  [
    ['GET', `${prefix}/account/me`],
    ['GET', `${prefix}/webhooks`],
    ['POST', `${prefix}/webhooks`],
    ['PUT', `${prefix}/webhooks/some-id`],
    ['DELETE', `${prefix}/webhooks/some-id`],
  ] as const;

const refused: [string, Record<string, string>][] = [
  ['no credential', {}],
  ['an empty credential', { Authorization: '' }],
  ['another scheme', { Authorization: 'Digest username="pri_sim_dev"' }],
  ['the bare key', { Authorization: 'pri_sim_dev' }],
  ['the key in plain text as Basic', { Authorization: 'Basic pri_sim_dev:' }],
  ['Basic without a credential', { Authorization: 'Basic' }],
  ['no colon behind the key', { Authorization: `Basic ${base64('pri_sim_dev')}` }],
  ['a password', { Authorization: `Basic ${base64('pri_sim_dev:secret')}` }],
  ['the key as the password', { Authorization: `Basic ${base64(':pri_sim_dev')}` }],
  ['two colons', { Authorization: `Basic ${base64('pri_sim_dev::')}` }],
  ['a line break behind the colon', { Authorization: `Basic ${base64('pri_sim_dev:\n')}` }],
  ['base64 with rubbish behind it', { Authorization: `Basic ${base64('pri_sim_dev:')}!!` }],
  ['text that is no base64', { Authorization: 'Basic %%%%' }],
  ['an unknown key', basic('pri_sim_nobody')],
  ['a key in other letters', basic('PRI_SIM_DEV')],
  ['a key with a space before it', basic(' pri_sim_dev')],
  ['an empty key', basic('')],
  ['an access token as a private key', basic('sim_token_all')],
  ['a private key as an access token', bearer('pri_sim_dev')],
  ['an unknown access token', bearer('sim_token_unknown')],
  ['Bearer without a token', { Authorization: 'Bearer' }],
  ['two spaces behind the scheme', { Authorization: `Basic  ${base64('pri_sim_dev:')}` }],
];

describe('401', () => {
  test.each(refused)(
    '%s is refused on every endpoint, with exactly the documented body',
    async (_, headers) => {
      const service = await simulator();
      for (const [method, path] of [...routes('/api/v2'), ...routes('/sandbox/api/v2')]) {
        const { status, text } = await call(`${service.baseUrl}${path}`, { method, headers });
        expect([method, path, status, text]).toEqual([method, path, 401, UNAUTHENTICATED]);
      }
    },
  );

  test('base64 without its padding is malformed', async () => {
    const service = await simulator({ privateKey: 'pri_sim_four' });
    const padded = base64('pri_sim_four:');
    expect(padded).toMatch(/=$/);
    const status = async (credential: string) =>
      (
        await call(`${service.baseUrl}/api/v2/account/me`, {
          headers: { Authorization: `Basic ${credential}` },
        })
      ).status;
    expect(await status(padded)).toBe(200);
    expect(await status(padded.replaceAll('=', ''))).toBe(401);
  });

  test('a sandbox key is refused on API v2', async () => {
    const service = await simulator();
    for (const [method, path] of routes('/api/v2')) {
      const { status, text } = await call(service.baseUrl + path, {
        method,
        headers: basic(service.sandboxKey),
      });
      expect([status, text]).toEqual([401, UNAUTHENTICATED]);
    }
  });

  test('a live key is refused at the sandbox endpoints', async () => {
    const service = await simulator();
    for (const [method, path] of routes('/sandbox/api/v2')) {
      const { status, text } = await call(service.baseUrl + path, {
        method,
        headers: basic(service.privateKey),
      });
      expect([status, text]).toEqual([401, UNAUTHENTICATED]);
    }
  });

  test('an unknown path under the API is 401 without a credential', async () => {
    const service = await simulator();
    expect((await call(`${service.baseUrl}/api/v2/secrets`)).status).toBe(401);
    expect(
      (await call(`${service.baseUrl}/api/v2/secrets`, { headers: basic(service.privateKey) })).status,
    ).toBe(404);
  });

  test('two Authorization headers are malformed, even when both are right', async () => {
    const service = await simulator();
    const { Authorization = '' } = basic(service.privateKey);
    const header = `Authorization: ${Authorization}`;
    const request = ['GET /api/v2/account/me HTTP/1.1', 'Host: localhost'];
    expect(await raw(service, [...request, header])).toMatch(/^HTTP\/1\.1 200 /);
    expect(await raw(service, [...request, header, header])).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe('200', () => {
  test('the private key is the user name, and the password is empty', async () => {
    const service = await simulator();
    const headers = { Authorization: `Basic ${base64('pri_sim_dev:')}`, Accept: 'application/json' };
    expect((await call(`${service.baseUrl}/api/v2/account/me`, { headers })).status).toBe(200);
  });

  test('the sandbox key opens the sandbox endpoints', async () => {
    const service = await simulator();
    const headers = basic('pri_sandbox_sim_dev');
    expect((await call(`${service.baseUrl}/sandbox/api/v2/account/me`, { headers })).status).toBe(200);
  });

  test('your own key replaces the seeded one', async () => {
    const service = await simulator({ privateKey: 'pri_sim_mine', sandboxKey: 'pri_sandbox_sim_mine' });
    const me = async (prefix: string, key: string) =>
      (await call(`${service.baseUrl}${prefix}/api/v2/account/me`, { headers: basic(key) })).status;
    expect([service.privateKey, service.sandboxKey]).toEqual(['pri_sim_mine', 'pri_sandbox_sim_mine']);
    expect(await me('', 'pri_sim_mine')).toBe(200);
    expect(await me('/sandbox', 'pri_sandbox_sim_mine')).toBe(200);
    expect(await me('', 'pri_sim_dev')).toBe(401);
    expect(await me('/sandbox', 'pri_sandbox_sim_dev')).toBe(401);
  });
});

describe('403', () => {
  test('a token needs the scope of the endpoint', async () => {
    const service = await simulator();
    const statuses = async (token: string) => {
      const all: number[] = [];
      for (const [method, path] of routes('/api/v2')) {
        all.push(
          (
            await call(service.baseUrl + path, {
              method,
              body: method === 'GET' ? undefined : {},
              headers: bearer(token),
            })
          ).status,
        );
      }
      return all;
    };
    // Past the scope: no url, no such webhook.
    expect(await statuses('sim_token_all')).toEqual([200, 200, 422, 404, 404]);
    expect(await statuses('sim_token_read')).toEqual([200, 200, 403, 403, 403]);
    expect(await statuses('sim_token_none')).toEqual([403, 403, 403, 403, 403]);
  });

  test.each([
    ['pri_sim_inactive', /inactive/],
    ['pri_sim_unverified', /identity is not verified/],
  ])('the account of %s is authenticated but not permitted', async (key, why) => {
    const service = await simulator();
    for (const [method, path] of routes('/api/v2')) {
      const { status, json } = await call(service.baseUrl + path, { method, headers: basic(key) });
      expect([status, json.message]).toEqual([403, expect.stringMatching(why)]);
    }
  });

  test('scopes do not apply to private keys', async () => {
    const service = await simulator();
    const headers = basic(service.privateKey);
    for (const [method, path] of routes('/api/v2')) {
      const { status } = await call(service.baseUrl + path, {
        method,
        body: method === 'GET' ? undefined : {},
        headers,
      });
      expect(status).not.toBe(403);
    }
  });
});

describe('key rotation', () => {
  test('from then on the new key authenticates, and the old one does not', async () => {
    const service = await simulator();
    const me = async (key: string) =>
      (await call(`${service.baseUrl}/api/v2/account/me`, { headers: basic(key) })).status;
    service.rotateKey({ privateKey: 'pri_sim_second' });
    expect(service.privateKey).toBe('pri_sim_second');
    expect([await me('pri_sim_dev'), await me('pri_sim_second')]).toEqual([401, 200]);
    const rotated = await call(`${service.baseUrl}/_sim/keys`, {
      method: 'POST',
      body: { private_key: 'pri_sim_third', sandbox_key: 'pri_sandbox_sim_third' },
    });
    expect([rotated.status, rotated.text]).toEqual([204, '']);
    expect([await me('pri_sim_second'), await me('pri_sim_third')]).toEqual([401, 200]);
    expect(service.sandboxKey).toBe('pri_sandbox_sim_third');
    await service.reset();
    expect([await me('pri_sim_third'), await me('pri_sim_dev')]).toEqual([401, 200]);
  });

  test('a key that may be real is refused, and never quoted', async () => {
    const service = await simulator();
    expect(() => service.rotateKey({ privateKey: 'pri_live_abc' })).toThrow(/does not begin with "pri_sim_"/);
    expect(() => service.rotateKey({ privateKey: 'pri_live_abc' })).not.toThrow(/abc/);
    const { status, text } = await call(`${service.baseUrl}/_sim/keys`, {
      method: 'POST',
      body: { private_key: 'pri_live_abc' },
    });
    expect(status).toBe(422);
    expect(text).not.toContain('abc');
    expect(service.privateKey).toBe('pri_sim_dev');
  });
});

test('the seeds name every key and token, and what each of them shows', () => {
  expect(seeds.keys.map(({ key }) => key)).toEqual([
    'pri_sim_dev',
    'pri_sandbox_sim_dev',
    'pri_sim_inactive',
    'pri_sim_unverified',
  ]);
  expect(seeds.tokens.map(({ token }) => token)).toEqual([
    'sim_token_all',
    'sim_token_read',
    'sim_token_none',
  ]);
  expect(seeds.accounts).toHaveLength(3);
});
