import { describe, expect, jest, test } from '@jest/globals';
import { ConfigurationError, type EventSchemas, type Receiver, receiver } from 'payment-webhooks';
import { z } from 'zod';
import { fixtures } from '../../src/fixtures/fixture.js';
import { KEY, receivable } from '../setup/delivery.js';

const any = z.looseObject({});
const events = {
  'transaction.failed': any,
  'transaction.refund.succeeded': any,
  'transactional.paid': any,
  'refund.succeeded': any,
} satisfies EventSchemas;

const make = () => receiver({ privateKey: KEY, logger: false, events });

/** Registration as a program without types would do it. */
function register(
  call: (hooks: Record<'on' | 'onUnknown' | 'onInvalid', (...given: unknown[]) => unknown>) => unknown,
) {
  return () => call(make() as never);
}

/** The three ways to register a handler. */
const eachWay = (handler: unknown, options?: object) => [
  register((hooks) => hooks.on('*', handler, options)),
  register((hooks) => hooks.onUnknown(handler, options)),
  register((hooks) => hooks.onInvalid(handler, options)),
];

/** Answers of a receiver to one delivery of the event. */
async function post(hooks: Pick<Receiver, 'receive'>, event: unknown) {
  const answer = await hooks.receive(receivable(event));
  return { status: answer.status, ...JSON.parse(answer.body) };
}

describe('a pattern', () => {
  const everyName = ['transaction.paid', ...Object.keys(events)];

  test.each([
    ['transaction.paid', ['transaction.paid']],
    ['transaction.*', ['transaction.paid', 'transaction.failed', 'transaction.refund.succeeded']],
    ['refund.*', ['refund.succeeded']],
    ['*', everyName],
  ] as const)('%s stands for exactly its declared events', async (pattern, expected) => {
    const seen: string[] = [];
    const hooks = make();
    hooks.on(pattern, (event) => seen.push(event.event_name));
    for (const name of everyName) {
      const event = name === 'transaction.paid' ? fixtures.transactionPaid() : fixtures.event(name, {});
      const { outcome } = await post(hooks, event);
      expect(outcome).toBe((expected as readonly string[]).includes(name) ? 'processed' : 'ignored');
    }
    expect(seen).toEqual(expected);
  });

  test('* is not for events that nobody declared', async () => {
    const seen: string[] = [];
    const hooks = make()
      .on('*', () => seen.push('declared'))
      .onUnknown((event) => seen.push(`unknown: ${event.event_name}`));
    expect(await post(hooks, fixtures.event('payout.sent', {}))).toMatchObject({ outcome: 'processed' });
    expect(seen).toEqual(['unknown: payout.sent']);
  });

  test('every handler that matches runs, in the order of registration, however it was registered', async () => {
    const order: string[] = [];
    const hooks = receiver({
      privateKey: KEY,
      logger: false,
      handlers: { '*': () => order.push('option *'), 'transaction.paid': () => order.push('option') },
    });
    hooks.on('transaction.*', () => order.push('resource')).on('transaction.paid', () => order.push('name'));
    await post(hooks, fixtures.transactionPaid());
    expect(order).toEqual(['option *', 'option', 'resource', 'name']);
  });

  test('two patterns that match an event bring it to the handler of each', async () => {
    const [one, other] = [jest.fn(), jest.fn()];
    const hooks = make().on('*', one).on('transaction.paid', other);
    await post(hooks, fixtures.transactionPaid());
    expect([one.mock.calls.length, other.mock.calls.length]).toEqual([1, 1]);
  });

  test.each<[string, (hooks: ReturnType<typeof make>, handler: () => void) => unknown]>([
    [
      'one pattern',
      (hooks, handler) => hooks.on('transaction.paid', handler).on('transaction.paid', handler),
    ],
    ['two patterns', (hooks, handler) => hooks.on('*', handler).on('transaction.*', handler)],
    [
      'two names',
      (hooks, handler) =>
        hooks.on('transaction.paid', handler, { name: 'a' }).on('transaction.paid', handler, { name: 'b' }),
    ],
    ['onUnknown()', (hooks, handler) => hooks.onUnknown(handler).onUnknown(handler)],
    ['onInvalid()', (hooks, handler) => hooks.onInvalid(handler).onInvalid(handler)],
  ])('one function is refused the second time for the same event: %s', (_, registerTwice) => {
    const handler = () => {};
    expect(() => registerTwice(make(), handler)).toThrow(
      'One function is registered twice for the same event',
    );
  });

  test('one function may handle several events, and be what declared and other events share', async () => {
    const handler = jest.fn();
    const hooks = make().on('transaction.paid', handler).onUnknown(handler).onInvalid(handler);
    await post(hooks, fixtures.transactionPaid());
    expect(handler).toHaveBeenCalledTimes(1);
  });

  test.each([
    '(req, res) => res.send()',
    'async (req, res) => { res.sendStatus(200); }',
    'function (request, response) {}',
    'async function hook(_req, res, next) {}',
    '({ on(req, res) {} }).on',
  ])('a function of a request is refused: %s', (text) => {
    const handler = new Function(`return (${text});`)();
    expect(register((hooks) => hooks.on('transaction.paid', handler))).toThrow(
      'on("transaction.paid") was given a function (req, res). Handlers receive (event, context); the receiver answers the request.',
    );
    expect(register((hooks) => hooks.onUnknown(handler))).toThrow(
      'onUnknown() was given a function (req, res)',
    );
  });

  test.each([
    '(event, context) => {}',
    '(request) => {}',
    '(resource, reqId) => {}',
    '({ id }, { log }) => {}',
    'function () { (req, res) => {}; }',
  ])('any other is not: %s', (text) => {
    const handler = new Function(`return (${text});`)();
    expect(register((hooks) => hooks.on('transaction.paid', handler))).not.toThrow();
  });

  test.each([
    ['transaction.payed', 'transaction.paid'],
    ['Transaction.Paid', 'transaction.paid'],
    ['refunds.succeeded', 'refund.succeeded'],
    ['transactions.*', 'transaction.*'],
  ])('%s matches nothing, and %s is suggested', (pattern, meant) => {
    const refused = register((hooks) => hooks.on(pattern, () => {}));
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(`No declared event matches "${pattern}". Did you mean "${meant}"?`);
  });

  test('without a likely slip the declared names are listed, and what else to do', () => {
    const refused = register((hooks) => hooks.on('invoice.opened', () => {}));
    expect(refused).toThrow(
      'No declared event matches "invoice.opened". Declare it under the option events, or use onUnknown(). ' +
        `Declared: ${everyName.join(', ')}.`,
    );
  });

  const unmatched = [
    'constructor.name',
    '__proto__.x',
    'toString.call',
    '*.paid',
    'transaction.**',
    'transaction.p*',
  ];
  test.each(unmatched)('%s matches nothing', (pattern) => {
    expect(register((hooks) => hooks.on(pattern, () => {}))).toThrow('No declared event matches');
  });

  test.each([
    ...['', 'transaction', 'transaction.', '.paid', '.*', '**', ' transaction.paid', 'a b.c', 'ä.ö'],
    ...[null, undefined, 5, 5n, {}, ['*']],
  ])('%p is not a pattern', (pattern) => {
    const refused = register((hooks) => hooks.on(pattern, () => {}));
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow('is not an event name or pattern. Pass <resource>.<action>, <resource>.* or *.');
  });
});

describe('a handler', () => {
  test.each([undefined, null, 'save', 5, {}, Promise.resolve()])('%p is no handler', (handler) => {
    for (const call of eachWay(handler)) {
      expect(call).toThrow(ConfigurationError);
      expect(call).toThrow('Pass a function (event, context) => …');
    }
  });

  test.each([function* handle() {}, async function* handle() {}])(
    'a generator function is refused, because a call would not run it',
    (handler) => {
      for (const call of eachWay(handler)) {
        expect(call).toThrow(ConfigurationError);
        expect(call).toThrow('was given a generator function, which does not run when it is called');
      }
    },
  );

  test.each(['', ' ', 'two words', 'ä', 'x'.repeat(65), 5, null, {}])('the name %p is refused', (name) => {
    for (const call of eachWay(() => {}, { name }))
      expect(call).toThrow('Pass 1 to 64 printable ASCII characters');
  });

  // A slip would run it again on every retry.
  test.each(['nmae', 'Name', 'timeout'])('an option %s is refused', (option) => {
    for (const call of eachWay(() => {}, { [option]: 'receipt' })) {
      expect(call).toThrow(ConfigurationError);
      expect(call).toThrow(`Unknown option "${option}".`);
      expect(call).toThrow('The options are name, serial.');
    }
  });

  test.each(['receipt', null, 5, ['receipt']])('%p instead of its options is refused', (options) => {
    const refused = register((hooks) => hooks.on('*', () => {}, options));
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow("Pass an object such as { name: 'receipt' }");
  });

  test.each([undefined, {}, { name: undefined }])('its options may be %p', (options) => {
    expect(register((hooks) => hooks.on('*', () => {}, options))).not.toThrow();
  });

  test('two of one event cannot have the same name, whatever pattern brings them together', () => {
    const refused = register((hooks) => {
      hooks.on('transaction.*', () => {}, { name: 'receipt' });
      hooks.on('transaction.paid', () => {}, { name: 'receipt' });
    });
    expect(refused).toThrow('Two handlers of one event are named "receipt"');
    expect(
      register((hooks) => {
        hooks.onUnknown(() => {}, { name: 'receipt' });
        hooks.onUnknown(() => {}, { name: 'receipt' });
      }),
    ).toThrow('are named "receipt"');
  });

  test('a refused registration registers it for none of the events', async () => {
    const handler = jest.fn();
    const hooks = make();
    hooks.on('refund.succeeded', () => {}, { name: 'receipt' });
    expect(() => hooks.on('*', handler, { name: 'receipt' })).toThrow('are named');
    await post(hooks, fixtures.transactionPaid());
    expect(handler).not.toHaveBeenCalled();
  });

  test('those of different events may share a name', () => {
    const registered = register((hooks) => {
      hooks.on('transaction.paid', () => {}, { name: 'receipt' });
      hooks.on('refund.succeeded', () => {}, { name: 'receipt' });
      hooks.onUnknown(() => {}, { name: 'receipt' });
      hooks.onInvalid(() => {}, { name: 'receipt' });
    });
    expect(registered).not.toThrow();
  });

  test('each way to register returns the receiver', () => {
    const hooks = make();
    const handler = () => {};
    expect(hooks.on('*', handler)).toBe(hooks);
    expect(hooks.onUnknown(handler)).toBe(hooks);
    expect(hooks.onInvalid(handler)).toBe(hooks);
  });
});

describe('after the first delivery', () => {
  test.each([
    ['on', (hooks: Receiver) => hooks.on('transaction.paid', () => {})],
    ['onUnknown', (hooks: Receiver) => hooks.onUnknown(() => {})],
    ['onInvalid', (hooks: Receiver) => hooks.onInvalid(() => {})],
  ])('%s throws, because a delivery must not depend on when it arrives', async (_call, late) => {
    const hooks = receiver({ privateKey: KEY, logger: false });
    expect(() => late(hooks)).not.toThrow();
    const answered = post(hooks, fixtures.transactionPaid());
    expect(() => late(hooks)).toThrow(ConfigurationError);
    await answered;
    expect(() => late(hooks)).toThrow(
      'was called after the first delivery. Register every handler before listening.',
    );
  });

  test('a stranger who sends rubbish seals it too: nothing of the traffic decides', async () => {
    const hooks = receiver({ privateKey: KEY, logger: false });
    expect((await hooks.receive({ rawBody: '', headers: {} })).status).toBe(401);
    expect(() => hooks.on('*', () => {})).toThrow('after the first delivery');
  });
});
