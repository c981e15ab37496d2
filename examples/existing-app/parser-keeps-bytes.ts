// Right: the parser runs first, and keeps the bytes. Its own limit, 100 kB by default, must not be below the receiver's.
import express from 'express';
import { keepRawBody, receiver } from 'payment-webhooks';
import { handlers } from './handlers.js';

export const app = express();

app.use(express.json({ limit: '256kb', verify: keepRawBody }));
app.post('/orders', (req, res) => {
  res.status(201).json({ ordered: req.body.item });
});

app.post('/hooks', receiver({ handlers }));
