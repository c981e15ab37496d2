// Makes receivers in a worker of node:cluster, and prints what they warn of.
import cluster from 'node:cluster';
import { receiver } from 'payment-webhooks';

if (cluster.isPrimary) cluster.fork();
else {
  const warn = (fields: object, msg?: string) =>
    process.stdout.write(`${JSON.stringify({ level: 40, ...fields, msg })}\n`);
  const logger = { info: () => {}, warn, error: () => {} } as never;
  receiver({ privateKey: 'pri_x', logger });
  receiver({ privateKey: 'pri_x', logger, store: false });
  process.disconnect();
}
