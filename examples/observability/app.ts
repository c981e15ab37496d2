// Every delivery is counted, timed and traced; dashboard.json and alerts.yml show what to look at.
import './telemetry.js';

import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { trace } from '@opentelemetry/api';
import express from 'express';
import { type Logger, memoryDeadLetters, receiver } from 'payment-webhooks';
import { observeDeadLetters, openTelemetry } from 'payment-webhooks/opentelemetry';
import { health } from 'payment-webhooks/ops';
import { pino } from 'pino';
import { scrape, shutdown } from './telemetry.js';

const tracer = trace.getTracer('shop');

// With its trace in every log line, you can go from one to the other.
const logger = pino({ mixin: () => ({ trace_id: trace.getActiveSpan()?.spanContext().traceId }) });

export const hooks = receiver({
  logger: logger as Logger,
  observer: openTelemetry(),
  // Lost with this process. In production postgresDeadLetters() or redisDeadLetters().
  deadLetters: memoryDeadLetters(),
  // What failed is tried again, and counted when all tries are over.
  redrive: true,
});
const stopObserving = observeDeadLetters(hooks);

hooks.on(
  'transaction.paid',
  async (event, { log }) => {
    // A span that begins here is inside the handler's; those of database drivers are, too.
    await tracer.startActiveSpan('update order', async (span) => {
      await pause(5);
      span.end();
    });
    log.info({ order_id: event.payload.transaction.order_id }, 'order paid');
  },
  { name: 'book' },
);

export const app = express();
app.post('/hooks', hooks);

const healthz = health(hooks, { silence: '6h', refused: 0.5, deadLetters: 100, deadLetterAge: '1d' });

/** On a port of its own, which strangers do not reach. */
export const metrics = createServer((req, res) => {
  if (req.url === '/healthz') healthz(req, res);
  else scrape(req, res);
});

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  metrics.listen(Number(process.env.METRICS_PORT ?? 9464));
  const server = app.listen(port, (error) => {
    if (error) throw error;
    console.log(`Listening on http://localhost:${port}/hooks`);
  });
  process.once('SIGTERM', async () => {
    await hooks.close();
    stopObserving();
    server.close();
    metrics.close();
    await shutdown();
  });
}
