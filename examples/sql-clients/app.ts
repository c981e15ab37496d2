// A line of the ledger for each payment, written inside `once`: exactly once for each event.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { database, pool } from './pg.js';

const store = sqlStore(database);

/** Creates what is missing. Run it before the app takes deliveries. */
export async function migrate(): Promise<void> {
  await store.migrate();
  await pool.query('CREATE TABLE IF NOT EXISTS payment_ledger (payment text NOT NULL, amount text NOT NULL)');
}

const hooks = receiver({ store });

hooks.on(
  'transaction.paid',
  async (event, { once }) => {
    const { id, amount } = event.payload.transaction;
    await once((tx) =>
      tx.query('INSERT INTO payment_ledger (payment, amount) VALUES ($1, $2)', [id, amount]),
    );
  },
  { name: 'ledger' },
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
