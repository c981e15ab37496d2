// Who is let in at the service's own endpoints (spec: Authentication, Errors).
import { describe, expect, test } from '@jest/globals';
import { type Simulator, seeds } from 'payment-webhooks/simulator';
import { basic, bearer, call, post, raw, simulator } from './world.js';

const UNAUTHENTICATED = '{"message":"Unauthenticated."}';
const base64 = (text: string) => Buffer.from(text).toString('base64');

const ROUTES = [
  ['GET', '/account/me'],
  ['GET', '/webhooks'],
  ['POST', '/webhooks'],
  ['PUT', '/webhooks/some-id'],
  ['DELETE', '/webhooks/some-id'],
] as const;

/** The answers of the five endpoints. */
async function answers({ baseUrl }: Simulator, headers: Record<string, string>, prefix = '') {
  const all: { status: number; text: string }[] = [];
  for (const [method, path] of ROUTES) {
    const body = method === 'GET' ? undefined : {};
    const { status, text } = await call(`${baseUrl}${prefix}/api/v2${path}`, { method, body, headers });
    all.push({ status, text });
  }
  return all;
}

const ALL_UNAUTHENTICATED = Array(ROUTES.length).fill({ status: 401, text: UNAUTHENTICATED });

const me = async ({ baseUrl }: Simulator, headers: Record<string, string>, prefix = '') =>
  (await call(`${baseUrl}${prefix}/api/v2/account/me`, { headers })).status;

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
      expect(await answers(service, headers)).toEqual(ALL_UNAUTHENTICATED);
      expect(await answers(service, headers, '/sandbox')).toEqual(ALL_UNAUTHENTICATED);
    },
  );

  test('base64 without its padding is malformed', async () => {
    const service = await simulator({ privateKey: 'pri_sim_four' });
    const padded = base64('pri_sim_four:');
    expect(padded).toMatch(/=$/);
    expect(await me(service, { Authorization: `Basic ${padded}` })).toBe(200);
    expect(await me(service, { Authorization: `Basic ${padded.replaceAll('=', '')}` })).toBe(401);
  });

  test('a sandbox key is refused on API v2', async () => {
    expect(await answers(await simulator(), basic('pri_sandbox_sim_dev'))).toEqual(ALL_UNAUTHENTICATED);
  });

  test('a live key is refused at the sandbox endpoints', async () => {
    expect(await answers(await simulator(), basic('pri_sim_dev'), '/sandbox')).toEqual(ALL_UNAUTHENTICATED);
  });

  test('an unknown path under the API is 401 without a credential', async () => {
    const service = await simulator();
    expect((await call(`${service.baseUrl}/api/v2/secrets`)).status).toBe(401);
    const headers = basic(service.privateKey);
    expect((await call(`${service.baseUrl}/api/v2/secrets`, { headers })).status).toBe(404);
  });

  test('two Authorization headers are malformed, even when both are right', async () => {
    const service = await simulator();
    const header = `Authorization: ${basic(service.privateKey).Authorization}`;
    const request = ['GET /api/v2/account/me HTTP/1.1', 'Host: localhost'];
    expect(await raw(service, [...request, header])).toMatch(/^HTTP\/1\.1 200 /);
    expect(await raw(service, [...request, header, header])).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe('200', () => {
  test('the private key is the user name, and the password is empty', async () => {
    const headers = { Authorization: `Basic ${base64('pri_sim_dev:')}`, Accept: 'application/json' };
    expect(await me(await simulator(), headers)).toBe(200);
  });

  test('the sandbox key opens the sandbox endpoints', async () => {
    expect(await me(await simulator(), basic('pri_sandbox_sim_dev'), '/sandbox')).toBe(200);
  });

  test('your own key replaces the seeded one', async () => {
    const service = await simulator({ privateKey: 'pri_sim_mine', sandboxKey: 'pri_sandbox_sim_mine' });
    expect([service.privateKey, service.sandboxKey]).toEqual(['pri_sim_mine', 'pri_sandbox_sim_mine']);
    expect(await me(service, basic('pri_sim_mine'))).toBe(200);
    expect(await me(service, basic('pri_sandbox_sim_mine'), '/sandbox')).toBe(200);
    expect(await me(service, basic('pri_sim_dev'))).toBe(401);
    expect(await me(service, basic('pri_sandbox_sim_dev'), '/sandbox')).toBe(401);
  });
});

describe('403', () => {
  // Past the scope: no url, no such webhook.
  test.each([
    ['a token needs the scope of the endpoint', bearer('sim_token_all'), [200, 200, 422, 404, 404]],
    ['a token to read cannot write', bearer('sim_token_read'), [200, 200, 403, 403, 403]],
    ['a token without scopes reaches nothing', bearer('sim_token_none'), [403, 403, 403, 403, 403]],
    ['scopes do not apply to private keys', basic('pri_sim_dev'), [200, 200, 422, 404, 404]],
  ])('%s', async (_, headers, statuses) => {
    expect((await answers(await simulator(), headers)).map(({ status }) => status)).toEqual(statuses);
  });

  test.each([
    ['pri_sim_inactive', /inactive/],
    ['pri_sim_unverified', /identity is not verified/],
  ])('the account of %s is authenticated but not permitted', async (key, why) => {
    const forbidden = { status: 403, text: expect.stringMatching(why) };
    expect(await answers(await simulator(), basic(key))).toEqual(Array(ROUTES.length).fill(forbidden));
  });
});

describe('key rotation', () => {
  test('from then on the new key authenticates, and the old one does not', async () => {
    const service = await simulator();
    const known = (...keys: string[]) => Promise.all(keys.map((key) => me(service, basic(key))));
    service.rotateKey({ privateKey: 'pri_sim_second' });
    expect(service.privateKey).toBe('pri_sim_second');
    expect(await known('pri_sim_dev', 'pri_sim_second')).toEqual([401, 200]);
    const keys = { private_key: 'pri_sim_third', sandbox_key: 'pri_sandbox_sim_third' };
    expect(await post(`${service.baseUrl}/_sim/keys`, keys)).toMatchObject({ status: 204, text: '' });
    expect(await known('pri_sim_second', 'pri_sim_third')).toEqual([401, 200]);
    expect(service.sandboxKey).toBe('pri_sandbox_sim_third');
    await service.reset();
    expect(await known('pri_sim_third', 'pri_sim_dev')).toEqual([401, 200]);
  });

  test('a key that may be real is refused, and never quoted', async () => {
    const service = await simulator();
    expect(() => service.rotateKey({ privateKey: 'pri_live_abc' })).toThrow(/does not begin with "pri_sim_"/);
    expect(() => service.rotateKey({ privateKey: 'pri_live_abc' })).not.toThrow(/abc/);
    const { status, text } = await post(`${service.baseUrl}/_sim/keys`, { private_key: 'pri_live_abc' });
    expect(status).toBe(422);
    expect(text).not.toContain('abc');
    expect(service.privateKey).toBe('pri_sim_dev');
  });
});

test('the seeds name every key and token, and what each of them shows', () => {
  const keys = ['pri_sim_dev', 'pri_sandbox_sim_dev', 'pri_sim_inactive', 'pri_sim_unverified'];
  expect(seeds.keys.map(({ key }) => key)).toEqual(keys);
  const tokens = ['sim_token_all', 'sim_token_read', 'sim_token_none'];
  expect(seeds.tokens.map(({ token }) => token)).toEqual(tokens);
  expect(seeds.accounts).toHaveLength(3);
});
