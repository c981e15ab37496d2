import { describe, expect, test } from '@jest/globals';
import { anyStatus, matches, parseSearch, withStatus } from '../../../../src/tools/simulator-page/search.js';
import { last, row } from './rows.js';

const found = (text: string, fields: Parameters<typeof row>[0]) => matches(parseSearch(text), row(fields));

describe('a search', () => {
  test('that is empty finds every delivery', () => {
    expect(found('  ', {})).toBe(true);
  });

  test('finds a status, or one of several', () => {
    expect(found('status:failed', { status: 'failed' })).toBe(true);
    expect(found('status:failed', { status: 'delivered' })).toBe(false);
    expect(found('status:failed,retrying', { status: 'retrying' })).toBe(true);
    expect(found('status:failed status:retrying', { status: 'retrying' })).toBe(true);
  });

  test('finds an event by its name, by a pattern, and while its resource is being typed', () => {
    expect(found('event:transaction.paid', {})).toBe(true);
    expect(found('event:transaction.*', {})).toBe(true);
    expect(found('event:trans', {})).toBe(true);
    expect(found('event:*', {})).toBe(true);
    expect(found('event:refund.*', {})).toBe(false);
    expect(found('event:transaction.pai', {})).toBe(false);
  });

  test('finds a webhook and a delivery by the beginning of their ids, and a delivery by its event', () => {
    expect(found('webhook:7f1c', { webhook_id: '7f1c22' })).toBe(true);
    expect(found('webhook:7f1d', { webhook_id: '7f1c22' })).toBe(false);
    expect(found('id:ab', { id: 'abc' })).toBe(true);
    expect(found('id:ev', { event_id: 'event-7' })).toBe(true);
    expect(found('id:zz', { id: 'abc' })).toBe(false);
  });

  test('finds a response by its code, by its class, and by the code of an error', () => {
    const refused = { last: last({ status: null, error: 'ECONNREFUSED' }) };
    expect(found('code:503', { last: last({ status: 503 }) })).toBe(true);
    expect(found('code:5xx', { last: last({ status: 503 }) })).toBe(true);
    expect(found('code:4xx', { last: last({ status: 503 }) })).toBe(false);
    expect(found('code:econnrefused', refused)).toBe(true);
    expect(found('code:200', {})).toBe(false);
  });

  test('requires every word, in the ids, the name or the URL, in either case', () => {
    expect(found('PAID hooks', {})).toBe(true);
    expect(found('paid nowhere', {})).toBe(false);
  });

  test('requires every filter', () => {
    expect(found('status:failed event:transaction.*', { status: 'failed' })).toBe(true);
    expect(found('status:failed event:refund.*', { status: 'failed' })).toBe(false);
  });

  test('takes a URL as a word, not as a filter', () => {
    expect(parseSearch('http://127.0.0.1:3000').problems).toEqual([]);
    expect(found('http://127.0.0.1:3000', {})).toBe(true);
  });

  test('says what is unknown, and what to use', () => {
    expect(parseSearch('size:big').problems).toEqual([
      'Unknown filter "size:". Use one of status:, event:, webhook:, id:, code:, payload:.',
    ]);
    expect(parseSearch('status:broken').problems).toEqual([
      'Unknown status "broken". Use one of pending, in_flight, retrying, delivered, failed, cancelled, wrongly_accepted.',
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
    expect(withStatus('event:refund.* status:failed paid', ['delivered'])).toBe(
      'status:delivered event:refund.* paid',
    );
    expect(withStatus('status:failed', [])).toBe('');
    expect(withStatus('', ['pending', 'in_flight'])).toBe('status:pending,in_flight');
  });
});
