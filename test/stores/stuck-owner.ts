// A process that claims an event in a transaction and then never gives its event loop a chance again.
import { Pool } from 'pg';
import { postgresStore } from '../../src/stores/postgres.js';

const [connectionString, table, key] = process.argv.slice(2) as [string, string, string];
const store = postgresStore({ pool: new Pool({ connectionString }), table, transactional: true });
const { status } = await store.claim(key, { leaseMs: 500, fingerprint: 'f' });
process.stdout.write(status, () => {
  for (;;);
});
