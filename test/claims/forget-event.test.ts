// hooks.forget(): an event runs again, in every store; nothing is forgotten while it is in progress or the store is down.
import { describe, expect, test } from '@jest/globals';
import { type IdempotencyStore, memoryStore, receiver } from 'payment-webhooks';
import { deliver, fakeOnce, fixtures } from 'payment-webhooks/testing';
import { captureLog } from '../setup/captured-log.js';

const privateKey = 'pri_forget';

describe('hooks.forget()', () => {
  test('lets an event and its writes run again, and says what it has forgotten', async () => {
    const ledger: string[] = [];
    const log = captureLog();
    const hooks = receiver({ privateKey, logger: log.logger, store: fakeOnce(ledger) });
    hooks.on('transaction.paid', (event, { once }) => once((db) => db.push(event.id)), { name: 'pay' });
    const event = fixtures.transactionPaid();
    const send = async () => (await deliver(hooks, event, { privateKey })).body;
    await send();
    expect(await send()).toMatchObject({ outcome: 'duplicate' });
    expect(await hooks.forget({ id: event.id })).toEqual({ status: 'forgotten', handlers: ['pay'] });
    expect(await send()).toMatchObject({ outcome: 'processed' });
    expect(ledger).toEqual([event.id, event.id]);
    expect(log.lines.find(({ msg }) => String(msg).startsWith('an event was forgotten'))).toMatchObject({
      eventId: event.id,
      handlers: ['pay'],
      sandbox: false,
    });
  });

  test('keeps live and sandbox events apart, and knows no other', async () => {
    const hooks = receiver({
      privateKey,
      logger: false,
      sandbox: 'accept',
      handlers: { 'transaction.paid': () => {} },
    });
    const event = fixtures.transactionPaid({ sandbox: true });
    await deliver(hooks, event, { privateKey });
    expect(await hooks.forget({ id: event.id })).toEqual({ status: 'unknown' });
    expect(await hooks.forget({ id: event.id, sandbox: true })).toEqual({
      status: 'forgotten',
      handlers: [],
    });
  });

  test('refuses while a handler works on the event', async () => {
    let end = () => {};
    const working = new Promise<void>((resolve) => {
      end = resolve;
    });
    const hooks = receiver({ privateKey, logger: false, handlers: { 'transaction.paid': () => working } });
    const event = fixtures.transactionPaid();
    const answer = deliver(hooks, event, { privateKey });
    let result = await hooks.forget({ id: event.id });
    for (; result.status === 'unknown'; result = await hooks.forget({ id: event.id }))
      await new Promise((resolve) => setImmediate(resolve));
    expect(result.status).toBe('in_progress');
    end();
    expect((await answer).status).toBe(200);
  });

  test('rejects what is no event, and a receiver that cannot forget', async () => {
    const hooks = receiver({ privateKey, logger: false });
    await expect(hooks.forget({ id: '' })).rejects.toThrow('id is "". Pass the id of an event');
    await expect(hooks.forget({ id: 'a', sandbox: 'yes' as never })).rejects.toThrow('sandbox is "yes"');
    const store: IdempotencyStore = { claim: (...given) => memoryStore().claim(...given) };
    for (const unable of [
      receiver({ privateKey, logger: false, store: false }),
      receiver({ privateKey, logger: false, store }),
    ])
      await expect(unable.forget({ id: 'a' })).rejects.toThrow('needs a store that has forget()');
  });

  test('rejects when the store is down, or answers what nobody understands', async () => {
    const down = (forget: IdempotencyStore['forget']) =>
      receiver({
        privateKey,
        logger: false,
        store: { ...memoryStore(), claim: () => Promise.reject(), forget } as never,
      });
    const thrown = down(() => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' })));
    await expect(thrown.forget({ id: 'a' })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await expect(down(() => ({}) as never).forget({ id: 'a' })).rejects.toThrow('unknown status');
  });
});
