// What the compiler knows of an inbox: `once` and its transaction, and that there are dead letters.
import {
  type DeadLetters,
  type Inbox,
  memoryDeadLetters,
  memoryInbox,
  memoryStore,
  type ReceiverOptions,
  receiver,
} from 'payment-webhooks';
import { processor } from 'payment-webhooks/queues';
import { type PostgresDeadLetters, postgresInbox } from 'payment-webhooks/stores/postgres';
import { redisInbox } from 'payment-webhooks/stores/redis';
import { sqlInbox } from 'payment-webhooks/stores/sql';
import { Pool, type PoolClient } from 'pg';
import { is } from './is.js';

const pool = new Pool();
const inbox = postgresInbox({ pool, retention: '90d', eventTable: 'hooks.webhook_event' });
is<PostgresDeadLetters>()(inbox.deadLetters);
is<Promise<number>>()(inbox.store.prune());

const hooks = receiver({ inbox });
is<DeadLetters>()(hooks.deadLetters);
hooks.on('transaction.paid', async (_event, { once }) => {
  is<number | null | undefined>()(
    await once(async (tx) => {
      is<PoolClient>()(tx);
      return (await tx.query('SELECT')).rowCount;
    }),
  );
});
receiver({ inbox, handlers: { '*': (_event, { once }) => once((tx) => tx.query('SELECT')) } });
processor({ 'transaction.paid': (_event, { once }) => once((tx) => tx.query('SELECT')) }, { inbox });

const bySql = sqlInbox({
  dialect: 'postgres',
  client: pool,
  query: async (client, sql, values) => (await client.query(sql, values)).rows,
  transaction: async (work: (client: PoolClient) => Promise<void>) => work(await pool.connect()),
});
receiver({ inbox: bySql }).on('*', async (_event, { once }) => {
  await once((tx) => is<PoolClient>()(tx));
});

for (const plain of [memoryInbox(), redisInbox({ sendCommand: async () => null })])
  receiver({ inbox: plain }).on('*', (_event, context) => {
    // @ts-expect-error: neither is in the database of the writes
    context.once;
  });

// Explicit options win.
is<DeadLetters>()(receiver({ inbox, deadLetters: memoryDeadLetters(), redrive: false }).deadLetters);
is<DeadLetters>()(receiver({ inbox: memoryInbox(), store: memoryStore() }).deadLetters);

// A function that others give options to.
declare const options: ReceiverOptions;
is<DeadLetters | undefined>()(receiver(options).deadLetters);
const any: Inbox = inbox;
is<DeadLetters>()(receiver({ inbox: any }).deadLetters);

// @ts-expect-error: it has to be called
receiver({ inbox: postgresInbox });
// @ts-expect-error: a store is no inbox
receiver({ inbox: memoryStore() });
// @ts-expect-error: an inbox is no store
receiver({ store: inbox });
// @ts-expect-error: a connection string is no pool
postgresInbox({ pool: 'postgres://localhost' });
// @ts-expect-error: the table of events and that of letters have names of their own
postgresInbox({ pool, table: 'webhook_event' });
// @ts-expect-error: its memory has no room for keys
memoryInbox({ encryptionKeys: [] });
