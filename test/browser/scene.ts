// A simulator in nearly every state that the page can show.
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
