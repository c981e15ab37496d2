// The five endpoints of the service, at /api/v2 and under the sandbox prefix (spec: Endpoints).
import { describe, expect, jest, test } from '@jest/globals';
import type * as Door from 'payment-webhooks/simulator';
import { afterwards, basic, call, endpoint, raw, simulator } from './world.js';

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function api(prefix: '' | '/sandbox' = '') {
  const service = await simulator();
  const headers = basic(prefix ? service.sandboxKey : service.privateKey);
  const send = (method: string, path: string, body?: unknown) =>
    call(`${service.baseUrl}${prefix}/api/v2${path}`, { method, body, headers });
  return { service, send };
}

describe.each(['', '/sandbox'] as const)('under "%s/api/v2"', (prefix) => {
  test('GET /account/me returns the authenticated account', async () => {
    const { send } = await api(prefix);
    const { status, json, headers } = await send('GET', '/account/me');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(json.data).toMatchObject({ id: 'acc_sim_dev', active: true, identity_verified: true });
  });

  test('a webhook is registered, listed, changed and deleted', async () => {
    const { send } = await api(prefix);
    const url = 'http://127.0.0.1:3000/hooks';
    const created = await send('POST', '/webhooks', { url, events: ['transaction.paid'] });
    expect(created.status).toBe(201);
    const webhook = created.json.data;
    expect(Object.keys(webhook)).toEqual(['id', 'url', 'events', 'created_at', 'updated_at']);
    const created_at = expect.stringMatching(ISO);
    expect(webhook).toMatchObject({ url, events: ['transaction.paid'], created_at });

    const list = await send('GET', '/webhooks');
    expect([list.status, list.json]).toEqual([200, { data: [webhook] }]);

    const { id } = webhook;
    const moved = await send('PUT', `/webhooks/${id}`, { url: `${url}/new` });
    expect(moved.status).toBe(200);
    expect(moved.json.data).toMatchObject({ id, url: `${url}/new`, events: ['transaction.paid'] });
    const widened = await send('PUT', `/webhooks/${id}`, { events: ['*'] });
    expect(widened.json.data).toMatchObject({ url: `${url}/new`, events: ['*'] });

    const deleted = await send('DELETE', `/webhooks/${id}`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect((await send('GET', '/webhooks')).json).toEqual({ data: [] });
    expect((await send('DELETE', `/webhooks/${id}`)).status).toBe(404);
  });
});

test('both prefixes reach the same list of webhooks', async () => {
  const { service, send } = await api('/sandbox');
  const { json } = await send('POST', '/webhooks', { url: 'http://127.0.0.1:3000/hooks' });
  const live = await call(`${service.baseUrl}/api/v2/webhooks`, { headers: basic(service.privateKey) });
  expect(live.json.data).toEqual([json.data]);
});

test('without a choice, and with "*" among others, a webhook subscribes to all events', async () => {
  const { send } = await api();
  const eventsOf = async (chosen: object) =>
    (await send('POST', '/webhooks', { url: 'http://127.0.0.1:3000/', ...chosen })).json.data.events;
  expect(await eventsOf({})).toEqual(['*']);
  expect(await eventsOf({ events: ['a.b', '*'] })).toEqual(['*']);
  expect(await eventsOf({ events: ['a.b', 'c.*', 'a.b'] })).toEqual(['a.b', 'c.*']);
});

test.each([
  ['no url', {}, 'url'],
  ['a url that is a number', { url: 7 }, 'url'],
  ['an empty url', { url: '' }, 'url'],
  ['a relative url', { url: '/hooks' }, 'url'],
  ['another scheme', { url: 'ftp://127.0.0.1/' }, 'url'],
  ['a slash too few', { url: 'http:/localhost/' }, 'url'],
  ['no slash', { url: 'http:localhost' }, 'url'],
  ['a slash too many', { url: 'http:///hooks' }, 'url'],
  ['backslashes', { url: 'http:\\\\localhost/' }, 'url'],
  ['javascript:', { url: 'javascript:alert(1)' }, 'url'],
  ['a line break in the url', { url: 'http://127.0.0.1/\r\nX-Injected: 1' }, 'url'],
  ['a password in the url', { url: 'http://user:secret@127.0.0.1/' }, 'url'],
  ['an endless url', { url: `http://127.0.0.1/${'a'.repeat(3000)}` }, 'url'],
  ['events that are not a list', { url: 'http://127.0.0.1/', events: 'transaction.paid' }, 'events'],
  ['no events at all', { url: 'http://127.0.0.1/', events: [] }, 'events'],
  ['an event without a dot', { url: 'http://127.0.0.1/', events: ['paid'] }, 'events'],
  ['a star in the wrong place', { url: 'http://127.0.0.1/', events: ['*.paid'] }, 'events'],
  ['an event that is null', { url: 'http://127.0.0.1/', events: [null] }, 'events'],
])('422 names the field: %s', async (_, body, field) => {
  const { send } = await api();
  const { status, json } = await send('POST', '/webhooks', body);
  const errors = { [field]: [expect.any(String)] };
  expect([status, json]).toEqual([422, { message: expect.any(String), errors }]);
  expect(JSON.stringify(json)).not.toContain('secret');
  expect((await send('GET', '/webhooks')).json.data).toEqual([]);
});

test('a change that changes nothing, or is wrong, leaves the webhook as it was', async () => {
  const { send } = await api();
  const { data } = (await send('POST', '/webhooks', { url: 'http://127.0.0.1:3000/' })).json;
  expect((await send('PUT', `/webhooks/${data.id}`, {})).status).toBe(422);
  expect((await send('PUT', `/webhooks/${data.id}`, { url: 'nonsense' })).status).toBe(422);
  expect((await send('PUT', '/webhooks/unknown', { events: ['*'] })).status).toBe(404);
  expect((await send('GET', '/webhooks')).json.data).toEqual([data]);
});

test('refuses bodies that are not a JSON object, each with its status', async () => {
  const { service, send } = await api();
  const headers = basic(service.privateKey);
  const post = (body: string, more: Record<string, string> = {}) =>
    call(`${service.baseUrl}/api/v2/webhooks`, { method: 'POST', body, headers: { ...headers, ...more } });
  expect((await post('{"url":')).status).toBe(400);
  expect((await post('[]')).status).toBe(422);
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  expect((await post('url=http://127.0.0.1/', form)).status).toBe(415);
  expect((await post('{}', { 'Content-Encoding': 'gzip' })).status).toBe(415);
  expect((await post(`{"url":"${'a'.repeat(1_100_000)}"}`)).status).toBe(413);
  expect((await send('POST', '/webhooks')).status).toBe(422);
  expect((await send('GET', '/webhooks/%E0%A4%A')).status).toBe(400);
});

test('another method is 405 and says which ones there are', async () => {
  const { send } = await api();
  const { status, headers } = await send('DELETE', '/webhooks');
  expect([status, headers.get('allow')]).toEqual([405, 'GET, POST']);
  expect((await send('PATCH', '/webhooks/x')).status).toBe(405);
  expect((await send('POST', '/account/me', {})).status).toBe(405);
  expect((await send('GET', '/nothing')).status).toBe(404);
});

test('a missing credential is 401 before anything else is looked at', async () => {
  const service = await simulator();
  const head = ['POST /api/v2/webhooks HTTP/1.1', 'Host: localhost', 'Content-Length: 3'];
  expect(await raw(service, head, 'a=b')).toMatch(/^HTTP\/1\.1 401 /);
});

test('a webhook that was registered through the API is notified', async () => {
  const { service, send } = await api();
  const { url, received } = await endpoint();
  await send('POST', '/webhooks', { url });
  await service.trigger('transaction.paid');
  expect(received).toHaveLength(1);
});

test('Express 4 serves the same', async () => {
  await jest.isolateModulesAsync(async () => {
    jest.doMock('express', () => jest.requireActual('express4'));
    const { startSimulator } = require('payment-webhooks/simulator') as typeof Door;
    const service = await startSimulator({ port: 0 });
    afterwards(() => service.close());
    const headers = basic(service.privateKey);
    const at = `${service.baseUrl}/api/v2/webhooks`;
    const { url, received } = await endpoint(500, 200);
    expect((await call(at, { method: 'POST', body: { url }, headers })).status).toBe(201);
    expect((await call(at, { method: 'POST', body: {}, headers })).status).toBe(422);
    expect((await call(at, { method: 'POST', headers })).status).toBe(422);
    expect((await call(`${at}/unknown`, { method: 'DELETE', headers })).status).toBe(404);
    const [delivery] = await service.trigger('transaction.paid');
    const shown = await call(`${service.baseUrl}/_sim/deliveries?status=retrying&limit=5`);
    expect(shown.json.data).toEqual([delivery]);
    await service.advance('2s');
    expect(received).toHaveLength(2);
    expect((await call(service.baseUrl)).status).toBe(200);
  });
  jest.dontMock('express');
});
