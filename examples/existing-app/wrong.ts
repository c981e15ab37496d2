// Wrong: the parser has read the body before the receiver can, and the signature is over bytes that are gone.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { handlers } from './handlers.js';

export const app = express();

app.use(express.json());
app.post('/orders', (req, res) => {
  res.status(201).json({ ordered: req.body.item });
});

app.post('/hooks', receiver({ handlers }));
