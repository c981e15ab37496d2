// The endpoint of `npm run bench:simulator`, in a process of its own: a merchant's app. Ends with its standard input.
import type { AddressInfo } from 'node:net';
import express from 'express';
import { receiver } from 'payment-webhooks';

const app = express();
app.post(
  '/hooks',
  receiver({ privateKey: 'pri_sim_dev', logger: false, handlers: { 'transaction.paid': () => {} } }),
);
const server = app.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
process.stdin.resume().on('end', () => process.exit());
