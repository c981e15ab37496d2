// Many accounts of the service behind one app: each has its own address, its own key and its own namespace.
import express from 'express';
import { memoryStore, type Receiver, receiver } from 'payment-webhooks';
import { type Account, accounts, secrets } from './accounts.js';

// One store for all: the namespace keeps the event ids of one account from hiding those of another.
const store = memoryStore();
const receivers = new Map<string, Receiver>();

function receiverOf(account: Account): Receiver {
  let hooks = receivers.get(account.id);
  if (!hooks) {
    hooks = receiver({
      // Called for each delivery, so a key that is replaced in the secret manager takes effect at once.
      privateKey: () => secrets.privateKeyOf(account.id),
      namespace: account.id,
      store,
      handlers: {
        // The signature only proves which account sent this. Touch only that account's data.
        'transaction.paid': async (event) => {
          account.paidOrders.add(event.payload.transaction.order_id);
        },
      },
    });
    receivers.set(account.id, hooks);
  }
  return hooks;
}

export const app = express();

app.post('/hooks/:account', (req, res) => {
  const account = accounts.get(req.params.account);
  if (account) receiverOf(account)(req, res);
  else res.sendStatus(404);
});

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}/hooks/:account`);
  });
}
