// Claims and completes events in a file of SQLite, one after the other, for a test that counts what reaches the disk.
import { sqliteDatabase, sqlStore } from 'payment-webhooks/stores/sql';
import { openSqlite } from '../setup/open-sqlite.js';

const [file = '', count = '', setting = ''] = process.argv.slice(2);
const db = openSqlite(file);
const store = sqlStore(sqliteDatabase(db));
await store.migrate();
if (setting) db.exec(`PRAGMA synchronous = ${setting}`);
for (let n = 0; n < Number(count); n += 1) {
  const result = await store.claim(`live:${n}`, { leaseMs: 60_000, fingerprint: 'a'.repeat(64) });
  if (result.status !== 'claimed' || !(await result.claim.complete())) throw new Error(result.status);
}
console.log('completed');
process.exit();
