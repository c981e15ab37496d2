// The app of examples/sqlite, killed and started again: what it has processed is remembered, and what failed is a letter.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fixtures } from 'payment-webhooks/testing';
import { delivery } from '../setup/delivery.js';
import { send } from '../setup/endpoint.js';
import { openSqlite, sqliteFile } from '../setup/open-sqlite.js';
import { needing } from '../setup/platform.js';
import { freePort } from '../setup/ports.js';
import { type Running, startUntil } from '../setup/shell.js';

const privateKey = 'pri_sqlite';
const START = 'exec node --import tsx examples/sqlite/app.ts';

needing('better-sqlite3').describe('the example sqlite', () => {
  const { file, remove } = sqliteFile();
  let app: Running;
  let port: number;

  async function start(): Promise<void> {
    port = await freePort();
    const env = { PORT: String(port), SERVICE_PRIVATE_KEY: privateKey, DATABASE_FILE: file };
    app = await startUntil('Listening on', START, env);
  }
  beforeAll(start, 90_000);
  afterAll(async () => {
    await app?.stop();
    remove();
  });

  const paymentOf = (order_id: string) =>
    delivery(fixtures.transactionPaid({ payload: { transaction: { order_id } } }), privateKey);

  async function outcomeOf(sent: ReturnType<typeof delivery>): Promise<string> {
    const { body } = await send(port, sent);
    const { outcome, code } = body as { readonly outcome?: string; readonly code?: string };
    return outcome ?? code ?? '';
  }

  function rows(sql: string, ...values: string[]): unknown[] {
    const db = openSqlite(file);
    const found = db.prepare(sql).all(...values);
    db.close();
    return found;
  }
  function execute(sql: string): void {
    const db = openSqlite(file);
    db.exec(sql);
    db.close();
  }
  const ledgerOf = (order: string) => rows('SELECT amount, currency FROM ledger WHERE order_id = ?', order);

  test('remembers an event after it is killed and started again, and pays its order once', async () => {
    const payment = paymentOf('order-1');
    expect(await outcomeOf(payment)).toBe('processed');
    await app.stop('SIGKILL');
    await start();
    expect(await outcomeOf(payment)).toBe('duplicate');
    expect(ledgerOf('order-1')).toEqual([{ amount: '149.90', currency: 'EUR' }]);
    expect(rows('SELECT status FROM orders WHERE id = ?', 'order-1')).toEqual([{ status: 'paid' }]);
  }, 90_000);

  test('keeps an event of which it cannot write all, writes nothing of it, and still has it after a restart', async () => {
    execute(`CREATE TRIGGER closed BEFORE INSERT ON ledger WHEN new.order_id = 'order-2'
      BEGIN SELECT RAISE(ABORT, 'closed'); END`);
    const payment = paymentOf('order-2');
    expect(await outcomeOf(payment)).toBe('HANDLER_FAILED');
    expect([ledgerOf('order-2'), rows('SELECT * FROM orders WHERE id = ?', 'order-2')]).toEqual([[], []]);
    await app.stop('SIGKILL');
    const letters = () => rows('SELECT event_name, reason FROM dead_letter');
    expect(letters()).toEqual([{ event_name: 'transaction.paid', reason: 'failed' }]);
    execute('DROP TRIGGER closed');
    await start();
    expect(await outcomeOf(payment)).toBe('processed');
    expect([ledgerOf('order-2').length, letters()]).toEqual([1, []]);
  }, 90_000);
});
