// Right: only the routes that want JSON have a parser.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { handlers } from './handlers.js';

export const app = express();

app.post('/orders', express.json(), (req, res) => {
  res.status(201).json({ ordered: req.body.item });
});

app.post('/hooks', receiver({ handlers }));
