import { describe, expect, test } from '@jest/globals';
import { addedFields, eventChanges } from '../../../src/tools/cli/trigger.js';

const changes = (sets: readonly string[], data?: string) => eventChanges('transaction.paid', data, sets);

describe('--set', () => {
  test.each<[string, object]>([
    ['sandbox:=true', { sandbox: true }],
    ['payload.flag=true', { payload: { flag: 'true' } }],
    ['payload.transaction.amount=12.50', { payload: { transaction: { amount: '12.50' } } }],
    ['payload.transaction.status:=2', { payload: { transaction: { status: 2 } } }],
    ['payload.customer.name=', { payload: { customer: { name: '' } } }],
    ['payload.note=a=b:=c', { payload: { note: 'a=b:=c' } }],
    ['payload.metadata.cart\\.id=7', { payload: { metadata: { 'cart.id': '7' } } }],
    ['payload.tags:=["a"]', { payload: { tags: ['a'] } }],
    ['payload.customer:=null', { payload: { customer: null } }],
  ])('%s', (text, overrides) => {
    expect(changes([text])).toEqual({ overrides });
  });

  test('several meet in one event, also inside of JSON that was set before', () => {
    const { overrides } = changes(['payload.a:={"b":1}', 'payload.a.c=2', 'id=evt-1']);
    expect(overrides).toEqual({ id: 'evt-1', payload: { a: { b: 1, c: '2' } } });
  });

  test('null that was set before may get fields, whatever the sample has there', () => {
    const { overrides } = changes(['payload.transaction.amount:=null', 'payload.transaction.amount.x=1']);
    expect(overrides).toEqual({ payload: { transaction: { amount: { x: '1' } } } });
  });

  test('names like __proto__ are names, and change no prototype', () => {
    const { overrides } = changes(['payload.__proto__.polluted=yes', 'payload.constructor.prototype.x=1']);
    const json = '{"payload":{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"x":"1"}}}}';
    expect(JSON.stringify(overrides)).toBe(json);
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    expect(({} as { x?: string }).x).toBeUndefined();
  });

  test.each<[string[], string]>([
    [['payload'], '--set payload is invalid. Pass one like payload.transaction.amount=12.50.'],
    [['=1'], '--set =1 is invalid'],
    [['transaction.amount=1'], 'Did you mean "payload.transaction.amount"?'],
    [['amount=1'], 'Did you mean "payload.transaction.amount"?'],
    [['note=1'], 'Did you mean "payload.note"?'],
    [['paylod.a=1'], 'Did you mean "payload"?'],
    [['event_name=a.b'], 'id, sandbox or payload'],
    [['sandbox=true'], '--set sandbox:=true'],
    [['payload=x'], '--set payload is not valid'],
    [['payload.a:=abc'], 'For text, use --set payload.a='],
    [['payload.a=1', 'payload.a.b=2'], '--set payload.a.b: payload.a is text and has no fields.'],
    [['payload.transaction.amount.x=1'], 'payload.transaction.amount is text and has no fields.'],
    [['payload.transaction.amount.x.y=1'], 'payload.transaction.amount is text and has no fields.'],
    [['payload.transaction.status.x=1'], 'payload.transaction.status is a number and has no fields.'],
    [
      ['payload.payment_method.card.is_3d_secure.x=1'],
      'payload.payment_method.card.is_3d_secure is true or false and has no fields.',
    ],
    [
      ['payload.transaction.currency=EUR', 'payload.transaction.amount.x=1'],
      'payload.transaction.amount is text and has no fields.',
    ],
    [['id.x=1'], 'id is text and has no fields.'],
    [['sandbox.x=1'], 'sandbox is true or false and has no fields.'],
    [['payload.a:=[1]', 'payload.a.0=2'], 'payload.a is a list and has no fields.'],
  ])('%j is refused', (sets, message) => {
    expect(() => changes(sets)).toThrow(message);
  });
});

describe('--data', () => {
  test('is a payload, which replaces that of the sample', () => {
    const changed = changes(['payload.b=2'], '\ufeff{"a":1}');
    expect(changed).toEqual({ payload: { a: 1 }, overrides: { payload: { b: '2' } } });
  });

  test('decides what has fields, and not the sample', () => {
    const text = () => changes(['payload.note.x=1'], '{"note":"a"}');
    expect(text).toThrow('payload.note is text and has no fields.');
    const map = changes(['payload.transaction.amount.x=1'], '{"transaction":{"amount":{}}}');
    expect(map.overrides).toEqual({ payload: { transaction: { amount: { x: '1' } } } });
    const none = changes(['payload.refund.id=1'], '{"refund":null}');
    expect(none.overrides).toEqual({ payload: { refund: { id: '1' } } });
  });

  test('is a whole event when it has a name', () => {
    const event = '{"id":"evt-1","event_name":"transaction.paid","sandbox":true,"payload":{"a":1},"more":[]}';
    const overrides = { id: 'evt-1', sandbox: true, more: [] };
    expect(changes([], event)).toEqual({ payload: { a: 1 }, overrides });
  });

  test.each<[string, string]>([
    ['{', '--data is not JSON. To read a file, give --data @FILE.'],
    ['[]', '--data is not a JSON object.'],
    ['{"event_name":"refund.succeeded","payload":{}}', '--data is an event "refund.succeeded"'],
    ['{"event_name":"transaction.paid"}', 'The payload in --data is not a JSON object.'],
    ['{"event_name":"transaction.paid","id":7,"payload":{}}', 'The id in --data is not valid'],
  ])('%s is refused', (text, message) => {
    expect(() => changes([], text)).toThrow(message);
  });
});

describe('a field that the sample does not have', () => {
  const warnings = (set: string, data?: string) => addedFields('transaction.paid', data, [set]);

  test.each([
    ['payload.transaction.amuont=1', 'payload.transaction.amount'],
    ['payload.amount=1', 'payload.transaction.amount'],
    ['payload.customers.name=Ada', 'payload.customer.name'],
    ['payload.payment_method.card.brnad:="VISA"', 'payload.payment_method.card.brand'],
  ])('%s is sent with a warning that names the nearest one', (set, near) => {
    const [path] = set.split(/:?=/);
    expect(warnings(set)).toEqual([
      `--set ${path} adds a field that the sample does not have. Did you mean "${near}"?`,
    ]);
    expect(changes([set]).overrides).toMatchObject({ payload: {} });
  });

  test('is named without a suggestion if none is near', () => {
    expect(warnings('payload.zzzzzzzz=1')).toEqual([
      '--set payload.zzzzzzzz adds a field that the sample does not have.',
    ]);
  });

  test.each([
    'payload.transaction.amount=1',
    'payload.metadata.coupon=x',
    'payload.metadata.cart\\.id=7',
    'id=e',
  ])('%s is one of the sample, or of a map with any keys', (set) => {
    expect(warnings(set)).toEqual([]);
  });

  test('is one of what --data has, and nothing is known of an event without a sample', () => {
    const data = '{"refund":{"amount":"1"}}';
    expect(warnings('payload.refund.amount=2', data)).toEqual([]);
    expect(warnings('payload.refund.amuont=2', data)).toHaveLength(1);
    expect(addedFields('refund.succeeded', undefined, ['payload.anything=1'])).toEqual([]);
  });
});
