// A process whose first delivery finds no table: it is claimed, fails, and is kept as a letter.

import { createPool } from 'mysql2/promise';
import { type Inbox, receiver } from 'payment-webhooks';
import { postgresInbox } from 'payment-webhooks/stores/postgres';
import { sqlInbox, sqliteDatabase } from 'payment-webhooks/stores/sql';
import { Pool } from 'pg';
import { KEY, receivable } from '../../setup/delivery.js';
import { openSqlite } from '../../setup/open-sqlite.js';
import { overMysql2 } from '../../setup/sql-clients.js';

const [url = '', name = '', statements = ''] = process.argv.slice(2);
const tables = { eventTable: `${name}_event`, deadLetterTable: `${name}_letter` };

/** In a file of SQLite it ends after so many statements that create something, as by kill -9. */
function inFile(file: string): Inbox<object> {
  const database = sqliteDatabase(openSqlite(file));
  let left = Number(statements);
  const query: typeof database.query = (client, sql, values) => {
    const rows = database.query(client, sql, values);
    if (/^CREATE/m.test(sql) && --left === 0) process.kill(process.pid, 'SIGKILL');
    return rows;
  };
  return sqlInbox({ ...database, query, ...tables });
}

function inboxAt(url: string): Inbox<object> {
  if (url.startsWith('postgres'))
    return postgresInbox({
      pool: new Pool({ connectionString: url, application_name: `${name}_first` }),
      ...tables,
    });
  return url.startsWith('mysql')
    ? sqlInbox({ ...overMysql2(createPool({ uri: url })), ...tables })
    : inFile(url);
}

const inbox = inboxAt(url);
const hooks = receiver({
  privateKey: KEY,
  inbox,
  logger: false,
  storeTimeout: 50_000,
  lease: 60_000,
  redrive: false,
  handlers: { '*': () => Promise.reject(new Error('down')) },
});
console.log('ready');
await hooks.receive(receivable());
process.exit();
