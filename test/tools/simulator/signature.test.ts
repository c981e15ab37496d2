// What goes over the wire to an endpoint, checked by the openssl program and code that shares nothing with ours.
import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { SimulatorOptions } from 'payment-webhooks/simulator';
import { expectSigned, first, subscribed, triggered } from './world.js';

async function deliver(options: SimulatorOptions = {}, overrides = {}) {
  const { service, port, received } = await subscribed(options);
  const delivery = first(await service.trigger('transaction.paid', overrides));
  return { service, delivery, request: first(received), received, port };
}

test('the signature is the lower-case hexadecimal HMAC-SHA256 of the raw body, keyed with the private key', async () => {
  const { service, request } = await deliver();
  expect(request.headers['x-service-signature']).toMatch(/^[0-9a-f]{64}$/);
  expectSigned(request, service.privateKey);
});

test('bytes outside ASCII are signed as they are sent', async () => {
  const name = 'Zoë Žižek 東京 😀 \u2028 "quoted" \ud800';
  const { service, request, delivery } = await deliver({}, { payload: { customer: { name } } });
  expectSigned(request, service.privateKey);
  expect(request.headers['content-length']).toBe(String(request.body.byteLength));
  expect(delivery.attempts[0]?.request.body).toBe(request.body.toString('utf8'));
});

test('only what is documented and what HTTP needs is sent', async () => {
  const { request, port, delivery } = await deliver();
  expect([request.method, request.path]).toEqual(['POST', '/hooks']);
  const sent = [
    ['Host', `127.0.0.1:${port}`],
    ['Content-Type', 'application/json'],
    ['Content-Length', String(request.body.byteLength)],
    ['X-SERVICE-SIGNATURE', request.headers['x-service-signature']],
    ['Connection', 'keep-alive'],
  ];
  expect(request.rawHeaders).toEqual(sent.flat());
  expect(delivery.attempts[0]?.request.headers).toEqual(sent);
});

test('the body is the documented event object', async () => {
  const { request } = await deliver({}, { id: 'evt-1' });
  const event = JSON.parse(request.body.toString('utf8'));
  expect(Object.keys(event)).toEqual(['id', 'event_name', 'sandbox', 'payload']);
  expect(event).toMatchObject({ id: 'evt-1', event_name: 'transaction.paid', sandbox: false });
  const fields = ['token', 'customer', 'metadata', 'transaction', 'payment_method'];
  expect(Object.keys(event.payload)).toEqual(fields);
  expect(event.payload.transaction.status).toBe(1);
});

test('the record shows exactly the bytes that were sent, and their digest', async () => {
  const { delivery, request } = await deliver();
  const body_sha256 = createHash('sha256').update(request.body).digest('hex');
  expect(delivery.attempts[0]?.request).toMatchObject({ body: request.body.toString('utf8'), body_sha256 });
});

test('a retry and a resend send the same bytes with the same event id', async () => {
  const { service, received, id } = await triggered({}, 500, 200);
  await service.advance('2s');
  await service.resend(id);
  expect(received).toHaveLength(3);
  expect(new Set(received.map(({ body }) => body.toString('hex'))).size).toBe(1);
  expect(new Set(received.map(({ headers }) => headers['x-service-signature'])).size).toBe(1);
});

test('a sandbox event says so, and is signed with the private key', async () => {
  const { service, request } = await deliver({}, { sandbox: true });
  expect(JSON.parse(request.body.toString('utf8')).sandbox).toBe(true);
  expectSigned(request, service.privateKey);
});

test('sandboxSigning: "sandbox-key" signs sandbox events, and only them, with the sandbox key', async () => {
  const { service, request, received } = await deliver({ sandboxSigning: 'sandbox-key' }, { sandbox: true });
  expectSigned(request, service.sandboxKey);
  await service.trigger('transaction.paid');
  expectSigned(received[1], service.privateKey);
});

test('after a rotation every delivery is signed with the new key, also one that began before it', async () => {
  const { service, received } = await triggered({}, 500, 200);
  service.rotateKey({ privateKey: 'pri_sim_second' });
  await service.advance('2s');
  const [before, after] = received;
  expect(after?.body).toEqual(before?.body);
  expectSigned(before, 'pri_sim_dev');
  expectSigned(after, 'pri_sim_second');
});

test('the signature header can have its real name', async () => {
  const { service, request } = await deliver({ signatureHeader: 'X-ACME-SIGNATURE' });
  expectSigned(request, service.privateKey, 'x-acme-signature');
  expect(request.headers['x-service-signature']).toBeUndefined();
});

test('debug headers are sent only when asked for', async () => {
  const { request, delivery } = await deliver({ debugHeaders: true });
  expect(request.headers).toMatchObject({ 'x-sim-delivery': delivery.id, 'x-sim-attempt': '1' });
});

test('one event can be signed in another header', async () => {
  const { service, received } = await subscribed({ retry: 'off' }, 200);
  await service.trigger('transaction.paid', {}, { signatureHeader: 'X-ACME-SIGNATURE' });
  await service.trigger('transaction.paid');
  const [first, second] = received;
  expectSigned(first, service.privateKey, 'x-acme-signature');
  expect(first?.headers).not.toHaveProperty('x-service-signature');
  expectSigned(second, service.privateKey);
  const invalid = service.trigger('transaction.paid', {}, { signatureHeader: 'a b' });
  await expect(invalid).rejects.toThrow('The signature_header must be the name of an HTTP header.');
});
