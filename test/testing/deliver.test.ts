import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createNetServer, type Server as NetServer } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import express from 'express';
import { type DeliverOptions, deliver, fixtures } from 'payment-webhooks/testing';
import { ConfigurationError } from '../../src/errors.js';
import { EXPRESS_MAJORS, independentEndpoint } from '../setup/independent-endpoint.js';
import { listening } from '../tools/simulator/world.js';

const privateKey = 'pri_test_deliver';
const processed = { received: true, outcome: 'processed' };

describe.each(EXPRESS_MAJORS)('deliver to an app of %s', (_, framework) => {
  test('signs the event, posts it and returns the answer, parsed', async () => {
    const { app, accepted } = independentEndpoint(privateKey, { framework });
    const event = fixtures.transactionPaid({ payload: { customer: { name: 'Zoë 漢字 😀' } } });
    const answer = await deliver(app, event, { privateKey });
    expect(answer).toMatchObject({ status: 200, body: processed });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(accepted).toEqual([Buffer.from(JSON.stringify(event))]);
  });

  test('gives the answer to a delivery that is refused', async () => {
    const { app } = independentEndpoint(privateKey, { framework });
    const answer = await deliver(app, fixtures.transactionPaid(), { privateKey: 'pri_another' });
    expect(answer).toMatchObject({ status: 401, body: { message: 'Unauthenticated.' } });
  });

  test('posts to the path, with the header, that it is given', async () => {
    const where = { path: '/pay/in', header: 'x-acme-signature' };
    const { app } = independentEndpoint(privateKey, { framework, ...where });
    const options = { privateKey, path: '/pay/in?tenant=7', signatureHeader: 'X-Acme-Signature' };
    expect((await deliver(app, fixtures.transactionPaid(), options)).status).toBe(200);
  });
});

describe('deliver', () => {
  test('takes a bare request listener', async () => {
    const answer = await deliver((_, response) => response.end('plain'), '{}', { privateKey });
    expect(answer).toMatchObject({ status: 200, body: 'plain' });
  });

  test('takes a server that is not listening, and leaves it so, for two deliveries at once', async () => {
    const { app, accepted } = independentEndpoint(privateKey);
    const server = createServer(app);
    const event = fixtures.transactionPaid();
    const answers = await Promise.all([1, 2].map(() => deliver(server, event, { privateKey })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(accepted).toHaveLength(2);
    expect(server.listening).toBe(false);
  });

  test('takes a server that is listening, and leaves it so', async () => {
    const server = createServer(independentEndpoint(privateKey).app);
    await listening(server);
    expect((await deliver(server, fixtures.transactionPaid(), { privateKey })).status).toBe(200);
    expect(server.listening).toBe(true);
  });

  test('sends an empty body with its length', async () => {
    const lengths: (string | undefined)[] = [];
    const app: RequestListener = (request, response) => {
      lengths.push(request.headers['content-length']);
      response.end();
    };
    await deliver(app, '', { privateKey });
    expect(lengths).toEqual(['0']);
  });

  test.each([
    ['application/json', '{"a":1}', { a: 1 }],
    ['application/problem+json; charset=utf-8', '{"a":1}', { a: 1 }],
    ['application/json', '<html>', '<html>'],
    ['application/json', '', ''],
    ['application/jsonl', '{"a":1}', '{"a":1}'],
    ['text/plain', '{"a":1}', '{"a":1}'],
    [undefined, 'é', 'é'],
  ])('reads an answer of %p, %p as %p', async (type, text, body) => {
    const app: RequestListener = (_, response) =>
      response.writeHead(202, type === undefined ? {} : { 'content-type': type }).end(text);
    expect(await deliver(app, '{}', { privateKey })).toMatchObject({ status: 202, body });
  });

  test('closes what it opened, after an answer and after a cut connection', async () => {
    const openServers = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
    const before = openServers();
    await deliver((_, response) => response.end(), '{}', { privateKey });
    const cut = deliver((request) => request.socket.destroy(), '{}', { privateKey });
    await expect(cut).rejects.toThrow('socket hang up');
    const halfApp: RequestListener = ({ socket }, response) =>
      void response.writeHead(200, { 'content-length': 10 }).write('12345', () => socket.destroy());
    await expect(deliver(halfApp, '{}', { privateKey })).rejects.toThrow('aborted');
    expect(openServers()).toBe(before);
  });

  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /app is undefined\. Pass an Express app/],
    ['null', null, /app is null/],
    ['a URL', 'http://localhost:3000', /app is "http:\/\/localhost:3000"/],
    ['an object', { listen() {} }, /app is an object/],
    ['a server of node:net', createNetServer() satisfies NetServer, /app is an object/],
    ['a server that answers nobody', createServer() satisfies Server, /without a request listener/],
  ])('refuses an app that is %s', async (_, app, message) => {
    const delivery = deliver(app as Server, '{}', { privateKey });
    await expect(delivery).rejects.toThrow(ConfigurationError);
    await expect(delivery).rejects.toThrow(message);
  });

  test.each<[string, unknown, RegExp]>([
    ['no options', undefined, /The options are missing/],
    ['a key that is empty', { privateKey: '' }, /privateKey is empty/],
    ['a slip in a name', { privateKey, paht: '/' }, /Unknown option "paht". Did you mean "path"\?/],
    ['a path without a slash', { privateKey, path: 'hooks' }, /path is "hooks"\. Pass a path like "\/hooks"/],
    ['a path with a space', { privateKey, path: '/ho oks' }, /path is "\/ho oks"/],
    ['a path that is no text', { privateKey, path: 7 }, /path is 7/],
  ])('refuses %s', async (_, options, message) => {
    const delivery = deliver(express(), '{}', options as DeliverOptions);
    await expect(delivery).rejects.toThrow(ConfigurationError);
    await expect(delivery).rejects.toThrow(message);
  });
});
