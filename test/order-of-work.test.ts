import { describe, expect, test } from '@jest/globals';
import { fixtures } from '../src/fixtures/fixture.js';
import { delivery, KEY, SANDBOX_KEY, type SentDelivery } from './setup/delivery.js';
import { frameworks, startEndpoint } from './setup/endpoint.js';
import { faultyStore, rejects } from './setup/faulty-store.js';

const LIMIT = 400;
const large = delivery('x'.repeat(LIMIT + 1), 'pri_other');
const chunked = { 'transfer-encoding': 'chunked' };

/** Each has its own fault, and those of all that come after it. */
const damages: [code: string, sent: SentDelivery][] = [
  ['BODY_ENCODED', withHeaders(large, { 'content-encoding': 'gzip', 'x-service-signature': 'zz' })],
  ['BODY_TOO_LARGE', withHeaders(large, { 'x-service-signature': 'zz' })],
  ['SIGNATURE_MALFORMED', withHeaders(large, { 'x-service-signature': 'zz', ...chunked })],
  ['BODY_TOO_LARGE', withHeaders(large, chunked)],
  ['SIGNATURE_MISMATCH', delivery('no JSON', 'pri_other')],
];

/** Content in the order in which it is looked at. */
const contents: [code: string, content: unknown][] = [
  ['BODY_MALFORMED', Buffer.from([0xff, ...Buffer.from('no JSON')])],
  ['BODY_MALFORMED', 'no JSON'],
  ['EVENT_INVALID', { ...fixtures.transactionPaid(), id: '', payload: {} }],
  ['KEY_MODE_MISMATCH', { ...fixtures.transactionPaid(), payload: {} }],
  ['EVENT_INVALID', { ...fixtures.transactionPaid({ sandbox: true }), payload: {} }],
  ['STORE_UNAVAILABLE', fixtures.transactionPaid({ sandbox: true })],
];

describe.each(frameworks)('the first fault decides the answer, on %s', (framework) => {
  const privateKey = [KEY, SANDBOX_KEY];
  const store = faultyStore({ claim: rejects });

  test.each(damages)('%s', async (code, sent) => {
    const endpoint = await startEndpoint({ privateKey, store, limit: LIMIT }, { framework });
    await endpoint.post(sent);
    expect(endpoint.records).toMatchObject([{ code }]);
  });

  test.each(contents)('%s', async (code, content) => {
    const endpoint = await startEndpoint({ privateKey, store }, { framework });
    await endpoint.post(delivery(content, SANDBOX_KEY));
    expect(endpoint.records).toMatchObject([{ code }]);
  });
});

function withHeaders({ body, headers }: SentDelivery, more: Record<string, string>): SentDelivery {
  return { body, headers: { ...headers, ...more } };
}
