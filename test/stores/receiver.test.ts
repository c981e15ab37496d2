// Handlers in one transaction with their event: what they write is there exactly when the answer is 200.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { receiver, type TransactionPaid } from 'payment-webhooks';
import { postgresStore } from 'payment-webhooks/stores/postgres';
import { Pool, type PoolClient } from 'pg';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY, receivable } from '../setup/delivery.js';
import { needing } from '../setup/platform.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';
const name = `receiver_${randomBytes(6).toString('hex')}`;
const table = `${name}.webhook_event`;

needing('postgres').describe('handlers in one transaction with the event', () => {
  const pool = new Pool({ connectionString, max: 20 });
  const make = () => postgresStore({ pool, table, transactional: true });
  const write = `INSERT INTO ${name}.ledger (event) VALUES ($1)`;
  const written = async (event: string) =>
    (await pool.query(`SELECT FROM ${name}.ledger WHERE event = $1`, [event])).rowCount;

  beforeAll(async () => {
    await pool.query(`CREATE SCHEMA ${name}`);
    await pool.query(`CREATE TABLE ${name}.ledger (event text NOT NULL)`);
    await postgresStore({ pool, table }).migrate();
  });
  afterAll(async () => {
    await pool.query(`DROP SCHEMA ${name} CASCADE`);
    await pool.end();
  });

  /** Two processes, as far as the store can tell. */
  function processes(handle: (event: TransactionPaid, context: { transaction: PoolClient }) => unknown) {
    const log = captureLog();
    const receivers = [make(), make()].map((store) =>
      receiver({ privateKey: KEY, store, logger: log.logger }).on('transaction.paid', handle),
    );
    const send = async (event: object, process: 0 | 1) => {
      const answer = await receivers[process]?.receive(receivable(event));
      const { outcome, code } = JSON.parse(answer?.body ?? '{}');
      return [answer?.status, outcome ?? code];
    };
    return { send, log };
  }

  test('write what they write exactly when the answer is 200', async () => {
    let fails = true;
    const { send } = processes(async (event, { transaction }) => {
      await transaction.query(write, [event.id]);
      if (fails) throw new Error('not now');
    });
    const event = fixtures.transactionPaid();
    expect([await send(event, 0), await written(event.id)]).toEqual([[500, 'HANDLER_FAILED'], 0]);
    fails = false;
    expect([await send(event, 0), await written(event.id)]).toEqual([[200, 'processed'], 1]);
    expect([await send(event, 1), await written(event.id)]).toEqual([[200, 'duplicate'], 1]);
  });

  test('undo nothing of one another with savepoints when they take turns', async () => {
    const serial = ({ id }: { readonly id: string }) => id;
    const hooks = receiver({ privateKey: KEY, store: make(), logger: false });
    hooks
      .on(
        '*',
        async (_event, { transaction }) => {
          await transaction.query('SAVEPOINT mine');
          await transaction.query('SELECT 1 / 0').catch(() => {});
          await transaction.query('ROLLBACK TO SAVEPOINT mine');
        },
        { serial },
      )
      .on('*', async (event, { transaction }) => void (await transaction.query(write, [event.id])), {
        serial,
      });
    const event = fixtures.transactionPaid();
    expect(await hooks.receive(receivable(event))).toMatchObject({ status: 200 });
    expect(await written(event.id)).toBe(1);
  });

  test('are never answered 200 when the commit fails, and the log says why', async () => {
    const { send, log } = processes(async (event, { transaction }) => {
      await transaction.query(write, [event.id]);
      await transaction.query('SELECT 1 / 0').catch(() => {});
    });
    const event = fixtures.transactionPaid();
    expect([await send(event, 0), await written(event.id)]).toEqual([[503, 'STORE_UNAVAILABLE'], 0]);
    expect(log.lines.filter(({ level }) => level === 50)).not.toEqual([]);
  });

  test('are never answered 200 when one of them has ended the transaction', async () => {
    const { send } = processes(async (event, { transaction }) => {
      await transaction.query(write, [event.id]);
      await transaction.query('COMMIT');
    });
    expect(await send(fixtures.transactionPaid(), 0)).toEqual([503, 'STORE_UNAVAILABLE']);
  });
});
