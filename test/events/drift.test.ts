// One field of the documented sample is another than documented: what is answered, and what the handler is given.
import { describe, expect, test } from '@jest/globals';
import { type Handler, memoryDeadLetters, type ReceiverOptions } from 'payment-webhooks';
import { fixtures } from '../../src/fixtures/fixture.js';
import { delivery } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { lettersOf } from '../setup/faulty-dead-letters.js';

interface Deviation {
  readonly what: string;
  /** From the root of the payload. */
  readonly path: readonly string[];
  /** What comes there; `undefined`: nothing. */
  readonly came: unknown;
  /** What the handler reads there when the event fits: what came, where this is left out. */
  readonly read?: unknown;
  /** What was expected there, when the event does not fit. */
  readonly expected?: RegExp;
}

const FITS: readonly Deviation[] = [
  { what: "PHP's [] for empty metadata", path: ['metadata'], came: [], read: {} },
  { what: "PHP's [] for an empty card", path: ['payment_method', 'card'], came: [], read: {} },
  { what: 'null for the customer', path: ['customer'], came: null },
  { what: 'no phone of the customer', path: ['customer', 'phone'], came: undefined },
  { what: 'null for the name of the customer', path: ['customer', 'name'], came: null },
  { what: 'no token', path: ['token'], came: undefined },
  { what: 'null for the card of a bank transfer', path: ['payment_method', 'card'], came: null },
  { what: 'no base amount', path: ['transaction', 'base_amount'], came: undefined },
  { what: 'a field that is not documented', path: ['transaction', 'installments'], came: 3 },
  { what: 'a status that is not documented', path: ['transaction', 'status'], came: 42 },
  { what: 'a number in metadata', path: ['metadata', 'cart.id'], came: 1042 },
  {
    what: 'a key that could replace a prototype',
    path: ['metadata'],
    came: JSON.parse('{"type":"order","__proto__":{"polluted":true}}'),
    read: { type: 'order' },
  },
  { what: 'a country that is not on any list', path: ['customer', 'country_code'], came: 'XK' },
];

const DOES_NOT_FIT: readonly Deviation[] = [
  {
    what: 'a number for the amount',
    path: ['transaction', 'amount'],
    came: 149.9,
    expected: /expected string/,
  },
  { what: 'text for the status', path: ['transaction', 'status'], came: '1', expected: /expected number/ },
];

/** The documented sample with that one deviation. */
function deviating({ path, came }: Deviation) {
  const event = fixtures.transactionPaid();
  const owner = read(event.payload, path.slice(0, -1)) as Record<string, unknown>;
  const field = path.at(-1) ?? '';
  if (came === undefined) delete owner[field];
  else owner[field] = came;
  return event;
}

function read(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  return read((value as Record<string, unknown> | null | undefined)?.[key], rest);
}

/** What is answered to the deviation, and what the handler has seen. */
async function deliver(deviation: Deviation, options: ReceiverOptions) {
  const seen: { payload: unknown; issues: unknown; rawBody: string }[] = [];
  const event = deviating(deviation);
  const handler: Handler = ({ payload }, { issues, rawBody }) =>
    void seen.push({ payload, issues, rawBody: rawBody.toString() });
  const endpoint = await startEndpoint(
    { ...options, handlers: { '*': handler } },
    { framework: 'node:http' },
  );
  const sent = delivery(event);
  const { status, body } = await endpoint.post(sent);
  return { ...endpoint, event, sent, seen, status, body };
}

const RECEIVERS = {
  'without dead letters': () => ({}),
  'with dead letters': () => ({ deadLetters: memoryDeadLetters() }),
  "with drift: 'handle'": () => ({ drift: 'handle' }),
  "with dead letters and drift: 'handle'": () => ({ deadLetters: memoryDeadLetters(), drift: 'handle' }),
} as const satisfies Record<string, () => ReceiverOptions>;

describe.each(Object.entries(RECEIVERS))('a receiver %s', (_, options) => {
  test.each(FITS.map((deviation) => [deviation.what, deviation] as const))(
    'processes an event with %s, and changes nothing else of it',
    async (_, deviation) => {
      const { path, came, read: expected = came } = deviation;
      const { status, body, seen, event, sent, records, log } = await deliver(deviation, options());
      expect({ status, body }).toEqual({ status: 200, body: { received: true, outcome: 'processed' } });
      const { payload } = deviating({ ...deviation, came: expected });
      expect(seen).toStrictEqual([{ payload, issues: undefined, rawBody: sent.body.toString() }]);
      expect(read(seen[0]?.payload, path)).toEqual(expected);
      expect(sent.body.toString()).toBe(JSON.stringify(event));
      expect(records[0]).not.toHaveProperty('issues');
      const lines = log.lines.filter(({ msg }) => msg === 'delivery');
      expect(lines).toMatchObject([{ level: 30, outcome: 'processed' }]);
      expect(lines[0]).not.toHaveProperty('issues');
    },
  );
});

describe.each(DOES_NOT_FIT.map((deviation) => [deviation.what, deviation] as const))('%s', (_, deviation) => {
  const path = `payload.${deviation.path.join('.')}`;
  const issues = [{ path, message: expect.stringMatching(deviation.expected ?? /./) }];

  test('is answered 422 without dead letters', async () => {
    const { status, body, seen } = await deliver(deviation, {});
    expect({ status, body }).toMatchObject({ status: 422, body: { code: 'EVENT_INVALID', issues } });
    expect(seen).toEqual([]);
  });

  test('is kept with dead letters', async () => {
    const { hooks, status, body, seen, records, log } = await deliver(deviation, {
      deadLetters: memoryDeadLetters(),
    });
    expect({ status, body }).toEqual({ status: 200, body: { received: true, outcome: 'kept' } });
    expect(seen).toEqual([]);
    expect(await lettersOf(hooks)).toMatchObject([{ reason: 'invalid', issues }]);
    expect(records).toMatchObject([{ outcome: 'kept', issues }]);
    expect(log.lines).toMatchObject([{ level: 50, outcome: 'kept', issues }]);
  });

  test.each([
    ['without dead letters', {}],
    ['with dead letters', { deadLetters: memoryDeadLetters() }],
  ])("is handled as it came with drift: 'handle', %s", async (_, options) => {
    const { status, body, seen, event, sent, records, log } = await deliver(deviation, {
      ...options,
      drift: 'handle',
    });
    expect({ status, body }).toEqual({ status: 200, body: { received: true, outcome: 'processed' } });
    expect(seen).toEqual([{ payload: event.payload, issues, rawBody: sent.body.toString() }]);
    expect(records).toMatchObject([{ outcome: 'processed', issues }]);
    expect(log.lines).toMatchObject([{ level: 40, outcome: 'processed', issues }]);
  });
});
