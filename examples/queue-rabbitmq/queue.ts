// Where the app and the workers meet: a queue that survives a restart, and one for events that nobody could process.
import { connect } from 'amqplib';

export const QUEUE = 'webhooks';
export const FAILED = 'webhooks-failed';
const RABBITMQ_URL = process.env.RABBITMQ_URL ?? 'amqp://localhost:5672';
export const DATABASE_URL = process.env.DATABASE_URL ?? 'postgres://localhost/postgres';

export async function connectToQueue() {
  const connection = await connect(RABBITMQ_URL);
  // Nothing is lost when the connection is, so the program ends, and its process manager starts it again.
  connection.on('error', ({ message }) => console.error(`RabbitMQ: ${message}`));
  connection.on('close', () => process.exit(1));
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue(FAILED, { durable: true });
  await channel.assertQueue(QUEUE, { durable: true, deadLetterExchange: '', deadLetterRoutingKey: FAILED });
  const close = async () => {
    connection.removeAllListeners('close');
    await connection.close();
  };
  return { channel, close };
}
