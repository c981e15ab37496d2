// A process whose handler calls `once` after its event has been answered. It prints the answer and the log, and should end by itself.
import { setTimeout as pause } from 'node:timers/promises';
import { receiver } from 'payment-webhooks';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool } from 'pg';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY, receivable } from '../setup/delivery.js';
import { gate } from '../setup/waiting.js';

const [connectionString = '', schema = '', id = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString });
const log = captureLog();
const hooks = receiver({
  privateKey: KEY,
  logger: log.logger,
  store: postgresStore({ pool, table: `${schema}.webhook_event` }),
});
const answered = gate();
const handler = ({ id }: { id: string }, { once }: { once: (work: (tx: Pool) => unknown) => unknown }) => {
  void answered.opened.then(() => {
    void once((tx) => tx.query(`INSERT INTO ${schema}.ledger VALUES ($1, 'ledger')`, [id]));
  });
};
hooks.on('transaction.paid', handler as never, { name: 'ledger' });
const { status, body } = await hooks.receive(receivable(fixtures.transactionPaid({ id })));
answered.open();
await pause(200);
console.log(JSON.stringify([status, JSON.parse(body).outcome]));
for (const line of log.text) console.log(line.trim());
await pool.end();
