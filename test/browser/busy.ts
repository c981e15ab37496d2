// Two webhooks, event names of every length, and retries that are due long after the test.
import type { Simulator } from 'payment-webhooks/simulator';
import { endpoint, simulator } from '../tools/simulator/world.js';

export const LONG_NAME = 'subscription.payment_method_update_failed';

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
