import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { Pool } from 'pg';
import { needing } from '../setup/platform.js';

const url = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = needing('postgres').describe;
const database = `example_${randomBytes(6).toString('hex')}`;
const privateKey = 'pri_idempotent';

function paymentOf(order_id: string, amount = '149.90') {
  return fixtures.transactionPaid({ payload: { transaction: { order_id, amount } } });
}

withPostgres('the example idempotent-postgres', () => {
  const admin = new Pool({ connectionString: url, max: 1 });
  let pool: Pool;
  let app: typeof import('../../examples/idempotent-postgres/app.js').app;

  beforeAll(async () => {
    await admin.query(`CREATE DATABASE ${database}`);
    process.env.DATABASE_URL = Object.assign(new URL(url), { pathname: database }).href;
    process.env.SERVICE_PRIVATE_KEY = privateKey;
    const example = await import('../../examples/idempotent-postgres/app.js');
    ({ pool, app } = example);
    // A second is too short for a connection on a busy machine.
    pool.options.connectionTimeoutMillis = 20_000;
    await Promise.all([example.migrate(), example.migrate()]);
  }, 90_000);

  afterAll(async () => {
    await pool?.end();
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
    await admin.end();
  });

  const rows = async (sql: string, order: string) => (await pool.query(sql, [order])).rows;
  const ledgerOf = (order: string) => rows('SELECT amount, currency FROM ledger WHERE order_id = $1', order);
  const orderOf = (order: string) => rows('SELECT status FROM orders WHERE id = $1', order);

  test('writes one order and one line for an event, however often and however fast it comes', async () => {
    const event = paymentOf('order-1');
    const answers = await Promise.all(Array.from({ length: 15 }, () => deliver(app, event, { privateKey })));
    expect(new Set(answers.map(({ status }) => status))).not.toContain(500);
    const later = await deliver(app, event, { privateKey });
    expect(later).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(await ledgerOf('order-1')).toEqual([{ amount: '149.90', currency: 'EUR' }]);
    expect(await orderOf('order-1')).toEqual([{ status: 'paid' }]);
  });

  test('writes nothing of an event of which it cannot write all, until it can', async () => {
    const event = paymentOf('order-2', '10.00');
    await pool.query("ALTER TABLE ledger ADD CONSTRAINT closed CHECK (order_id <> 'order-2')");
    expect(await deliver(app, event, { privateKey })).toMatchObject({
      status: 500,
      body: { code: 'HANDLER_FAILED' },
    });
    expect([await orderOf('order-2'), await ledgerOf('order-2')]).toEqual([[], []]);
    await pool.query('ALTER TABLE ledger DROP CONSTRAINT closed');
    expect(await deliver(app, event, { privateKey })).toMatchObject({ status: 200 });
    expect([await orderOf('order-2'), await ledgerOf('order-2')]).toMatchObject([
      [{ status: 'paid' }],
      [{ amount: '10.00' }],
    ]);
  });
});
