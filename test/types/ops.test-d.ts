// What the compiler knows of `payment-webhooks/ops`: checked by `npm run typecheck`, never run.
import { createServer } from 'node:http';
import express from 'express';
import express4 from 'express4';
import { memoryDeadLetters, receiver } from 'payment-webhooks';
import { type HealthReport, health } from 'payment-webhooks/ops';
import { z } from 'zod';

// Any receiver, in any app.
const events = { 'refund.succeeded': z.object({}) };
const hooks = receiver({ events, deadLetters: memoryDeadLetters() });
express().get(
  '/healthz',
  health(hooks, { silence: '6h', refused: 0.5, window: 600_000, deadLetterAge: '1d' }),
);
express4().get('/healthz', health(receiver()));
createServer(health(receiver({ deadLetters: undefined }), {}));

export const advice = ({ status, checks }: HealthReport): string[] =>
  status === 'ok' ? [] : checks.filter(({ ok }) => !ok).map((check) => check.advice);

// @ts-expect-error: the store is not the receiver
health(memoryDeadLetters());
// @ts-expect-error: there is no such threshold
health(hooks, { silent: '6h' });
// @ts-expect-error: a share is a number
health(hooks, { refused: '50%' });
