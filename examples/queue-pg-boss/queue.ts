// Where the app and the workers meet.
import { PgBoss } from 'pg-boss';

export const QUEUE = 'webhooks';
export const DATABASE_URL = process.env.DATABASE_URL ?? 'postgres://localhost/postgres';

export const boss = new PgBoss(DATABASE_URL);
boss.on('error', ({ message }) => console.error(`pg-boss: ${message}`));

/** Creates what is missing. Any number of processes may call it at once. */
export async function startBoss(): Promise<void> {
  await boss.start();
  await boss.createQueue(QUEUE);
}
