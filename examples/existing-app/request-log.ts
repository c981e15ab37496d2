// pino-http logs every request with its headers: the signature, and other secrets, are redacted.
import express from 'express';
import { receiver } from 'payment-webhooks';
import { pinoHttp } from 'pino-http';
import { handlers } from './handlers.js';

export const requestLog = pinoHttp({
  redact: ['req.headers["x-service-signature"]', 'req.headers.authorization', 'req.headers.cookie'],
});

export const app = express();

app.use(requestLog);
app.post('/hooks', receiver({ handlers }));
