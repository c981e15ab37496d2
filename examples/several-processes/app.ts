// One port, a process for each CPU, and one store that all of them share.
import cluster, { type Worker } from 'node:cluster';
import { availableParallelism } from 'node:os';
import express from 'express';
import { Redis } from 'ioredis';
import { receiver } from 'payment-webhooks';
import { redisStore } from 'payment-webhooks/stores/redis';

export const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost:6379', { lazyConnect: true });
client.on('error', ({ message }) => console.error(`Redis: ${message}`));

// Their own memory would not do: a repetition may reach any of the processes.
const hooks = receiver({ store: redisStore({ sendCommand: (...args) => client.call(...args) }) });

hooks.on('transaction.paid', async (event) => {
  await client.rpush('ledger', `${event.payload.transaction.order_id} paid in process ${process.pid}`);
});

export const app = express();
app.post('/hooks', hooks);

/** Takes deliveries until it is told to stop; then those at work are finished and answered. */
function serve(port: number): void {
  const server = app.listen(port);
  process.once('SIGTERM', async () => {
    // Whoever stops a group of processes signals this one twice, and the second time must not cut it short.
    process.on('SIGTERM', () => {});
    await hooks.close();
    server.close(() => {
      client.disconnect();
      // The channel to the primary process would keep this one alive.
      process.disconnect();
    });
  });
}

/** Starts the processes, and another one for each that dies. */
function supervise(port: number): void {
  const count = Math.max(2, availableParallelism());
  for (let index = 0; index < count; index += 1) cluster.fork();
  const listening = new Set<number>();
  cluster.on('listening', ({ id }) => {
    if (listening.add(id).size === count)
      console.log(`${count} processes take deliveries at http://localhost:${port}/hooks`);
  });
  const replace = ({ process: { pid } }: Worker) => {
    console.error(`Process ${pid} has ended; another one takes its place`);
    cluster.fork();
  };
  cluster.on('exit', replace);
  process.once('SIGTERM', () => {
    cluster.off('exit', replace);
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM');
  });
}

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  if (cluster.isPrimary) supervise(port);
  else serve(port);
}
