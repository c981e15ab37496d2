// Orders, event ids and dead letters in one SQLite file: a restart forgets nothing, and an order is paid once.
import Database from 'better-sqlite3';
import express from 'express';
import { receiver } from 'payment-webhooks';
import { sqliteInbox } from 'payment-webhooks/stores/sql';

export const db = new Database(process.env.DATABASE_FILE ?? 'shop.db');
db.exec(`
  CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, status TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS ledger (order_id TEXT NOT NULL, amount TEXT NOT NULL, currency TEXT NOT NULL) STRICT;
`);

// It creates its tables, prunes them, and retries letters.
export const hooks = receiver({ inbox: sqliteInbox(db) });

hooks.on(
  'transaction.paid',
  (event, { once }) => {
    const { order_id, amount, currency } = event.payload.transaction;
    // Synchronous, like the driver: both writes and the row that says so are one commit.
    return once(() => {
      db.prepare("INSERT INTO orders VALUES (?, 'paid') ON CONFLICT (id) DO UPDATE SET status = 'paid'").run(
        order_id,
      );
      db.prepare('INSERT INTO ledger VALUES (?, ?, ?)').run(order_id, amount, currency);
    });
  },
  { name: 'mark-paid' },
);

export const app = express();
app.post('/hooks', hooks);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  const server = app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}/hooks`);
  });
  process.once('SIGTERM', async () => {
    await hooks.close();
    server.close(() => db.close());
  });
}
