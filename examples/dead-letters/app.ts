// Keeps every event that cannot be processed, encrypted, in the database of the handlers; and a page to replay them.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { deadLetterPage, health } from 'payment-webhooks/ops';
import { postgresDeadLetters, postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { events } from './events.js';
import { operatorOf, signIn } from './operators.js';

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL ?? 'postgres://localhost/postgres',
  max: 20,
  connectionTimeoutMillis: 1_500,
});

// Both remember for the same time.
const store = postgresStore({ pool, retention: '90d' });
const deadLetters = postgresDeadLetters({
  pool,
  encryptionKeys: (process.env.LETTER_KEYS ?? '').split(','),
  retention: '90d',
});

/** Creates what is missing. Run it before the app takes deliveries, from as many processes as you like. */
export async function migrate(): Promise<void> {
  await store.migrate();
  await deadLetters.migrate();
  // The lock is for processes that start at the same moment: IF NOT EXISTS alone does not keep them apart.
  await pool.query(`
    SELECT pg_advisory_xact_lock(1043);
    CREATE TABLE IF NOT EXISTS booking (event_id text NOT NULL, event_name text NOT NULL)
  `);
}

export const hooks = receiver({
  store,
  deadLetters,
  events,
  // Keeps an event from before its handlers run, so that even a process killed on the last retry loses nothing.
  journal: true,
});

hooks.on(
  '*',
  async (event, { once }) => {
    await once((tx) =>
      tx.query('INSERT INTO booking (event_id, event_name) VALUES ($1, $2)', [event.id, event.event_name]),
    );
  },
  { name: 'book' },
);

export const app = express();
app.post('/hooks', hooks);
// For a monitor: 503 when the database is down, and when letters grow many or old.
app.get('/healthz', health(hooks, { deadLetters: 100, deadLetterAge: '1d' }));
app.use('/ops/webhooks', signIn, deadLetterPage(hooks, { authorize: operatorOf }));

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  migrate().then(() => {
    const server = app.listen(port, (error) => {
      if (error) throw error;
      console.log(`Listening on http://localhost:${port}/hooks`);
    });
    const prune = () => Promise.all([store.prune(), deadLetters.prune()]).catch(console.error);
    const hourly = setInterval(prune, 3_600_000);
    process.once('SIGTERM', async () => {
      clearInterval(hourly);
      await hooks.close();
      server.close(() => pool.end());
    });
  });
}
