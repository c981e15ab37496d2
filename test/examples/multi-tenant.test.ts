import { describe, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { accounts } from '../../examples/multi-tenant/accounts.js';
import { app } from '../../examples/multi-tenant/app.js';
import { deliverQuietly } from '../setup/deliver-quietly.js';

const acme = { privateKey: 'pri_of_acme', path: '/hooks/acme' };
const globex = { privateKey: 'pri_of_globex', path: '/hooks/globex' };

describe('two accounts', () => {
  test('each have their own address and key', async () => {
    const event = fixtures.transactionPaid();
    expect((await deliverQuietly(app, event, { ...acme, path: globex.path })).status).toBe(401);
    expect((await deliverQuietly(app, event, { ...globex, path: acme.path })).status).toBe(401);
    expect((await deliverQuietly(app, event, acme)).status).toBe(200);
  });

  test('do not hide each other’s events, even of one id', async () => {
    const event = fixtures.transactionPaid({ payload: { transaction: { order_id: 'order-same' } } });
    for (const account of [acme, globex]) {
      expect(await deliverQuietly(app, event, account)).toMatchObject({ body: { outcome: 'processed' } });
      expect(await deliverQuietly(app, event, account)).toMatchObject({ body: { outcome: 'duplicate' } });
    }
    expect([...accounts.values()].map(({ paidOrders }) => paidOrders.has('order-same'))).toEqual([
      true,
      true,
    ]);
  });

  test('are all there are: any other address is 404', async () => {
    for (const path of ['/hooks/initech', '/hooks/__proto__', '/hooks/constructor']) {
      expect((await deliverQuietly(app, fixtures.transactionPaid(), { ...acme, path })).status).toBe(404);
    }
  });
});
