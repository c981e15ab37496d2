// @polar-sh/express: its handler behind express.json(). It validates, as no other peer does.
import { Webhooks } from '@polar-sh/express';
import express from 'express';

// It prints each signature that does not match.
console.log = () => {};

export default express().post(
  '/hooks',
  express.json({ limit: '1mb' }),
  Webhooks({ webhookSecret: process.env.SERVICE_PRIVATE_KEY, onRefundCreated: async () => {} }),
);
