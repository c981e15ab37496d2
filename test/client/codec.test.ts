import { describe, expect, test } from '@jest/globals';
import { codec, ServiceClient, type ServiceClientOptions } from 'payment-webhooks/client';
import { json, ownSpecServer, PRIVATE_KEY } from './spec-server.js';

const record = { id: 'w1', url: 'https://a.example', events: ['*'] };

describe('the default codec', () => {
  test.each([
    ['bare', (value: unknown) => value],
    ['under data', (data: unknown) => ({ data })],
    ['under data, beside more', (data: unknown) => ({ data, meta: { page: 1 }, links: {} })],
  ])('reads what stands %s', (_, wrap) => {
    expect(codec.webhook(wrap(record))).toEqual(record);
    expect(codec.webhooks(wrap([record]))).toEqual([record]);
    expect(codec.webhooks(wrap([]))).toEqual([]);
    expect(codec.account(wrap({ email: null }))).toEqual({ email: null });
  });

  test('keeps fields that it does not know', () => {
    const more = { ...record, created_at: 'x', nested: { a: [1] }, active: null };
    expect(codec.webhook({ data: more })).toEqual(more);
  });

  test('gives a numeric id as text, as it stands in paths', () => {
    expect(codec.webhook({ ...record, id: 7 }).id).toBe('7');
  });

  test('reads a record with an id as itself, although it has a field data', () => {
    const account = { id: 'a', data: { plan: 'x' } };
    expect(codec.account(account)).toEqual(account);
  });

  test('writes url and events, and of a change only what changes', () => {
    expect(codec.createBody({ url: 'u', events: ['*'] })).toEqual({ url: 'u', events: ['*'] });
    expect(codec.updateBody({ events: [] })).toEqual({ events: [] });
  });

  const saysNothing = [{ errors: null }, { errors: ['x'] }, { errors: { a: 5 } }, { message: 5 }];
  test.each([undefined, null, 'text', ...saysNothing])('makes nothing of the error body %j', (body) => {
    expect(codec.issues(body)).toEqual([]);
    expect(codec.message(body)).toBeUndefined();
  });

  test('reads issues as a text or a list of texts for each field', () => {
    expect(codec.issues({ errors: { url: ['a', 'b', 7], events: 'c' } })).toEqual([
      { path: 'url', message: 'a' },
      { path: 'url', message: 'b' },
      { path: 'events', message: 'c' },
    ]);
  });

  test.each([
    [{ url: 'u', events: [] }, '"id", got nothing'],
    [{ id: '', url: 'u', events: [] }, '"id", got a string'],
    [{ id: 'a', events: [] }, '"url", got nothing'],
    [{ id: 'a', url: 'u' }, '"events" are a list of names, got nothing'],
    [{ id: 'a', url: 'u', events: 'x' }, 'got a string'],
    [{ id: 'a', url: 'u', events: [5] }, 'got a list'],
    [[], 'expected a webhook, got a list'],
    [{ data: 'x' }, '"id", got nothing'],
  ])('says what is missing in %j', (body, message) => {
    expect(() => codec.webhook(body)).toThrow(message);
  });
});

interface Answer {
  hook: { key: string; target: string; topics: string[] };
}

describe('a codec of your own', () => {
  const server = ownSpecServer();
  const clientWith = (own: ServiceClientOptions['codec']) =>
    new ServiceClient({ baseUrl: server.baseUrl, privateKey: PRIVATE_KEY, codec: own });

  test('replaces the shapes in one place, for every method', async () => {
    const { webhooks } = clientWith({
      createBody: ({ url, events }) => ({ target: url, topics: events }),
      webhook: (body) => {
        const { key, target, topics } = (body as Answer).hook;
        return { id: key, url: target, events: topics };
      },
    });
    const [target, topics] = ['https://a.example', ['*']];
    server.once((_, response) => json(response, 201, { hook: { key: 'k', target, topics } }));
    expect(await webhooks.create({ url: target })).toEqual({ id: 'k', url: target, events: topics });
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({ target, topics });
    expect(await webhooks.list()).toEqual([]);
  });

  test('may fail to read an error without hiding it', async () => {
    const broken = () => {
      throw new Error('cannot read that');
    };
    const client = clientWith({ message: broken, issues: broken });
    server.once((_, response) => json(response, 422, { message: 'no' }));
    await expect(client.account.me()).rejects.toMatchObject({ name: 'ValidationError', issues: [] });
  });

  test('undefined parts are the default ones', async () => {
    const { account } = clientWith({ account: undefined } as object);
    await expect(account.me()).resolves.toMatchObject({ id: 'acc_1' });
  });
});
