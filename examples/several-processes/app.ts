// One port, a process for each CPU, and one store that all of them share.
import cluster, { type Worker } from 'node:cluster';
import { availableParallelism } from 'node:os';
import express from 'express';
import { Redis } from 'ioredis';
import { receiver } from 'payment-webhooks';
import { redisStore } from 'payment-webhooks/stores/redis';

export const client = new Redis(process.env.REDIS_URL ?? 'redis://localhost:6379', { lazyConnect: true });
client.on('error', ({ message }) => console.error(`Redis: ${message}`));

// Not in the memory of each process: a retry may reach any of them.
const hooks = receiver({ store: redisStore({ sendCommand: (...args) => client.call(...args) }) });

hooks.on('transaction.paid', async (event) => {
  await client.rpush('ledger', `${event.payload.transaction.order_id} paid in process ${process.pid}`);
});

export const app = express();
app.post('/hooks', hooks);

/** Takes deliveries until SIGTERM, then finishes and answers those in flight. */
function serve(port: number): void {
  const server = app.listen(port);
  process.once('SIGTERM', async () => {
    // Stopping a group of processes signals this one twice, and the second signal must not end it early.
    process.on('SIGTERM', () => {});
    await hooks.close();
    server.close(() => {
      client.disconnect();
      // The channel to the primary process would keep this one alive.
      process.disconnect();
    });
  });
}

/** Starts the processes, and another one for each that crashes. Ends when one cannot listen: others could not either. */
function supervise(port: number): void {
  const count = Math.max(2, availableParallelism());
  for (let index = 0; index < count; index += 1) cluster.fork();
  const listening = new Set<number>();
  cluster.on('listening', ({ id }) => {
    if (listening.add(id).size === count)
      console.log(`${count} processes take deliveries at http://localhost:${port}/hooks`);
  });
  const replace = ({ id, process: { pid } }: Worker) => {
    if (!listening.has(id)) {
      process.exitCode = 1;
      stop();
      return;
    }
    console.error(`Process ${pid} has ended; another one takes its place`);
    cluster.fork();
  };
  const stop = () => {
    cluster.off('exit', replace);
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM');
  };
  cluster.on('exit', replace);
  process.once('SIGTERM', stop);
}

if (process.argv[1] === import.meta.filename) {
  const port = Number(process.env.PORT ?? 3000);
  if (cluster.isPrimary) supervise(port);
  else serve(port);
}
