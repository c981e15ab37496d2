// A worker of the serial campaign: a receiver with the handler in both forms, and the deliveries of its share.
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { receiver, type TransactionPaid } from 'payment-webhooks';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { redisStore } from 'payment-webhooks/stores/redis';
import { fixtures } from 'payment-webhooks/testing';
import { concurrently } from '../../setup/concurrently.js';
import { receivable } from '../../setup/delivery.js';
import { quietPool } from '../../setup/quiet-pool.js';
import { PRIVATE_KEY } from './merchant.js';
import { type Load, PROCESSES, type Share, VALUES } from './serial-merchant.js';

const { MODE, REDIS_URL = '', POSTGRES_URL = '', INDEX } = process.env;
const redis = new Redis(REDIS_URL);

let share = { runs: 0, overlaps: 0, refused: 0 };
let handlerMs = 0;

const orderOf = (event: TransactionPaid) => event.payload.transaction.order_id;

/** Counts in Redis, whatever the store is: what the claims say is what is checked. */
async function handle(event: TransactionPaid): Promise<void> {
  const running = `running:${orderOf(event)}`;
  if ((await redis.incr(running)) > 1) share.overlaps += 1;
  await pause(handlerMs);
  await redis.decr(running);
  share.runs += 1;
}

const store =
  MODE === 'redis'
    ? redisStore({ sendCommand: (...args) => redis.call(...args) })
    : postgresStore({ pool: quietPool(POSTGRES_URL, 10) });
const options = { privateKey: PRIVATE_KEY, store, logger: false, timeout: '1m' } as const;
const plain = receiver(options).on('transaction.paid', handle);
const serial = receiver(options).on('transaction.paid', handle, { serial: orderOf });

async function deliver({ kind, first, events, concurrency }: Load): Promise<void> {
  const hooks = kind === 'plain' ? plain : serial;
  const numbers = Array.from({ length: events }, (_, index) => first + index);
  const ours = numbers.filter((number) => number % PROCESSES === Number(INDEX));
  await concurrently(ours, concurrency, async (number) => {
    // The same number in each process has the same value.
    const order_id =
      kind === 'same' ? `order-${Math.floor(number / PROCESSES) % VALUES}` : `order-of-${number}`;
    const about = { id: `event-${number}`, payload: { transaction: { order_id } } };
    const sent = receivable(fixtures.transactionPaid(about), PRIVATE_KEY);
    while ((await hooks.receive(sent)).status !== 200) {
      share.refused += 1;
      await pause(50);
    }
  });
}

process.on('message', async (load: Load) => {
  share = { runs: 0, overlaps: 0, refused: 0 };
  handlerMs = load.handlerMs;
  const before = process.cpuUsage();
  await deliver(load);
  const { user, system } = process.cpuUsage(before);
  process.send?.({ ...share, cpuMs: (user + system) / 1_000 } satisfies Share);
});
process.once('disconnect', () => process.exit(0));
process.send?.('ready');
