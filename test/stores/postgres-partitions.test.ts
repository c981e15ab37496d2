// The Postgres store on a table that was partitioned as the docs say.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import { postgresStore } from '../../src/stores/postgres.js';
import type { StoreContractOptions } from '../../src/testing/store-contract.js';
import { needing } from '../setup/platform.js';
import { keepsTheContract, walksAsPromised } from './contract.js';
import { connectionString, granted } from './worlds.js';

const schema = `partitions_${randomBytes(6).toString('hex')}`;

needing('postgres').describe('the Postgres store, on a partitioned table', () => {
  const pool = new Pool({ connectionString, max: 20, options: `-c search_path=${schema}` });

  beforeAll(async () => {
    const partitioning = readFileSync(join(__dirname, '../../docs/sql/partitions.sql'), 'utf8');
    await pool.query(`CREATE SCHEMA ${schema}`);
    await postgresStore({ pool }).migrate();
    await pool.query(partitioning);
    await postgresStore({ pool }).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });

  describe('keeps the contract', () => {
    const options: StoreContractOptions = { create: ({ retention }) => postgresStore({ pool, retention }) };
    keepsTheContract(options);
    walksAsPromised(options);
  });

  test('commits the writes of once() once, whatever partitions the event and its row are in', async () => {
    const store = postgresStore({ pool });
    const writes: string[] = [];
    for (let n = 0; n < 20; n += 1)
      for (const leaseMs of [0, 30_000]) {
        const claim = granted(await store.claim(`default:live:once-${n}`, { leaseMs, fingerprint: '' }));
        await claim.forHandler?.('pay').context.once(() => writes.push(`once-${n}`));
        if (leaseMs > 0) expect(await claim.complete()).toBe(true);
      }
    expect(writes).toHaveLength(new Set(writes).size);
  });

  test('has rows in every partition, no index twice, and forgets in all of them', async () => {
    const store = postgresStore({ pool, retention: 1 });
    await Promise.all(
      Array.from({ length: 400 }, (_, id) =>
        store.claim(`default:live:many-${id}`, { leaseMs: 0, fingerprint: '' }),
      ),
    );
    const parts = await pool.query('SELECT DISTINCT tableoid FROM webhook_event');
    expect(parts.rowCount).toBe(16);
    const indexes = await pool.query("SELECT 1 FROM pg_indexes WHERE tablename = 'webhook_event_0'");
    expect(indexes.rowCount).toBe(2);
    expect(await store.prune()).toBeGreaterThanOrEqual(400);
  });
});
