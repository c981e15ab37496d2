// Handlers may write on the event they are given: what the receiver knows it by stays as it was signed.
import { describe, expect, test } from '@jest/globals';
import { memoryDeadLetters, type ReceiverOptions } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery, receivable } from '../setup/delivery.js';
import { processed, startReceiver } from '../setup/endpoint.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';
import { gate, until } from '../setup/waiting.js';

const paid = () => fixtures.transactionPaid({ payload: { transaction: { id: 'tx-1' } } });

interface Writable {
  id?: unknown;
  event_name?: unknown;
  sandbox?: unknown;
}

/** As written for a document database, and worse. */
const WAYS: readonly (readonly [name: string, change: (event: Writable) => void])[] = [
  ['takes the id off', (event) => void delete event.id],
  ['sets another id', (event) => Object.assign(event, { id: 'tx-1' })],
  ['sets an id that is no text', (event) => Object.assign(event, { id: 7, event_name: null })],
  ['turns it into an event of the sandbox', (event) => Object.assign(event, { sandbox: true })],
];

describe.each(WAYS)('a handler that %s', (_name, change) => {
  const start = (options: ReceiverOptions, isDown: () => boolean) => {
    const handler = (event: object) => {
      change(event as Writable);
      if (isDown()) throw new Error('down');
    };
    return startReceiver({ handlers: { '*': handler }, ...options });
  };

  test('and succeeds is answered 200, once, and recorded under the names that were signed', async () => {
    const { answers, records, log } = start({}, () => false);
    const event = paid();
    expect(await answers(event, event)).toEqual(['200 processed', '200 duplicate']);
    const names = { eventId: event.id, eventName: 'transaction.paid', sandbox: false };
    expect(records).toMatchObject([names, names]);
    expect(log.lines).toMatchObject([names, names]);
  });

  test.each([false, true])(
    'and fails leaves each event a dead letter of its own, journal: %s',
    async (journal) => {
      let down = true;
      const { hooks, post, letters } = start({ deadLetters: memoryDeadLetters(), journal }, () => down);
      const events = [paid(), paid()] as const;
      for (const event of events) expect(await post(delivery(event))).toMatchObject({ status: 500 });
      const ids = async () => (await letters()).map(({ eventId }) => eventId);
      expect(await ids()).toEqual(expect.arrayContaining(events.map(({ id }) => id)));
      down = false;
      expect(await post(delivery(events[1]))).toMatchObject({ status: 200 });
      expect(await ids()).toEqual([events[0].id]);
      expect(await hooks.deadLetters?.replay()).toMatchObject({ processed: 1, failed: 0 });
    },
  );
});

test('a serial function that sets another id changes nothing of what the event is remembered as', async () => {
  const { hooks, post } = startReceiver({ handlers: {} });
  const attempts: number[] = [];
  hooks.on('*', (_event, { attempt }) => void attempts.push(attempt), {
    serial: (event) => {
      Object.assign(event, { id: 'tx-1' });
      return 'one';
    },
  });
  for (const event of [paid(), paid()]) expect(await post(delivery(event))).toMatchObject(processed);
  expect(attempts).toEqual([1, 1]);
});

describe('the bytes of a delivery with dead letters', () => {
  const receiverOf = (handler: (context: { readonly rawBody: Buffer }) => unknown) => {
    const { hooks } = startReceiver({ deadLetters: memoryDeadLetters(), handlers: {} });
    for (const name of ['first', 'second', 'third'])
      hooks.on('*', (_event, given) => handler(given), { name });
    return hooks;
  };

  test('are copied once for all handlers, and kept as they were signed', async () => {
    const seen: Buffer[] = [];
    const hooks = receiverOf((context) => {
      const copied = { ...context };
      seen.push(context.rawBody, copied.rawBody);
      context.rawBody.fill(0);
      throw new Error('down');
    });
    const { body, headers } = delivery(paid());
    const received = Buffer.from(body);
    expect(await hooks.receive({ rawBody: received, headers })).toMatchObject({ status: 500 });
    expect(new Set(seen).size).toBe(1);
    expect(seen[0]).toEqual(Buffer.alloc(body.length));
    const [letter] = await lettersOf(hooks);
    const content = await hooks.deadLetters?.read(letter?.id ?? '');
    expect(content).toMatchObject({ status: 'found', rawBody: body });
    expect(received).toEqual(body);
  });

  test.each([
    ['are not copied while no handler asks for them', () => {}, 0.5],
    ['are copied once when every handler asks', ({ rawBody }: { rawBody: Buffer }) => void rawBody, 1.5],
  ])('%s', async (_name, look, most) => {
    const work = gate();
    const held: object[] = [];
    const hooks = receiverOf((context) => {
      look(context as { rawBody: Buffer });
      held.push(context);
      return work.opened;
    });
    const sent = Array.from({ length: 40 }, () => receivable({ ...paid(), note: 'x'.repeat(200_000) }));
    const bytes = sent.reduce((sum, { rawBody }) => sum + rawBody.length, 0);
    const before = process.memoryUsage().arrayBuffers;
    const answers = sent.map((given) => hooks.receive(given));
    await until(() => held.length === 3 * sent.length);
    const copied = process.memoryUsage().arrayBuffers - before;
    work.open();
    await Promise.all(answers);
    expect(copied / bytes).toBeLessThan(most);
  });
});
