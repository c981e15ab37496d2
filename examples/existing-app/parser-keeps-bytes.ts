// Right: the parser runs first, and keeps the bytes that it parsed.
import express from 'express';
import { keepRawBody, receiver } from 'payment-webhooks';
import { handlers } from './handlers.js';

export const app = express();

app.use(express.json({ verify: keepRawBody }));
app.post('/orders', (req, res) => {
  res.status(201).json({ ordered: req.body.item });
});

app.post('/hooks', receiver({ handlers }));
