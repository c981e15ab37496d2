// A shop whose webhooks may overtake their orders, and refunds their payments: each is written once, none is lost.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import express from 'express';
import { NonRetriableError, RetryAfterError, receiver } from 'payment-webhooks';
import { postgresDeadLetters, postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { z } from 'zod';

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL ?? 'postgres://localhost/postgres',
  max: 20,
  connectionTimeoutMillis: 1_000,
});

const store = postgresStore({ pool });
const deadLetters = postgresDeadLetters({ pool });

/** Creates what is missing. Run it before the app takes deliveries, from as many processes as you like. */
export async function migrate(): Promise<void> {
  await store.migrate();
  await deadLetters.migrate();
  // The lock is for processes that start at the same moment: IF NOT EXISTS alone does not keep them apart.
  await pool.query(`
    SELECT pg_advisory_xact_lock(1044);
    CREATE TABLE IF NOT EXISTS shop_order (
      id       text PRIMARY KEY,
      amount   numeric NOT NULL,
      currency text NOT NULL,
      status   text NOT NULL DEFAULT 'pending',
      payment  text UNIQUE,
      refund   text UNIQUE
    )
  `);
}

// The payload of a refund is not documented. Declare what arrives in yours.
const events = {
  'refund.succeeded': z.looseObject({ refund: z.looseObject({ id: z.string(), order_id: z.string() }) }),
};

// What cannot be processed yet is tried again by itself, whether or not the service retries.
export const hooks = receiver({ store, deadLetters, redrive: true, events });

hooks.on(
  'transaction.paid',
  async (event, { once }) => {
    const { id, order_id, amount, currency } = event.payload.transaction;
    await once(async (tx) => {
      // One statement decides and writes. A refunded order stays refunded, and a second payment changes nothing.
      const { rows } = await tx.query(
        `UPDATE shop_order SET payment = $2, status = CASE status WHEN 'pending' THEN 'paid' ELSE status END
         WHERE id = $1 AND amount = $3 AND currency = $4 AND (payment IS NULL OR payment = $2) RETURNING id`,
        [order_id, id, amount, currency],
      );
      if (rows.length === 1) return;
      // What is thrown inside rolls back, so the retry runs it again.
      const known = await tx.query('SELECT 1 FROM shop_order WHERE id = $1', [order_id]);
      if (known.rows.length === 0) throw new RetryAfterError('2s', 'The order is not committed yet.');
      throw new NonRetriableError('The payment does not fit its order.');
    });
  },
  { name: 'mark-paid' },
);

hooks.on(
  'refund.succeeded',
  async (event, { once }) => {
    const { id, order_id } = event.payload.refund;
    await once(async (tx) => {
      const { rows } = await tx.query(
        "UPDATE shop_order SET status = 'refunded', refund = $2 WHERE id = $1 AND payment IS NOT NULL RETURNING id",
        [order_id, id],
      );
      if (rows.length === 0) throw new RetryAfterError('2s', 'The payment is not booked yet.');
    });
  },
  { name: 'mark-refunded' },
);

export const app = express();
app.post('/hooks', hooks);

/** `?late=4000` makes the race on purpose: the buyer can pay before the order is committed. */
app.post('/checkout', async ({ query }, res) => {
  const id = randomUUID();
  const create = () =>
    pool.query("INSERT INTO shop_order (id, amount, currency) VALUES ($1, '149.90', 'EUR')", [id]);
  const late = Number(query.late ?? 0);
  if (late > 0) pause(late).then(create).catch(console.error);
  else await create(); // first the order, and then the buyer is sent away
  res.json({ order: id });
});

/** Where the buyer comes back to. It only reads: the webhook is the truth, and anybody can open an address. */
app.get('/thanks/:id', async ({ params }, res) => {
  const { rows } = await pool.query('SELECT status FROM shop_order WHERE id = $1', [params.id]);
  const [order] = rows;
  if (order) res.json({ status: order.status });
  else res.status(404).json({ status: 'unknown' });
});

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  migrate().then(() => {
    hooks.start();
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
