// One worker process with sqlStore(): a receiver, and a handler whose effect is a row that an ORM writes in the transaction.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { receiver } from 'payment-webhooks';
import { sqlStore } from 'payment-webhooks/stores/sql';
import { HANDLER_TEXT, LEASE_MS, PRIVATE_KEY } from './merchant.js';

// A campaign fails when it sees this exit code.
for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
  process.on(event, (error) => {
    process.stderr.write(`${event} ${inspect(error)}\n`);
    process.exit(99);
  });
}
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
hooks.on('transaction.paid', async (event, { transaction }) => {
  await pause(Math.random() * 20);
  if (Math.random() < 0.03) throw new Error(HANDLER_TEXT);
  await write(transaction, event.id, event.payload.transaction.amount);
  // The time between effect and commit, long enough for a fault to fall into.
  await pause(Math.random() * 20);
});
const server = createServer(hooks).listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});
