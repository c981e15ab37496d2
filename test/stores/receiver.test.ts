// Handlers in one transaction with their event: what they write is there exactly when the answer is 200.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { receiver } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { captureLog } from '../setup/captured-log.js';
import { KEY, receivable } from '../setup/delivery.js';
import { needing } from '../setup/platform.js';
import { type Given, madeLater, type PostgresWorld, paid, pay, postgresWorld, type Send } from './worlds.js';

const connectionString = process.env.TEST_POSTGRES_URL ?? '';

needing('postgres').describe('handlers in one transaction with the event', () => {
  let made: PostgresWorld | undefined;
  const world = madeLater(() => made);
  beforeAll(async () => {
    made = await postgresWorld('postgresStore', connectionString);
  });
  afterAll(() => made?.close());

  /** Two processes, as far as the store can tell. */
  function processes(handle: (send: Send, id: string) => Promise<unknown>) {
    const log = captureLog();
    const receivers = [world.open(), world.open()].map(({ store }) =>
      receiver<{}, Given>({ privateKey: KEY, store, logger: log.logger }).on(
        'transaction.paid',
        async ({ id }, { transaction }) => void (await handle(world.sending(transaction), id)),
      ),
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
    const { send } = processes(async (sql, id) => {
      await pay(world, sql, id);
      if (fails) throw new Error('not now');
    });
    const event = fixtures.transactionPaid();
    expect([await send(event, 0), await paid(world, event.id)]).toEqual([[500, 'HANDLER_FAILED'], 0]);
    fails = false;
    expect([await send(event, 0), await paid(world, event.id)]).toEqual([[200, 'processed'], 1]);
    expect([await send(event, 1), await paid(world, event.id)]).toEqual([[200, 'duplicate'], 1]);
  });

  test('undo nothing of one another with savepoints when they take turns', async () => {
    const serial = ({ id }: { readonly id: string }) => id;
    const hooks = receiver<{}, Given>({ privateKey: KEY, store: world.open().store, logger: false });
    hooks
      .on(
        '*',
        async (_event, { transaction }) => {
          const send = world.sending(transaction);
          await send('SAVEPOINT mine');
          await send('SELECT 1 / 0').catch(() => {});
          await send('ROLLBACK TO SAVEPOINT mine');
        },
        { serial },
      )
      .on('*', async ({ id }, { transaction }) => void (await pay(world, world.sending(transaction), id)), {
        serial,
      });
    const event = fixtures.transactionPaid();
    expect(await hooks.receive(receivable(event))).toMatchObject({ status: 200 });
    expect(await paid(world, event.id)).toBe(1);
  });

  test('are never answered 200 when the commit fails, and the log says why', async () => {
    const { send, log } = processes(async (sql, id) => {
      await pay(world, sql, id);
      await sql('SELECT 1 / 0').catch(() => {});
    });
    const event = fixtures.transactionPaid();
    expect([await send(event, 0), await paid(world, event.id)]).toEqual([[503, 'STORE_UNAVAILABLE'], 0]);
    expect(log.lines.filter(({ level }) => level === 50)).not.toEqual([]);
  });

  test('are never answered 200 when one of them has ended the transaction', async () => {
    const { send } = processes(async (sql, id) => {
      await pay(world, sql, id);
      await sql('COMMIT');
    });
    expect(await send(fixtures.transactionPaid(), 0)).toEqual([503, 'STORE_UNAVAILABLE']);
  });
});
