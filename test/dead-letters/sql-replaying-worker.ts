// One of several processes that replay the same letters in a MySQL, each in the transactions of its handlers.
import { createPool, type PoolConnection } from 'mysql2/promise';
import { receiver } from 'payment-webhooks';
import { sqlDeadLetters, sqlStore } from 'payment-webhooks/stores/sql';
import { z } from 'zod';
import { KEY } from '../setup/delivery.js';
import { overMysql2 } from '../setup/sql-clients.js';

const [uri = '', schema = ''] = process.argv.slice(2);
const pool = createPool({ uri, connectionLimit: 12 });
const database = overMysql2(pool);

const hooks = receiver({
  privateKey: KEY,
  logger: false,
  namespace: 'replay',
  store: sqlStore({ ...database, table: `${schema}.webhook_event` }),
  deadLetters: sqlDeadLetters({ ...database, table: `${schema}.dead_letter` }),
  events: { 'refund.made': z.looseObject({}) },
});
hooks.on('refund.made', async ({ id }, { transaction }: { transaction: PoolConnection }) => {
  await transaction.query(`INSERT INTO ${schema}.ledger VALUES (?)`, [id]);
});

process.on('message', async () => {
  process.send?.(await hooks.deadLetters.replay({ concurrency: 3 }));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
