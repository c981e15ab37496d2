// One worker process with sqlStore(): a receiver, and a handler whose effect is a row that an ORM writes inside `once`.
import { setTimeout as pause } from 'node:timers/promises';
import { receiver } from 'payment-webhooks';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { LEASE_MS, PRIVATE_KEY } from './merchant.js';
import { serve, work } from './worker-process.js';

// Clients report each connection that is lost, as they should.
for (const method of ['log', 'warn', 'error'] as const) console[method] = () => {};

const { database, write, connect } = await import(process.env.LEDGER as string);
// The server may be down at this moment.
for (let up = false; !up; ) {
  up = await connect().then(
    () => true,
    () => pause(100, false),
  );
}

const hooks = receiver({
  privateKey: PRIVATE_KEY,
  store: sqlStore(database),
  lease: LEASE_MS,
  timeout: 3_000,
  logger: false,
});
hooks.on(
  'transaction.paid',
  (event, { once }) => once((tx) => work(() => write(tx, event.id, event.payload.transaction.amount))),
  { name: 'pay' },
);
serve(hooks);
