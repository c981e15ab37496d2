// One worker process with an inbox in a file of SQLite, and a handler whose effect is a row in the same file.
import { receiver } from 'payment-webhooks';
import { sqliteInbox } from 'payment-webhooks/stores/sql';
import { openSqlite } from '../../setup/open-sqlite.js';
import { LEASE_MS, PRIVATE_KEY } from './merchant.js';
import { serve, work } from './worker-process.js';

const { FILE, ONCE } = process.env as { FILE: string; ONCE?: string };

const db = openSqlite(FILE);
const write = (event: string, attempt: number) =>
  db
    .prepare('INSERT INTO ledger VALUES (?, ?, ?, ?)')
    .run(event, String(process.pid), String(attempt), String(Date.now()));

const hooks = receiver({
  privateKey: PRIVATE_KEY,
  inbox: sqliteInbox(db),
  // The campaign delivers again by itself.
  redrive: false,
  lease: LEASE_MS,
  timeout: 3_000,
  logger: false,
});
hooks.on(
  'transaction.paid',
  ({ id }, { attempt, once }) =>
    work(async () => {
      if (ONCE) once(() => write(id, attempt));
      else write(id, attempt);
    }),
  { name: 'pay' },
);
serve(hooks);
