// A process whose first delivery finds no table. It says what that delivery was answered.

import { createPool } from 'mysql2/promise';
import { type Inbox, receiver } from 'payment-webhooks';
import { postgresInbox } from 'payment-webhooks/stores/postgres';
import { sqlInbox } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { KEY, receivable } from '../../setup/delivery.js';
import { overMysql2 } from '../../setup/sql-clients.js';

const [url = '', name = ''] = process.argv.slice(2);
const tables = { eventTable: `${name}_event`, deadLetterTable: `${name}_letter` };
const inbox: Inbox<object> = url.startsWith('postgres')
  ? postgresInbox({ pool: new Pool({ connectionString: url, application_name: `${name}_first` }), ...tables })
  : sqlInbox({ ...overMysql2(createPool({ uri: url })), ...tables });
const hooks = receiver({
  privateKey: KEY,
  inbox,
  logger: false,
  storeTimeout: 50_000,
  lease: 60_000,
  handlers: { '*': () => {} },
});
console.log('ready');
const { body } = await hooks.receive(receivable());
console.log(body);
process.exit();
