// A rotation of the private key, seen from both ends: who signs, who is let in, and what an old endpoint answers.
import { expect, test } from '@jest/globals';
import type { Simulator } from 'payment-webhooks/simulator';
import { DIAGNOSES } from '../../../src/tools/simulator/delivery/diagnose.js';
import { captureLog } from '../../setup/captured-log.js';
import { shop } from './shop.js';
import { basic, call, endpoint, expectSigned, post, simulator, stateFile, subscribed } from './world.js';

async function rotate(service: Simulator): Promise<string> {
  const { status, json } = await post(`${service.baseUrl}/_sim/keys/rotate`);
  expect([status, Object.keys(json.data)]).toEqual([201, ['private_key']]);
  return json.data.private_key;
}

const me = async ({ baseUrl }: Simulator, key: string) =>
  (await call(`${baseUrl}/api/v2/account/me`, { headers: basic(key) })).status;

const last = (service: Simulator) => service.deliveries().at(-1)?.attempts.at(-1);

test('a rotation makes a new key that alone signs and authenticates', async () => {
  const { service, received } = await subscribed();
  const key = await rotate(service);
  expect(key).toMatch(/^pri_sim_[0-9a-f]{32}$/);
  expect(service.privateKey).toBe(key);
  expect(service.sandboxKey).toBe('pri_sandbox_sim_dev');
  expect(await me(service, 'pri_sim_dev')).toBe(401);
  expect(await me(service, key)).toBe(200);
  await service.trigger('transaction.paid');
  expectSigned(received[0], key);
  expect(await rotate(service)).not.toBe(key);
});

test('an endpoint with the old key answers 401, the diagnosis says so, and the new key ends it', async () => {
  const service = await simulator();
  let keys = [service.privateKey];
  const handled = await shop(service, { privateKey: () => keys });
  await service.trigger('transaction.paid');
  const key = await rotate(service);

  const [delivery] = await service.trigger('transaction.paid');
  expect(delivery?.status).toBe('retrying');
  expect(last(service)).toMatchObject({ response: { status: 401 }, diagnosis: DIAGNOSES.oldKey });
  expect(handled).toHaveLength(1);

  keys = [key];
  await service.advance('2s');
  expect(last(service)).toMatchObject({ response: { status: 200 }, diagnosis: null });
  expect(handled).toHaveLength(2);
});

test('an endpoint with both keys loses nothing, also what was retried across the rotation', async () => {
  const service = await simulator();
  const keys = [service.privateKey];
  const handled = await shop(service, { privateKey: () => keys });
  service.faults.once('drop');
  const [waiting] = await service.trigger('transaction.paid');
  keys.unshift(await rotate(service));
  const [after] = await service.trigger('transaction.paid');
  await service.advance('2s');
  expect(handled.sort()).toEqual([waiting?.event_id, after?.event_id].sort());
  expect(service.deliveries({ status: 'delivered' })).toHaveLength(2);
});

test('a 401 of an endpoint that has accepted the new key has another cause', async () => {
  const { service } = await subscribed({}, 200, 401, 401);
  await rotate(service);
  await service.trigger('transaction.paid');
  await service.trigger('transaction.paid');
  expect(last(service)?.diagnosis).toBe(DIAGNOSES.unauthenticated);
  await rotate(service);
  await service.trigger('transaction.paid');
  expect(last(service)?.diagnosis).toBe(DIAGNOSES.oldKey);
});

test('a forged delivery that was accepted does not prove that the endpoint has the new key', async () => {
  const { service } = await subscribed({}, 200, 401);
  await rotate(service);
  service.faults.once('wrong_key');
  await service.trigger('transaction.paid');
  await service.trigger('transaction.paid');
  expect(last(service)?.diagnosis).toBe(DIAGNOSES.oldKey);
});

test('an event that the sandbox key signed says nothing about the private key', async () => {
  const { service } = await subscribed({ sandboxSigning: 'sandbox-key' }, 401, 200, 401);
  await rotate(service);
  await service.trigger('transaction.paid', { sandbox: true });
  expect(last(service)?.diagnosis).toBe(DIAGNOSES.unauthenticated);
  await service.trigger('transaction.paid', { sandbox: true });
  await service.trigger('transaction.paid');
  expect(last(service)?.diagnosis).toBe(DIAGNOSES.oldKey);
});

test('an attempt that was answered after the rotation was signed with the old key', async () => {
  const { service } = await subscribed({}, async (_, response) => {
    await rotate(service);
    response.writeHead(401).end();
  });
  await service.trigger('transaction.paid');
  expect(last(service)?.diagnosis).toBe(DIAGNOSES.unauthenticated);
});

test('a restart keeps the new key, and which endpoint has accepted it', async () => {
  const state = stateFile();
  const first = await simulator({ state });
  const updated = await endpoint(200, 401);
  const outdated = await endpoint(401);
  const key = await rotate(first);
  for (const { url } of [updated, outdated]) await first.webhooks.create({ url });
  await first.trigger('transaction.paid');
  await first.close();

  const second = await simulator({ state, retry: 'off' });
  expect(second.privateKey).toBe(key);
  expect(await me(second, 'pri_sim_dev')).toBe(401);
  const deliveries = await second.trigger('transaction.paid');
  const diagnoses = deliveries.map(({ attempts }) => attempts[0]?.diagnosis);
  expect(diagnoses).toEqual([DIAGNOSES.unauthenticated, DIAGNOSES.oldKey]);
});

test('only the answer to a rotation has a key, and the log says that there was one', async () => {
  const { logger, text: log } = captureLog();
  const { service, webhook } = await subscribed({ logger }, 401);
  const key = await rotate(service);
  await service.trigger('transaction.paid');
  const id = service.deliveries()[0]?.id;
  await service.webhooks.update(webhook.id, { paused: true });
  const lists = ['readyz', 'events', 'webhooks', 'deliveries', 'faults'];
  const deliveries = ['deliveries?view=rows', 'wait?attempt=1', `deliveries/${id}`, `deliveries/${id}/curl`];
  for (const path of [...lists, ...deliveries]) {
    const { text } = await call(`${service.baseUrl}/_sim/${path}`);
    const shown = text.replaceAll('(pri_sim_dev)', '');
    expect([path, shown]).toEqual([path, expect.not.stringMatching(/pri_|Key/)]);
  }
  expect(log.join()).toContain('the private key was rotated');
  expect(log.join()).not.toContain(key);
});
