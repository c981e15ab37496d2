// The history is cleared: what is finished goes, and no event that is still to be delivered is lost.
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import type { Simulator, SimulatorOptions } from 'payment-webhooks/simulator';
import { until } from '../../setup/waiting.js';
import { call, first, post, simulator, stateFile, subscribed } from './world.js';

const clear = async ({ baseUrl }: Simulator) =>
  (await call(`${baseUrl}/_sim/deliveries`, { method: 'DELETE' })).json;

/** Delivered, failed and cancelled deliveries, and one with a pending retry. */
async function history(options: SimulatorOptions = {}) {
  const answers = [200, 500, 500, 500, 500, 200];
  const { service, received } = await subscribed({ retry: ['1h'], ...options }, ...answers);
  await service.trigger('a.delivered', {});
  await service.trigger('a.failed', {});
  await service.advance('1h');
  const { id } = first(await service.trigger('a.cancelled', {}));
  await post(`${service.baseUrl}/_sim/deliveries/${id}/cancel`);
  const retrying = first(await service.trigger('a.retrying', {}));
  const statuses = service.deliveries().map(({ status }) => status);
  expect(statuses).toEqual(['delivered', 'failed', 'cancelled', 'retrying']);
  return { service, received, retrying };
}

test('deletes what is finished; a pending retry stays and is made', async () => {
  const { service, received, retrying } = await history();
  expect(await clear(service)).toEqual({ data: { deleted: 3, kept: 1 } });
  expect(service.deliveries()).toEqual([retrying]);
  const before = received.length;
  await service.advance('1h');
  expect(received.slice(before).map(({ body }) => JSON.parse(String(body)).id)).toEqual([retrying.event_id]);
  expect(service.deliveries()).toMatchObject([{ status: 'delivered' }]);
  expect(await clear(service)).toEqual({ data: { deleted: 1, kept: 0 } });
  expect(await clear(service)).toEqual({ data: { deleted: 0, kept: 0 } });
});

test('keeps webhooks, faults and keys', async () => {
  const { service } = await history();
  service.faults.always('delay');
  service.rotateKey({ privateKey: 'pri_sim_second' });
  await clear(service);
  expect(service.webhooks.list()).toHaveLength(1);
  expect(service.faults.list()).toHaveLength(1);
  expect(service.privateKey).toBe('pri_sim_second');
});

test('a first attempt and a resend that are in flight stay, and are recorded', async () => {
  const open: ServerResponse[] = [];
  const { service } = await subscribed({}, 200, (_, response) => void open.push(response));
  const { id } = first(await service.trigger('a.one', {}));
  const resent = service.resend(id);
  const triggered = service.trigger('a.two', {});
  await until(() => open.length === 2);
  expect(await clear(service)).toEqual({ data: { deleted: 0, kept: 2 } });
  for (const response of open) response.end();
  await Promise.all([resent, triggered]);
  const succeeded = { succeeded: true };
  expect(service.deliveries()).toMatchObject([
    { attempts: [succeeded, succeeded] },
    { attempts: [succeeded] },
  ]);
});

test('a resend that waits for its turn stays', async () => {
  const open: ServerResponse[] = [];
  // The first is answered; the next 64 take every connection to this host.
  const { service } = await subscribed({}, 200, (_, response) => void open.push(response));
  const { id } = first(await service.trigger('a.one', {}));
  const busy = service.trigger('a.two', {}, { count: 64 });
  await until(() => open.length === 64);
  const resent = service.resend(id);
  expect(service.deliveries({ id })).toMatchObject([{ status: 'delivered' }]);
  expect(await clear(service)).toEqual({ data: { deleted: 0, kept: 65 } });
  for (const response of open.splice(0)) response.end();
  await busy;
  await until(() => open.length === 1);
  for (const response of open) response.end();
  await resent;
  expect(service.deliveries({ id })).toMatchObject([{ attempts: [{}, {}] }]);
});

test('it is on disk before the answer, and stays cleared after a restart', async () => {
  const state = stateFile();
  const { service, received, retrying } = await history({ state });
  const onDisk = () => JSON.parse(readFileSync(state, 'utf8'));
  await clear(service);
  expect(onDisk().deliveries).toHaveLength(1);
  expect(onDisk().events).toHaveLength(1);
  await service.close();
  const second = await simulator({ state, retry: ['1h'] });
  expect(second.deliveries()).toEqual([retrying]);
  const before = received.length;
  await second.advance('1h');
  expect(received).toHaveLength(before + 1);
});
