// Right: the receiver is above the parser, so it reads the request first.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { handlers } from './handlers.js';

export const app = express();

app.post('/hooks', receiver({ handlers }));

app.use(express.json());
app.post('/orders', (req, res) => {
  res.status(201).json({ ordered: req.body.item });
});
