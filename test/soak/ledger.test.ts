// The comparison of ledger and events, in a real Postgres.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import { LEDGER } from '../faults/merchant.js';
import { needing } from '../setup/platform.js';
import { balance } from './ledger.js';

const url = process.env.TEST_POSTGRES_URL;

needing('postgres').describe('the ledger', () => {
  let pool: Pool;

  beforeAll(async () => {
    // One connection, so that its temporary table stands before any other of that name.
    pool = new Pool({ connectionString: url, max: 1 });
    await pool.query(LEDGER.replace('CREATE TABLE', 'CREATE TEMPORARY TABLE'));
  });

  afterAll(() => pool.end());

  test('is held against what was sent, store by store', async () => {
    const rows = ['redis-a-1', 'redis-a-2', 'redis-a-2', 'redis-b-1', 'memory-a-1', 'memory-a-forged-1'];
    await pool.query(
      'INSERT INTO ledger (event_id, worker, attempt) SELECT event_id, 1, 1 FROM unnest($1::text[]) AS event_id',
      [rows],
    );
    const sent = [
      { prefix: 'redis-a', made: 3 },
      { prefix: 'redis-b', made: 1 },
      { prefix: 'memory-a', made: 1 },
    ];
    const byStore = (await balance(pool, sent)).sort((one, other) => one.store.localeCompare(other.store));
    expect(byStore).toEqual([
      { store: 'memory', events: 1, missing: 0, doubled: 0, forged: 1 },
      { store: 'redis', events: 4, missing: 1, doubled: 1, forged: 0 },
    ]);
  });
});
