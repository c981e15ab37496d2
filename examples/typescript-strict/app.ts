// Declared events, exact types: what is misspelt, missing or not handled is found by the compiler.
import express from 'express';
import { type EventOf, type Handler, receiver } from 'payment-webhooks';
import { events } from './events.js';
import { type LedgerLine, lineOf } from './ledger.js';

export const ledger: LedgerLine[] = [];
export const refunded = new Set<string>();

// A handler of its own, typed by the name of its event.
const noteRefund: Handler<EventOf<'refund.succeeded', typeof events>> = async (event) => {
  refunded.add(event.payload.refund.id);
};

const hooks = receiver({ events });

hooks.on('*', async (event) => {
  ledger.push(lineOf(event));
});
hooks.on('refund.succeeded', noteRefund, { name: 'note-refund' });

export const app = express();
app.post('/hooks', hooks);

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}/hooks`);
  });
}
