// A process that claims an event in a transaction, writes, says so, and then does nothing more.
import { createPool } from 'mysql2/promise';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { overMysql2, overPg } from '../../setup/sql-clients.js';

const [url = '', table = '', ledger = '', key = '', leaseMs = ''] = process.argv.slice(2);
const request = { leaseMs: Number(leaseMs), fingerprint: 'a'.repeat(64) };
const claimed = url.startsWith('mysql:') ? await claimInMysql() : await claimInPostgres();
process.stdout.write(claimed, () => {
  // Neither timers nor the network get a turn from now on.
  for (;;);
});

async function claimInPostgres(): Promise<string> {
  const store = sqlStore({ ...overPg(new Pool({ connectionString: url })), table });
  const result = await store.claim(key, request);
  if (result.status === 'claimed')
    await result.claim.context?.transaction.query(`INSERT INTO ${ledger} (event) VALUES ($1)`, [key]);
  return result.status;
}

async function claimInMysql(): Promise<string> {
  const store = sqlStore({ ...overMysql2(createPool(url)), table });
  const result = await store.claim(key, request);
  if (result.status === 'claimed')
    await result.claim.context?.transaction.query(`INSERT INTO ${ledger} (event) VALUES (?)`, [key]);
  return result.status;
}
