// The module of docs/observability.md for Sentry: the real SDK, whose reports go to a server of this test.
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fileIn } from '../setup/markdown.js';
import { freePort } from '../setup/ports.js';
import { ROOT } from '../setup/shell.js';
import { type Consumer, consumer } from './consumer.js';

const APP = `
import * as Sentry from '@sentry/node';
import express from 'express';
import { RetryAfterError, receiver } from 'payment-webhooks';
import { deliver, fixtures } from 'payment-webhooks/testing';
import { observer } from './errors.mjs';

const keys = { privateKey: 'pri_reported' };
const hooks = receiver({ ...keys, observer, logger: false });
hooks.on('transaction.paid', function book({ payload }) {
  if (payload.transaction.order_id === 'fails') throw new Error('The ledger is down.');
  if (payload.transaction.order_id === 'waits') throw new RetryAfterError('30s');
});
const app = express();
app.post('/hooks', hooks);
for (const order_id of ['works', 'fails', 'waits']) {
  const event = fixtures.transactionPaid({ id: 'of-' + order_id, payload: { transaction: { order_id } } });
  console.log((await deliver(app, event, { ...keys, path: '/hooks' })).status);
}
await Sentry.flush(10_000);
`;

const envelopes: string[] = [];
const sentry = createServer(async (request, response) => {
  envelopes.push(String(await buffer(request)));
  response.end('{}');
});

let project: Consumer;
let port: number;

beforeAll(async () => {
  project = await consumer('sentry', ['@sentry/node@11', 'express']);
  port = await freePort();
  await new Promise<void>((resolve) => sentry.listen(port, '127.0.0.1', resolve));
}, 240_000);

afterAll(() => void sentry.close());

/** What Sentry got of one type; an envelope is a line of JSON for itself, and two for each item. */
function reports(type: string) {
  return envelopes.flatMap((envelope) => {
    const [, ...items] = envelope.trim().split('\n');
    return items.flatMap((item, index) =>
      index % 2 === 1 && JSON.parse(items[index - 1] ?? '').type === type ? [JSON.parse(item)] : [],
    );
  });
}

test('Sentry gets what a handler threw, with its event and handler, and neither body nor signature', async () => {
  project.write('errors.mjs', fileIn(join(ROOT, 'docs/observability.md'), 'errors.mjs'));
  project.write('app.mjs', APP);
  const settings = `SENTRY_DSN=http://key@127.0.0.1:${port}/1 SENTRY_TRACES_SAMPLE_RATE=1`;
  const { code, stdout } = await project.shell(`${settings} node --import ./errors.mjs app.mjs`);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '200\n500\n503\n' });

  expect(reports('event')).toMatchObject([
    {
      exception: { values: [{ type: 'Error', value: 'The ledger is down.' }] },
      extra: { eventId: 'of-fails', eventName: 'transaction.paid', handler: 'book', attempt: 1 },
    },
  ]);
  // With tracing, each request is a span with its headers.
  const all = envelopes.join('\n');
  expect(all.match(/"http.request.header.x-service-signature":[^}]*}/g)).toEqual(
    Array(3).fill('"http.request.header.x-service-signature":{"value":["[Filtered]"],"type":"array"}'),
  );
  expect(all.match(/[0-9a-f]{64}|ada@example.com|Ada Example/g)).toBeNull();
}, 60_000);
