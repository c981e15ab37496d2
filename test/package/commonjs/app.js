// A user's app in CommonJS.
const express = require('express');
const { receiver } = require('payment-webhooks');
const { deliver, fixtures } = require('payment-webhooks/testing');

const privateKey = 'pri_commonjs';
const app = express();
app.post('/hooks', receiver({ privateKey, logger: false, handlers: { 'transaction.paid': async () => {} } }));

deliver(app, fixtures.transactionPaid(), { privateKey }).then((answer) => {
  console.log(answer.status, JSON.stringify(answer.body));
});
