// A worker of the serial campaign: a receiver with the handler in both forms, and the deliveries of its share.
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type IdempotencyStore, receiver, type TransactionPaid } from 'payment-webhooks';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { redisStore } from 'payment-webhooks/stores/redis';
import { fixtures, signedDelivery } from 'payment-webhooks/testing';
import { Pool } from 'pg';
import {
  type Kind,
  type Load,
  PROCESSES,
  SERIAL_KEY,
  SERIAL_TABLE,
  type SerialMode,
  type Share,
  VALUES,
} from './serial-merchant.js';

const { MODE, REDIS_URL, POSTGRES_URL, INDEX } = process.env as Record<string, string>;
if (!REDIS_URL || !POSTGRES_URL) throw new Error('REDIS_URL and POSTGRES_URL are not set.');
const redis = new Redis(REDIS_URL);

let share = { runs: 0, overlaps: 0, refused: 0 };
let handlerMs = 0;

function makeStore(mode: SerialMode): IdempotencyStore {
  if (mode === 'redis') return redisStore({ sendCommand: (...args) => redis.call(...args) });
  return postgresStore({ pool: new Pool({ connectionString: POSTGRES_URL, max: 10 }), table: SERIAL_TABLE });
}

const store = makeStore(MODE as SerialMode);
const orderOf = (event: TransactionPaid) => event.payload.transaction.order_id;

/** Counts in Redis, whatever the store is: what the claims say is what is checked. */
async function handle(event: TransactionPaid): Promise<void> {
  const running = `running:${orderOf(event)}`;
  if ((await redis.incr(running)) > 1) share.overlaps += 1;
  await pause(handlerMs);
  await redis.decr(running);
  share.runs += 1;
}

const options = { privateKey: SERIAL_KEY, store, logger: false, timeout: '1m' } as const;
const plain = receiver(options).on('transaction.paid', handle);
const serial = receiver(options).on('transaction.paid', handle, { serial: orderOf });

function signed(number: number, kind: Kind) {
  // The same number in each process has the same value.
  const order_id =
    kind === 'same' ? `order-${Math.floor(number / PROCESSES) % VALUES}` : `order-of-${number}`;
  const event = fixtures.transactionPaid({ id: `event-${number}`, payload: { transaction: { order_id } } });
  return signedDelivery(event, { privateKey: SERIAL_KEY });
}

async function deliver({ kind, first, events, concurrency }: Load): Promise<void> {
  const hooks = kind === 'plain' ? plain : serial;
  const numbers = Array.from({ length: events }, (_, index) => first + index);
  const waiting = numbers.filter((number) => number % PROCESSES === Number(INDEX));
  const lane = async () => {
    for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
      const sent = signed(number, kind);
      while ((await hooks.receive(sent)).status !== 200) {
        share.refused += 1;
        await pause(50);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
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
