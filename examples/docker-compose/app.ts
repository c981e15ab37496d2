// An ordinary app. What differs in a container: it is told to stop by SIGTERM, and nobody waits long for it.
import express from 'express';
import { receiver } from 'payment-webhooks';

const hooks = receiver();
const paidOrders = new Set<string>();

hooks.on('transaction.paid', async (event) => {
  paidOrders.add(event.payload.transaction.order_id);
});

export const app = express();
app.post('/hooks', hooks);
app.get('/orders/:id', (req, res) => {
  res.json({ paid: paidOrders.has(req.params.id) });
});

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  const server = app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}/hooks`);
  });
  process.once('SIGTERM', async () => {
    await hooks.close();
    server.close();
  });
}
