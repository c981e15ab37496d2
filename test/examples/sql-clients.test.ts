import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { Pool } from 'pg';
import { needing } from '../setup/platform.js';

const url = process.env.TEST_POSTGRES_URL ?? '';
const withPostgres = needing('postgres').describe;
const database = `example_${randomBytes(6).toString('hex')}`;
const privateKey = 'pri_sql_clients';

withPostgres('the example sql-clients', () => {
  const admin = new Pool({ connectionString: url, max: 1 });
  let pool: Pool;
  let app: typeof import('../../examples/sql-clients/app.js').app;

  beforeAll(async () => {
    await admin.query(`CREATE DATABASE ${database}`);
    process.env.DATABASE_URL = Object.assign(new URL(url), { pathname: database }).href;
    process.env.SERVICE_PRIVATE_KEY = privateKey;
    const example = await import('../../examples/sql-clients/app.js');
    ({ pool } = await import('../../examples/sql-clients/pg.js'));
    app = example.app;
    // A second is too short for a connection on a busy machine.
    pool.options.connectionTimeoutMillis = 20_000;
    await example.migrate();
  }, 90_000);

  afterAll(async () => {
    await pool?.end();
    await admin.query(`DROP DATABASE ${database} WITH (FORCE)`);
    await admin.end();
  });

  const linesOf = async (payment: string) =>
    (await pool.query('SELECT amount FROM payment_ledger WHERE payment = $1', [payment])).rows;

  /** As the service does: on a busy machine the store can be too slow for an attempt, which is then answered 503. */
  async function deliverUntilAnswered(event: object) {
    let answer = await deliver(app, event, { privateKey });
    while (answer.status === 503) answer = await deliver(app, event, { privateKey });
    return answer;
  }

  test('writes one line for an event, however often and however fast it comes', async () => {
    const event = fixtures.transactionPaid({ payload: { transaction: { id: 'txn-once', amount: '10.00' } } });
    await Promise.all(Array.from({ length: 15 }, () => deliverUntilAnswered(event)));
    const later = await deliverUntilAnswered(event);
    expect(later).toMatchObject({ status: 200, body: { outcome: 'duplicate' } });
    expect(await linesOf('txn-once')).toEqual([{ amount: '10.00' }]);
  });

  test('writes nothing of an event that it cannot write, until it can', async () => {
    const event = fixtures.transactionPaid({ payload: { transaction: { id: 'txn-later' } } });
    await pool.query("ALTER TABLE payment_ledger ADD CONSTRAINT closed CHECK (payment <> 'txn-later')");
    expect(await deliverUntilAnswered(event)).toMatchObject({
      status: 500,
      body: { code: 'HANDLER_FAILED' },
    });
    expect(await linesOf('txn-later')).toEqual([]);
    await pool.query('ALTER TABLE payment_ledger DROP CONSTRAINT closed');
    expect(await deliverUntilAnswered(event)).toMatchObject({ status: 200 });
    expect(await linesOf('txn-later')).toHaveLength(1);
  });
});
