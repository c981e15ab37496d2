// What is learned from payloads that a person can read.
import { describe, expect, test } from '@jest/globals';
import { eventCode, isName } from '../../../../src/tools/cli/learn/proposal.js';
import { eventLearner } from '../../../../src/tools/cli/learn.js';
import { codeFrom, learnedFrom, NAME, runCode } from './learned-code.js';

const UUID = '7b1c1f8e-0d5c-4bb6-9a55-3f6f0b0f3a1';
const TEN = Array.from({ length: 10 }, (_, index) => index);

describe('what is learned from events', () => {
  test('is a schema, a type and a fixture', () => {
    const customer = { email: 'ada@lovelace.example' };
    const refund = { id: 'r-1', amount: 12, customer, lines: [{ sku: 'a' }] };
    const other = { id: 'r-2', amount: '12.00', lines: [{ sku: null }] };
    expect(
      codeFrom({ refund, metadata: [] }, { refund: other, metadata: { gift: true } }),
    ).toBe(`/** Fits the payload of the 2 events that it was learned from. */
export const refundSucceededPayload = z.looseObject({
  refund: z.looseObject({
    id: z.string(),
    amount: z.union([z.string(), z.number()]),
    customer: z.looseObject({
      email: z.string(),
    }).optional(),
    lines: z.array(z.looseObject({
      sku: z.string().nullable(),
    })),
  }),
  // Came as a map and as an empty list.
  metadata: z.union([z.looseObject({
    gift: z.boolean(),
  }), z.array(z.never())]),
});

export type RefundSucceededPayload = {
  refund: {
    id: string;
    amount: string | number;
    customer?: {
      email: string;
    } | undefined;
    lines: Array<{
      sku: string | null;
    }>;
  };
  metadata: {
    gift: boolean;
  } | Array<never>;
};

/** Made up: \`fixtures.event(name, refundSucceededFixture)\` of payment-webhooks/testing makes an event of it. */
export const refundSucceededFixture: RefundSucceededPayload = {
  refund: {
    id: "ref-1001",
    amount: "12.50",
    customer: {
      email: "someone@example.com",
    },
    lines: [{
      sku: "word",
    }],
  },
  metadata: {
    gift: true,
  },
};`);
  });

  test('is loose where nothing was seen: null, and a list, that is all there ever was', () => {
    const { schema } = runCode(learnedFrom(['{"paid_at":null,"tags":[]}']));
    expect(schema.safeParse({ paid_at: '2026-01-31', tags: { a: 1 } }).success).toBe(true);
    expect(schema.safeParse({ tags: [] }).success).toBe(false);
  });

  test.each([
    ['uuids', (n: number) => `${UUID}${n}`],
    ['e-mail addresses', (n: number) => `ada-${n}@lovelace.example`],
    ['numbers', (n: number) => `7${n}`],
    ['dates', (n: number) => `2026-01-1${n}`],
    ['ids', (n: number) => `cus_Nf1R2d3X${n}`],
    ['names of people', (n: number) => `Ada ${n}`],
  ])('shows no key where the keys are %s', (_, key) => {
    const code = codeFrom({ balances: { [key(1)]: 1, [key(2)]: null } }, { balances: { [key(3)]: '2' } });
    expect(code).toContain('// 3 more keys, which may be data.');
    expect(code).toContain('balances: Record<string, unknown>;');
    for (const n of [1, 2, 3]) expect(code).not.toContain(key(n));
  });

  test('shows no key where each object has other keys', () => {
    const words = ['ada', 'bob', 'cleo', 'dan', 'edith', 'fay'];
    const code = codeFrom(...words.map((word) => ({ balances: { [word]: 1 } })));
    expect(code).toContain('// 6 more keys, which may be data.');
    for (const word of words) expect(code).not.toContain(word);
  });

  test('leaves a key out that may be data, and says so', () => {
    const code = codeFrom({ total: 1, currency: 'EUR', [`${UUID}1`]: 1 });
    expect(code).toContain('// 1 more key, which may be data.');
    const rare = codeFrom(...TEN.map((n) => ({ total: n, ...(n === 3 ? { ada_lovelace: true } : {}) })));
    expect(rare).toContain('// 1 more key, which may be data.');
    expect(rare).not.toContain('ada_lovelace');
  });

  test('quotes a key that is not an identifier', () => {
    const code = codeFrom(...TEN.map((n) => ({ 'First name': `${n}`, 'e-mail': '' })));
    expect(code).toContain('"e-mail": string;');
    expect(code).not.toContain('First name');
  });

  test('shows a word only of a choice, and only if it came in five events', () => {
    const payloads = TEN.map((n) => ({
      status: n < 5 ? 'paid' : n < 9 ? 'refused' : 'lost',
      payment_method: 'card',
      last_name: 'lovelace',
      note: 'paid',
    }));
    const code = codeFrom(...payloads);
    expect(code).toContain('status: "paid" | (string & {});');
    expect(code).toContain('payment_method: "card" | (string & {});');
    expect(code).toContain('note: string;');
    for (const word of ['refused', 'lost', 'lovelace']) expect(code).not.toContain(word);
    const { schema, fixture } = runCode(learnedFrom(payloads.map((each) => JSON.stringify(each))));
    expect(fixture).toMatchObject({ status: 'paid', note: 'word' });
    expect(schema.safeParse({ ...(fixture as object), status: 'charged_back' }).success).toBe(true);
  });

  test('shows no word that came five times in one event, or beside a name', () => {
    const lines = TEN.map(() => ({ status: 'paid' }));
    expect(codeFrom({ lines })).not.toContain('"paid"');
    const mixed = TEN.map((n) => ({ status: n === 0 ? 'Ada Lovelace' : 'paid' }));
    expect(codeFrom(...mixed)).not.toContain('"paid"');
  });

  test('counts an event once, however often its body is given', () => {
    const learner = eventLearner();
    for (const n of TEN)
      learner.add({ id: `event-${n % 4}`, event_name: NAME, sandbox: false, payload: { status: 'paid' } });
    const [learned] = learner.learned();
    expect(learned).toMatchObject({ count: 4, proposal: { type: '{\n  status: string;\n}' } });
    expect(learned && eventCode(learned)).not.toContain('"paid"');
  });

  test('ends somewhere: a payload that is very deep, very wide, or has very many places', () => {
    const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
    const wide = JSON.stringify(
      Object.fromEntries(TEN.flatMap((n) => TEN.map((m) => [`k${'ab'.repeat(n + 1)}${'c'.repeat(m)}`, n]))),
    );
    const many = (depth: number): object =>
      Object.fromEntries([...'abcdef'].map((key) => [key, depth === 0 ? 1 : many(depth - 1)]));
    for (const payload of [deep, `{"wide":${wide.slice(0, -1)},"one_more":1}}`, JSON.stringify(many(5))]) {
      const { schema, fixture } = runCode(learnedFrom([payload]));
      expect(schema.safeParse(JSON.parse(payload)).success).toBe(true);
      expect(schema.safeParse(fixture).success).toBe(true);
      expect(JSON.stringify(fixture).length).toBeLessThan(20_000);
    }
  });

  // Merged one after the other these take minutes.
  test('is soon found in a long list in which each object has a key of its own', () => {
    const list = Array.from({ length: 60_000 }, (_, index) => ({ [`k${index}`]: 1 }));
    expect(codeFrom({ list })).toContain('// 60000 more keys, which may be data.');
  });

  test('is named by its event', () => {
    expect(learnedFrom(['{}'], NAME).identifier).toBe('refundSucceeded');
    expect(learnedFrom(['{}'], '3ds.2-done').identifier).toBe('event3ds2Done');
    expect(learnedFrom(['{}'], '*/.;').identifier).toBe('event');
  });
});

const FIELDS = ['order_id', 'customerEmail', 'address2line1', 'x-request-id', 'sha256'];
test.each(FIELDS)('%j names a field', (key) => expect(isName(key)).toBe(true));

const DATA = ['First name', 'größe', '', '12', 'order-4711', 'deadbeef01', 'ada@example', 'x'.repeat(65)];
test.each(DATA)('%j may be data', (key) => expect(isName(key)).toBe(false));
