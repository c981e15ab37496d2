// A process that claims an event in a transaction, writes, renews, says so, and then does nothing more.
import { createPool } from 'mysql2/promise';
import type { IdempotencyStore } from 'payment-webhooks';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { overMysql2, overPg } from '../setup/sql-clients.js';

const [by = '', url = '', table = '', ledger = '', key = '', leaseMs = ''] = process.argv.slice(2);
const result = await store().claim(key, { leaseMs: 60_000, fingerprint: 'a'.repeat(64) });
if (result.status !== 'claimed') throw new Error(`not granted: ${result.status}`);
const { claim } = result;
const { transaction } = claim.context as { transaction: { query(sql: string): Promise<unknown> } };
await transaction.query(`INSERT INTO ${ledger} (event) VALUES ('${key}')`);
const renewed = await claim.renew(Number(leaseMs));
process.stdout.write(String(renewed), () => {
  // Neither timers nor the network get a turn from now on.
  for (;;);
});

function store(): IdempotencyStore<object> {
  if (url.startsWith('mysql:')) return sqlStore({ ...overMysql2(createPool(url)), table });
  const pool = new Pool({ connectionString: url, pipeline: by === 'postgresStore, pipeline' });
  return by === 'sqlStore'
    ? sqlStore({ ...overPg(pool), table })
    : postgresStore({ pool, table, transactional: true });
}
