// `events forget` against a receiver and its real page.
import { describe, expect, test } from '@jest/globals';
import type { ReceiverOptions } from 'payment-webhooks';
import { fakeOnce } from 'payment-webhooks/testing';
import { fixtures } from '../../../src/fixtures/fixture.js';
import { receivable } from '../../setup/delivery.js';
import { gate, until } from '../../setup/waiting.js';
import { pageWorld } from '../letters/page-world.js';
import { fileWith } from './files.js';
import { failed, jsonLines, runCli, type Setting } from './run-cli.js';

const token = fileWith('good\n');

/** An app whose handler writes inside once, and the command line for its page. */
async function world(options: ReceiverOptions = {}) {
  const ledger: string[] = [];
  const page = await pageWorld({ receiver: { store: fakeOnce(ledger) as never, ...options } });
  const forget = (words: readonly string[], setting?: Setting) =>
    runCli(
      ['events', 'forget', ...words, '--page', `http://127.0.0.1:${page.port}/ops`, '--token-file', token],
      setting,
    );
  const send = async (event: object) => (await page.hooks.receive(receivable(event))).body;
  return { ...page, ledger, forget, send };
}

describe('events forget', () => {
  test('lets an event run again, and says what it deleted and who asked', async () => {
    const { hooks, ledger, forget, send, log } = await world();
    hooks.on(
      'transaction.paid',
      (event, context) => (context as unknown as Once).once((lines) => lines.push(event.id)),
      { name: 'pay' },
    );
    const event = fixtures.transactionPaid();
    await send(event);
    expect(await forget([event.id, '--yes'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Deleted what once had noted of these handlers: pay.'),
    });
    expect(await send(event)).toContain('processed');
    expect(ledger).toEqual([event.id, event.id]);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ user: 'ada', eventId: event.id, handlers: ['pay'] }),
    );
    expect(jsonLines(await forget([event.id, '--yes', '--json']))).toEqual([
      { id: event.id, sandbox: false, handlers: ['pay'] },
    ]);
  });

  test('asks first, and changes nothing without a yes', async () => {
    const { forget, send } = await world({ handlers: { '*': () => {} } });
    const event = fixtures.transactionPaid();
    await send(event);
    expect(await forget([event.id])).toEqual(failed(2, 'give --yes to confirm'));
    const answered = await forget([event.id], { tty: true, stdin: 'n\n' });
    expect(answered).toMatchObject({ code: 2, stderr: expect.stringContaining('run a second time. [y/N]') });
    expect(await send(event)).toContain('duplicate');
    expect(await forget([event.id], { tty: true, stdin: 'y\n' })).toMatchObject({ code: 0 });
    expect(await send(event)).toContain('processed');
  });

  test('refuses an event in progress, an unknown one, and the sandbox event of the same id', async () => {
    const working = gate();
    const { forget, hooks, send } = await world({ handlers: { '*': () => working.opened } });
    const event = fixtures.transactionPaid();
    const answer = send(event);
    await until(() => hooks.inFlight === 1);
    await until(async () => (await forget([event.id, '--yes'])).stderr.includes('is in progress'));
    expect(await forget([event.id, '--sandbox', '--yes'])).toEqual(failed(1, 'does not remember this event'));
    expect(await forget(['nobody', '--yes'])).toEqual(failed(1, 'does not remember this event'));
    working.open();
    expect(await answer).toContain('processed');
  });
});

interface Once {
  once(work: (lines: string[]) => unknown): unknown;
}
