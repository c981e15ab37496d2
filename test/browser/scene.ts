// Simulators whose pages are looked at: one in nearly every state that the page can show, and a busy one.
import type { Simulator } from 'payment-webhooks/simulator';
import { call, endpoint, simulator } from '../tools/simulator/world.js';

export async function scene(): Promise<Simulator> {
  const service = await simulator({ clock: 'real', retry: ['40s', '5m'], seed: 'scene' });
  const shop = await endpoint((received, response) => {
    const parsed = received.path === '/parsed';
    response.setHeader('Content-Type', 'application/json');
    if (parsed) response.statusCode = 401;
    response.end(parsed ? '{"message":"Unauthenticated."}' : '{"received":true,"outcome":"processed"}');
  });
  const at = (path: string) => `http://127.0.0.1:${shop.port}${path}`;
  await service.webhooks.create({ url: at('/hooks') });
  for (const order of ['order-7001', 'order-7002', 'order-7003', 'order-7004']) {
    await service.trigger('transaction.paid', { payload: { transaction: { order_id: order } } });
  }
  await service.trigger('refund.succeeded', { payload: { refund: { id: 'refund-1', amount: '12.00' } } });
  service.faults.once('tamper_body');
  await service.trigger('transaction.paid', { sandbox: true });
  await refuse(service, at('/parsed'));
  await service.webhooks.create({ url: 'http://127.0.0.1:9/hooks', events: ['transaction.paid'] });
  await service.trigger('transaction.paid');
  service.faults.add({ kind: 'duplicate', event: 'refund.*', probability: 0.5, times: 'always' });
  await service.trigger('transaction.paid', { payload: { transaction: { order_id: 'order-7005' } } });
  return service;
}

/** Makes a delivery that its endpoint refuses on every attempt. */
async function refuse(service: Simulator, url: string): Promise<void> {
  const webhook = await service.webhooks.create({ url, events: ['payout.failed'] });
  const deliveries = await service.trigger('payout.failed', { payload: { payout: { id: 'payout-1' } } });
  const id = deliveries.find((delivery) => delivery.webhook_id === webhook.id)?.id ?? '';
  for (const attempt of [2, 3]) {
    await call(`${service.baseUrl}/_sim/deliveries/${id}/retry-now`, { method: 'POST', body: {} });
    await service.waitForDelivery({ id, attempt });
  }
  await service.webhooks.update(webhook.id, { paused: true });
}

export const LONG_NAME = 'subscription.payment_method_update_failed';

/** Two webhooks, event names of every length, and retries that are due long after the test. */
export async function busy(): Promise<Simulator> {
  const service = await simulator({ clock: 'real', retry: ['59m', '59m', '20h'] });
  const shop = await endpoint((received, response) => {
    const down = received.path === '/ledger/inbound';
    response.statusCode = down ? 503 : 200;
    response.setHeader('Content-Type', 'application/json');
    response.end(down ? '{"message":"Down for maintenance."}' : '{"received":true,"outcome":"processed"}');
  });
  for (const path of ['/hooks', '/ledger/inbound']) {
    await service.webhooks.create({ url: `http://127.0.0.1:${shop.port}${path}` });
  }
  for (const name of ['transaction.paid', LONG_NAME, 'refund.succeeded']) {
    await service.trigger(name, { payload: { note: 'n' } }, { count: 2 });
  }
  await service.trigger(LONG_NAME, { sandbox: true, payload: {} }, { fault: 'duplicate' });
  return service;
}
