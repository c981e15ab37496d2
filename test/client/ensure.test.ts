import { beforeAll, describe, expect, test } from '@jest/globals';
import { ServiceClient } from 'payment-webhooks/client';
import { failure, json, ownSpecServer, PRIVATE_KEY } from './spec-server.js';

const server = ownSpecServer();
let client: ServiceClient;
beforeAll(() => {
  client = new ServiceClient({ baseUrl: server.baseUrl, privateKey: PRIVATE_KEY });
});

const url = 'https://shop.example/hooks';
const register = (id: string, at = url, events = ['*']) => server.webhooks.set(id, { id, url: at, events });
const writes = () => server.requests.filter(({ method }) => method !== 'GET');
/** What ensure() has done, and the webhook that it resolves with. */
const ensured = async (events?: string[]) => {
  const { action, webhook } = await client.webhooks.ensure({ url, ...(events && { events }) });
  return { action, ...webhook };
};
/** Once the next request has been answered. */
const afterNext = (happens: () => unknown) =>
  server.once((_, __, next) => {
    next();
    happens();
  });

describe('ensure, alone', () => {
  test('creates what is not there, and finds it unchanged the next time', async () => {
    const hook = { url, events: ['transaction.paid'] };
    const { action, webhook } = await client.webhooks.ensure(hook);
    expect({ action, webhook }).toMatchObject({ action: 'created', webhook: hook });
    expect(await client.webhooks.ensure(hook)).toEqual({ action: 'unchanged', webhook });
    expect(writes()).toHaveLength(1);
  });

  test('updates the events and sends nothing else', async () => {
    register('w1');
    const events = ['transaction.paid'];
    expect(await ensured(events)).toMatchObject({ action: 'updated', id: 'w1', url, events });
    expect(writes()).toEqual([expect.objectContaining({ method: 'PUT', path: '/api/v2/webhooks/w1' })]);
    expect(JSON.parse(writes()[0]?.body ?? '')).toEqual({ events });
  });

  test('without events it asks for all of them', async () => {
    register('w1', url, ['transaction.paid']);
    expect(await ensured()).toMatchObject({ action: 'updated', events: ['*'] });
  });

  test.each([
    [
      ['b.c', 'a.b'],
      ['a.b', 'b.c'],
    ],
    [['a.b', 'a.b'], ['a.b']],
    [['*', 'a.b'], ['*']],
  ])('the events %j are the same as %j', async (registered, events) => {
    register('w1', url, registered);
    expect(await ensured(events)).toMatchObject({ action: 'unchanged' });
  });

  test.each([
    'https://SHOP.example/hooks',
    'https://shop.example:443/hooks',
    'https://shop.example/hooks#top',
    'https://shop.example/a/../hooks',
  ])('the registered address %s is the same', async (registered) => {
    register('w1', registered);
    expect(await ensured()).toMatchObject({ action: 'unchanged' });
    expect(writes()).toHaveLength(0);
  });

  test.each([
    'https://shop.example/hooks/',
    'https://shop.example/Hooks',
    'https://shop.example/hooks?a=1',
    'http://shop.example/hooks',
    'https://other.example/hooks',
    'no address at all',
  ])('the webhook at %s is another one and is not changed', async (other) => {
    register('other', other, ['refund.succeeded']);
    const before = structuredClone(server.webhooks.get('other'));
    expect(await ensured()).toMatchObject({ action: 'created' });
    expect(server.webhooks.get('other')).toEqual(before);
    expect(server.webhooks.size).toBe(2);
  });

  test('of two registered webhooks it takes the one that fits, else the first by id, and deletes neither', async () => {
    register('b', url, ['transaction.paid']);
    register('a', url, ['refund.succeeded']);
    expect(await ensured(['transaction.paid'])).toMatchObject({ action: 'unchanged', id: 'b' });
    expect(await ensured()).toMatchObject({ action: 'updated', id: 'a' });
    expect(server.webhooks.size).toBe(2);
  });

  test('a bare list does as well as one under data', async () => {
    server.wrap = (value) => value;
    register('w1');
    expect(await ensured()).toMatchObject({ action: 'unchanged' });
  });
});

describe('ensure, by two deploys at once', () => {
  test('in any order of events one webhook remains, and every deploy gets one', async () => {
    server.always((_, __, next) => setTimeout(next, Math.random() * 60));
    const urls = Array.from({ length: 12 }, (_, index) => `https://shop.example/hooks/${index}`);
    const told = await Promise.all(
      urls.flatMap((url) =>
        [0, 20, 40].map(async (wait) => {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * wait));
          return client.webhooks.ensure({ url, events: ['transaction.paid'] });
        }),
      ),
    );
    expect([...server.webhooks.values()].map((webhook) => webhook.url).sort()).toEqual(urls.sort());
    expect(told.every(({ webhook }) => webhook.events.join() === 'transaction.paid')).toBe(true);
  }, 60_000);

  test('the later id yields to the earlier one that appeared meanwhile', async () => {
    server.makeId = () => 'b';
    afterNext(() => register('a'));
    expect(await ensured()).toMatchObject({ action: 'unchanged', id: 'a' });
    expect([...server.webhooks.keys()]).toEqual(['a']);
    const sent = writes().map(({ method, path }) => `${method} ${path}`);
    expect(sent).toEqual(['POST /api/v2/webhooks', 'DELETE /api/v2/webhooks/b']);
  });

  test('the earlier id waits for the later one to yield', async () => {
    server.makeId = () => 'a';
    afterNext(() => {
      register('b');
      setTimeout(() => server.webhooks.delete('b'), 300);
    });
    expect(await ensured()).toMatchObject({ action: 'created', id: 'a' });
    expect([...server.webhooks.keys()]).toEqual(['a']);
  });

  test('a later id whose deploy is long done is taken over, with the wanted events', async () => {
    server.makeId = () => 'a';
    afterNext(() => register('b'));
    const events = ['transaction.paid'];
    expect(await ensured(events)).toMatchObject({ action: 'updated', id: 'b', events });
    expect([...server.webhooks.keys()]).toEqual(['b']);
  });

  test('when the rival is deleted after ours was, it registers again: a webhook always remains', async () => {
    const ids = ['b', 'c'];
    server.makeId = () => ids.shift() ?? 'd';
    afterNext(() => register('a'));
    afterNext(() => {});
    afterNext(() => server.webhooks.delete('a'));
    expect(await ensured()).toMatchObject({ action: 'created', id: 'c' });
    expect([...server.webhooks.keys()]).toEqual(['c']);
  });

  test('a webhook that is deleted before its update is registered again', async () => {
    register('w1', url, ['refund.succeeded']);
    afterNext(() => server.webhooks.delete('w1'));
    expect(await ensured()).toMatchObject({ action: 'created' });
    expect(server.webhooks.size).toBe(1);
  });

  test('rivals without end do not keep it running: one webhook too many is better than no webhook', async () => {
    const ids = ['x', 'y', 'z'];
    server.makeId = () => ids.shift() ?? 'never';
    // Each listing that should find ours alone shows a rival, each listing that looks for others shows none.
    server.always((request, response, next) => {
      if (request.method !== 'GET') return next();
      const data =
        server.webhooks.size === 0 ? [] : [...server.webhooks.values(), { id: 'a', url, events: ['*'] }];
      json(response, 200, { data });
    });
    expect(await ensured()).toMatchObject({ action: 'created', id: 'z' });
    expect([...server.webhooks.keys()]).toEqual(['z']);
  });

  test('the signal of the caller ends the wait for a rival', async () => {
    server.makeId = () => 'a';
    afterNext(() => register('b'));
    const signal = AbortSignal.timeout(150);
    expect(await failure(client.webhooks.ensure({ url }, { signal }))).toBe(signal.reason);
  });
});
