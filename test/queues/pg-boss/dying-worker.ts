// A worker that dies in the middle of its first job, as by a power cut.
import { processor } from 'payment-webhooks/queues/pg-boss';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { newBoss } from '../../setup/pg-boss.js';

const [connectionString = '', schema = '', queue = ''] = process.argv.slice(2);
const boss = await newBoss({ connectionString, schema, supervise: false, schedule: false });
await boss.start();
const pool = new Pool({ connectionString });
const store = postgresStore({ pool, table: `${schema}.webhook_event` });
const handlers = {
  '*': async () => {
    process.kill(process.pid, 'SIGKILL');
  },
};
await boss.work(queue, { includeMetadata: true }, processor(handlers, { store, lease: 500, logger: false }));
