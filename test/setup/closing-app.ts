// An app that shuts down as its deployment asks it to. The process that started it says when its handler may finish.
import type { AddressInfo } from 'node:net';
import express from 'express';
import { receiver } from 'payment-webhooks';
import { KEY } from './delivery.js';
import { gate } from './waiting.js';

const tell = (name: string, more: object = {}) => process.send?.({ name, ...more });
const work = gate();
process.once('message', () => work.open());

const hooks = receiver({ privateKey: KEY, logger: false });
hooks.on('transaction.paid', () => {
  tell('working');
  return work.opened;
});

const app = express();
app.post('/hooks', hooks);
const server = app.listen(0, '127.0.0.1', () => {
  tell('listening', { port: (server.address() as AddressInfo).port });
});

// Not left behind by a test that failed before it came to the end.
const orphaned = () => process.exit(1);
process.once('disconnect', orphaned);
process.once('disconnect', () => work.open());

process.once('SIGTERM', async () => {
  process.removeListener('disconnect', orphaned);
  tell('closing');
  await hooks.close();
  server.close();
  process.disconnect();
});
