// A worker that dies in the middle of its first job, as by a power cut.
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { processor } from 'payment-webhooks/queues/bullmq';
import { redisStore } from 'payment-webhooks/stores/redis';

const [name = '', url = '', prefix = ''] = process.argv.slice(2);
const client = new Redis(url);
const store = redisStore({ sendCommand: (...args) => client.call(...args), prefix });
const handlers = {
  '*': async () => {
    process.kill(process.pid, 'SIGKILL');
  },
};
const times = { lockDuration: 500, stalledInterval: 150 };
new Worker(name, processor(handlers, { store, lease: 500, logger: false }), {
  connection: { url },
  ...times,
});
