// Where the app and the workers meet: a stream on disk, with the events to process and those that nobody could process.
import { AckPolicy, jetstream, jetstreamManager, RetentionPolicy } from '@nats-io/jetstream';
import { connect, nanos } from '@nats-io/transport-node';

export const QUEUE = 'webhooks';
export const JOBS = 'webhooks.jobs';
export const FAILED = 'webhooks.failed';
/** How long NATS waits for a sign of life of the worker that has an event. */
export const ACK_WAIT_MS = Number(process.env.ACK_WAIT_MS ?? 30_000);
const NATS_URL = process.env.NATS_URL ?? 'nats://localhost:4222';
export const DATABASE_URL = process.env.DATABASE_URL ?? 'postgres://localhost/postgres';

export async function connectToQueue() {
  const connection = await connect({ servers: NATS_URL, maxReconnectAttempts: -1 });
  const manager = await jetstreamManager(connection);
  // What is acknowledged is removed. Nothing else is, however long it waits.
  await manager.streams.add({ name: QUEUE, subjects: ['webhooks.>'], retention: RetentionPolicy.Workqueue });
  await manager.consumers.add(QUEUE, {
    durable_name: 'workers',
    filter_subject: JOBS,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_deliver: -1,
  });
  return { connection, stream: jetstream(connection) };
}
