// Event ids are in Redis, so every process recognises a retry, also after a restart.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { redisStore } from 'payment-webhooks/stores/redis';
import { createClient } from 'redis';

// Without the queue a command fails at once while Redis is down. The delivery is answered 503: a retry can succeed.
export const client = createClient({
  url: process.env.REDIS_URL ?? 'redis://localhost:6379',
  disableOfflineQueue: true,
});
// A client without this listener ends the process when the connection is lost.
client.on('error', ({ message, code }) => console.error(`Redis: ${message || code}`));
// Connecting goes on in the background, as long as it takes.
client.connect().catch(() => {});

const hooks = receiver({
  store: redisStore({ sendCommand: (...args) => client.sendCommand(args) }),
});

hooks.on('transaction.paid', async (event) => {
  const { id, order_id } = event.payload.transaction;
  await client.rPush('ledger', `${order_id} paid by ${id}`);
});

export const app = express();
app.post('/hooks', hooks);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  client.once('ready', () => {
    const server = app.listen(port, (error) => {
      if (error) throw error;
      console.log(`Listening on http://localhost:${port}/hooks`);
    });
    process.once('SIGTERM', async () => {
      await hooks.close();
      server.close(() => client.close());
    });
  });
}
