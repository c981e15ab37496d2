// @line/bot-sdk: its middleware in Express 5.
// Declares Node 22 and runs on Node 20.
import { middleware, SignatureValidationFailed } from '@line/bot-sdk';
import express from 'express';

const app = express();
app.post('/hooks', middleware({ channelSecret: process.env.SERVICE_PRIVATE_KEY }), async (req, res) => {
  await Promise.all(req.body.events.map(async () => {}));
  res.json({ received: true });
});
app.use((error, _req, res, _next) => {
  res.status(error instanceof SignatureValidationFailed ? 401 : 400).send('Unauthenticated.');
});

export default app;
