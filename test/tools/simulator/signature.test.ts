// What goes over the wire to an endpoint, checked by the openssl program and code that shares nothing with ours.
import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { endpoint, opensslHmac, simulator } from './world.js';

async function deliver(options: Parameters<typeof simulator>[0] = {}, overrides = {}) {
  const service = await simulator(options);
  const { url, port, received } = await endpoint();
  await service.webhooks.create({ url });
  const [delivery] = await service.trigger('transaction.paid', overrides);
  const [request] = received;
  if (!delivery || !request) throw new Error('Nothing was delivered.');
  return { service, delivery, request, received, port };
}

test('the signature is the lower-case hexadecimal HMAC-SHA256 of the raw body, keyed with the private key', async () => {
  const { service, request } = await deliver();
  const signature = request.headers['x-service-signature'];
  expect(signature).toMatch(/^[0-9a-f]{64}$/);
  expect(signature).toBe(opensslHmac(request.body, service.privateKey));
  expect(signature).not.toBe(
    opensslHmac(Buffer.concat([request.body, Buffer.from('\n')]), service.privateKey),
  );
});

test('bytes outside ASCII are signed as they are sent', async () => {
  const name = 'Zoë Žižek 東京 😀 \u2028 "quoted" \ud800';
  const { service, request, delivery } = await deliver({}, { payload: { customer: { name } } });
  expect(request.headers['x-service-signature']).toBe(opensslHmac(request.body, service.privateKey));
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
  expect(Object.keys(event.payload)).toEqual([
    'token',
    'customer',
    'metadata',
    'transaction',
    'payment_method',
  ]);
  expect(event.payload.transaction.status).toBe(1);
});

test('the record shows exactly the bytes that were sent, and their digest', async () => {
  const { delivery, request } = await deliver();
  const sent = delivery.attempts[0]?.request;
  expect(sent?.body).toBe(request.body.toString('utf8'));
  expect(sent?.body_sha256).toBe(createHash('sha256').update(request.body).digest('hex'));
});

test('a retry and a resend send the same bytes with the same event id', async () => {
  const service = await simulator();
  const { url, received } = await endpoint(500, 200);
  await service.webhooks.create({ url });
  const [delivery] = await service.trigger('transaction.paid');
  await service.advance('2s');
  await service.resend(String(delivery?.id));
  expect(received).toHaveLength(3);
  expect(new Set(received.map(({ body }) => body.toString('hex'))).size).toBe(1);
  expect(new Set(received.map(({ headers }) => headers['x-service-signature'])).size).toBe(1);
});

test('a sandbox event says so, and is signed with the private key', async () => {
  const { service, request } = await deliver({}, { sandbox: true });
  expect(JSON.parse(request.body.toString('utf8')).sandbox).toBe(true);
  expect(request.headers['x-service-signature']).toBe(opensslHmac(request.body, service.privateKey));
});

test('sandboxSigning: "sandbox-key" signs sandbox events, and only them, with the sandbox key', async () => {
  const { service, request, received } = await deliver({ sandboxSigning: 'sandbox-key' }, { sandbox: true });
  expect(request.headers['x-service-signature']).toBe(opensslHmac(request.body, service.sandboxKey));
  await service.trigger('transaction.paid');
  const live = received[1];
  expect(live?.headers['x-service-signature']).toBe(
    opensslHmac(live?.body ?? Buffer.of(), service.privateKey),
  );
});

test('after a rotation every delivery is signed with the new key, also one that began before it', async () => {
  const service = await simulator();
  const { url, received } = await endpoint(500, 200);
  await service.webhooks.create({ url });
  await service.trigger('transaction.paid');
  service.rotateKey({ privateKey: 'pri_sim_second' });
  await service.advance('2s');
  const [before, after] = received;
  expect(after?.body).toEqual(before?.body);
  expect(before?.headers['x-service-signature']).toBe(
    opensslHmac(before?.body ?? Buffer.of(), 'pri_sim_dev'),
  );
  expect(after?.headers['x-service-signature']).toBe(
    opensslHmac(after?.body ?? Buffer.of(), 'pri_sim_second'),
  );
});

test('the signature header can have its real name', async () => {
  const { service, request } = await deliver({ signatureHeader: 'X-ACME-SIGNATURE' });
  expect(request.headers['x-acme-signature']).toBe(opensslHmac(request.body, service.privateKey));
  expect(request.headers['x-service-signature']).toBeUndefined();
});

test('debug headers are sent only when asked for', async () => {
  const { request, delivery } = await deliver({ debugHeaders: true });
  expect(request.headers).toMatchObject({ 'x-sim-delivery': delivery.id, 'x-sim-attempt': '1' });
});

test('one event can be signed in another header', async () => {
  const service = await simulator({ retry: 'off' });
  const { url, received } = await endpoint(200);
  await service.webhooks.create({ url });
  await service.trigger('transaction.paid', {}, { signatureHeader: 'X-ACME-SIGNATURE' });
  await service.trigger('transaction.paid');
  const [first, second] = received.map(
    ({ headers, body }) => [headers, opensslHmac(body, service.privateKey)] as const,
  );
  expect(first?.[0]).toMatchObject({ 'x-acme-signature': first?.[1] });
  expect(first?.[0]).not.toHaveProperty('x-service-signature');
  expect(second?.[0]).toMatchObject({ 'x-service-signature': second?.[1] });
  await expect(service.trigger('transaction.paid', {}, { signatureHeader: 'a b' })).rejects.toThrow(
    'The signature_header must be the name of an HTTP header.',
  );
});
