import { describe, expect, test } from '@jest/globals';
import { anyStatus, matches, parseSearch, withStatus } from '../../../../src/tools/simulator/page/search.js';
import { last, row } from './rows.js';

const found = (text: string, fields: Parameters<typeof row>[0]) => matches(parseSearch(text), row(fields));

describe('a search', () => {
  // A delivery of transaction.paid to http://127.0.0.1:3000/hooks, but for the given fields.
  test.each<[string, Parameters<typeof row>[0], boolean]>([
    ['  ', {}, true],
    ['status:failed', { status: 'failed' }, true],
    ['status:failed', { status: 'delivered' }, false],
    ['status:failed,retrying', { status: 'retrying' }, true],
    ['status:failed status:retrying', { status: 'retrying' }, true],
    ['event:transaction.paid', {}, true],
    ['event:transaction.*', {}, true],
    // While the resource is being typed.
    ['event:trans', {}, true],
    ['event:*', {}, true],
    ['event:refund.*', {}, false],
    ['event:transaction.pai', {}, false],
    // The beginning of an id.
    ['webhook:7f1c', { webhook_id: '7f1c22' }, true],
    ['webhook:7f1d', { webhook_id: '7f1c22' }, false],
    ['id:ab', { id: 'abc' }, true],
    ['id:ev', { event_id: 'event-7' }, true],
    ['id:zz', { id: 'abc' }, false],
    ['code:503', { last: last({ status: 503 }) }, true],
    ['code:5xx', { last: last({ status: 503 }) }, true],
    ['code:4xx', { last: last({ status: 503 }) }, false],
    ['code:econnrefused', { last: last({ status: null, error: 'ECONNREFUSED' }) }, true],
    ['code:200', {}, false],
    // Every word and every filter, in either case.
    ['PAID hooks', {}, true],
    ['paid nowhere', {}, false],
    ['status:failed event:transaction.*', { status: 'failed' }, true],
    ['status:failed event:refund.*', { status: 'failed' }, false],
    // A URL is a word, not a filter.
    ['http://127.0.0.1:3000', {}, true],
  ])('for %j finds %j: %j', (text, fields, isFound) => {
    expect(found(text, fields)).toBe(isFound);
    expect(parseSearch(text).problems).toEqual([]);
  });

  test('says what is unknown, and what to use', () => {
    expect(parseSearch('size:big').problems).toEqual([
      'Unknown filter "size:". Use one of status:, event:, webhook:, id:, code:, payload:.',
    ]);
    expect(parseSearch('status:broken').problems).toEqual([
      'Unknown status "broken". Use one of pending, in_flight, retrying, delivered, failed, cancelled, wrongly_accepted, ignored, kept.',
    ]);
    expect(parseSearch('__proto__:1').problems).toEqual([]);
  });

  test('accepts a status that is still being typed', () => {
    expect(parseSearch('status:').problems).toEqual([]);
    expect(parseSearch('status:fai').problems).toEqual([]);
    expect(found('status:fai', { status: 'delivered' })).toBe(true);
  });

  test('without its status keeps the rest', () => {
    const search = anyStatus(parseSearch('status:failed event:refund.* paid'));
    expect(matches(search, row({ event_name: 'refund.paid', status: 'delivered' }))).toBe(true);
    expect(matches(search, row({ event_name: 'transaction.paid', status: 'failed' }))).toBe(false);
  });

  test('takes another status without losing the rest', () => {
    const search = withStatus('event:refund.* status:failed paid', ['delivered']);
    expect(search).toBe('status:delivered event:refund.* paid');
    expect(withStatus('status:failed', [])).toBe('');
    expect(withStatus('', ['pending', 'in_flight'])).toBe('status:pending,in_flight');
  });
});
