// A user's app in ESM.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { deliver, fixtures } from 'payment-webhooks/testing';

const privateKey = 'pri_esm';
const app = express();
app.post('/hooks', receiver({ privateKey, logger: false, handlers: { 'transaction.paid': async () => {} } }));

const answer = await deliver(app, fixtures.transactionPaid(), { privateKey });
console.log(answer.status, JSON.stringify(answer.body));
