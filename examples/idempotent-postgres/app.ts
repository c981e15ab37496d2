// An order and its line in the ledger, written inside `once`: both exactly once, or neither.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL ?? 'postgres://localhost/postgres',
  // A delivery that gets no connection in time is answered 503 or 500: a retry can succeed.
  connectionTimeoutMillis: 1_000,
});

const store = postgresStore({ pool });

/** Creates what is missing. Run it before the app takes deliveries, from as many processes as you like. */
export async function migrate(): Promise<void> {
  await store.migrate();
  // The lock is for processes that start at the same moment: IF NOT EXISTS alone does not keep them apart.
  await pool.query(`
    SELECT pg_advisory_xact_lock(1042);
    CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, status text NOT NULL);
    CREATE TABLE IF NOT EXISTS ledger (order_id text NOT NULL, amount numeric NOT NULL, currency text NOT NULL)
  `);
}

const hooks = receiver({ store });

hooks.on(
  'transaction.paid',
  async (event, { once }) => {
    const { order_id, amount, currency } = event.payload.transaction;
    await once(async (tx) => {
      await tx.query(
        "INSERT INTO orders (id, status) VALUES ($1, 'paid') ON CONFLICT (id) DO UPDATE SET status = 'paid'",
        [order_id],
      );
      await tx.query('INSERT INTO ledger (order_id, amount, currency) VALUES ($1, $2, $3)', [
        order_id,
        amount,
        currency,
      ]);
    });
  },
  { name: 'mark-paid' },
);

export const app = express();
app.post('/hooks', hooks);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  migrate().then(() => {
    const server = app.listen(port, (error) => {
      if (error) throw error;
      console.log(`Listening on http://localhost:${port}/hooks`);
    });
    process.once('SIGTERM', async () => {
      await hooks.close();
      server.close(() => pool.end());
    });
  });
}
