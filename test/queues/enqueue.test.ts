// A receiver whose events go to a queue: what the broker has of them, and when. The same for every broker.
import { describe, expect } from '@jest/globals';
import type { ReceiverOptions } from 'payment-webhooks';
import { fixtures } from 'payment-webhooks/testing';
import { CREDENTIALS, delivery, KEY, SANDBOX_KEY } from '../setup/delivery.js';
import { startEndpoint } from '../setup/endpoint.js';
import { needing } from '../setup/platform.js';
import { QUEUES } from './queues.js';

const paid = fixtures.transactionPaid;

const LONG_IDS = ['a'.repeat(251), `${'a'.repeat(250)}b`, '/'.repeat(100), `${'/'.repeat(254)}a`];

describe.each(Object.entries(QUEUES))('enqueue() of %s in a receiver', (_, { program, start, job }) => {
  const when = needing(program).test;

  /** A receiver without a store whose events go to the queue. */
  async function receiving(options: Pick<ReceiverOptions, 'drift'> = {}) {
    const trial = await start();
    const privateKey = ['pri_other', KEY, SANDBOX_KEY];
    const endpoint = await startEndpoint({ handlers: {}, store: false, privateKey, ...options });
    return { ...endpoint, ...trial };
  }

  when('has its job in the queue before the delivery is answered 200', async () => {
    const { hooks, post, pass, jobs } = await receiving();
    hooks.on('*', pass);
    const event = paid();
    expect(await post(delivery(event))).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await jobs()).toMatchObject([job(event.id)]);
  });

  when('keeps every byte of the body, and which key signed it', async () => {
    const { hooks, post, pass, jobs } = await receiving();
    hooks.on('*', pass);
    const event = paid({ payload: { customer: { name: 'Zoë \u{1F600} \u2028 \u0000' } } });
    const body = Buffer.from(`\uFEFF ${JSON.stringify(event, null, 1)}\r\n`);
    expect(await post(delivery(body))).toMatchObject({ status: 200 });
    const [kept] = await jobs();
    expect(Buffer.from(kept?.data.rawBody ?? '')).toEqual(body);
    expect(kept?.data.keyIndex).toBe(1);
  });

  when('leaves signature and credentials out', async () => {
    const { hooks, post, pass, jobs } = await receiving();
    hooks.on('*', pass);
    const { body, headers } = delivery(paid());
    const own = { 'content-type': 'application/json', 'x-account': 'acme', 'idempotency-key': 'i-1' };
    await post({ body, headers: { ...headers, ...CREDENTIALS, ...own } });
    const [{ data } = { data: undefined }] = await jobs();
    expect(data?.headers).toMatchObject(own);
    expect(JSON.stringify(data)).not.toMatch(/s3cret|[0-9a-f]{64}/);
  });

  when("takes a payload that does not fit with drift: 'handle'", async () => {
    const { hooks, post, pass, jobs } = await receiving({ drift: 'handle' });
    hooks.on('*', pass);
    const drifted = { ...paid(), payload: {} };
    expect(await post(delivery(drifted))).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    expect(await jobs()).toMatchObject([job(drifted.id)]);
  });

  when('takes undeclared events from onUnknown(), and is answered 500 as onInvalid()', async () => {
    const { hooks, post, pass, jobs } = await receiving();
    hooks.onUnknown(pass);
    // @ts-expect-error an EventError is no event
    hooks.onInvalid(pass);
    const unknown = fixtures.event('refund.succeeded', { refund: { id: 'r-1' } });
    expect(await post(delivery(unknown))).toMatchObject({ status: 200, body: { outcome: 'processed' } });
    const invalid = { ...paid(), payload: {} };
    expect(await post(delivery(invalid))).toMatchObject({ status: 500, body: { code: 'HANDLER_FAILED' } });
    expect(await jobs()).toHaveLength(1);
  });

  when('adds one job for copies of a delivery, also at the same time, and one for each mode', async () => {
    const { hooks, post, pass, jobs } = await receiving();
    hooks.on('*', pass);
    const event = delivery(paid({ id: 'evt-1' }));
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(event)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await jobs()).toMatchObject([job('evt-1')]);
    await post(delivery(paid({ id: 'evt-1', sandbox: true }), SANDBOX_KEY));
    const ids = (await jobs()).map(({ id }) => id);
    expect(ids.sort()).toEqual([job('evt-1').id, job('evt-1', true).id].sort());
  });

  when('makes a job for each event, whatever other handlers write on the one they share', async () => {
    const { hooks, post, pass, jobs } = await receiving();
    hooks
      .on('*', (event) => void Object.assign(event, { id: 'tx-1', event_name: 'renamed' }))
      .on('*', (event, context) => pass(event, { ...context }));
    const ids = ['evt-1', 'evt-2'];
    for (const id of ids) expect(await post(delivery(paid({ id })))).toMatchObject({ status: 200 });
    const expected = ids.map((id) => expect.objectContaining(job(id)));
    expect(await jobs()).toEqual(expect.arrayContaining(expected));
    expect(await jobs()).toHaveLength(2);
  });

  when(
    'adds one job for an event whose id is as long as it may be, and whatever it is encoded to',
    async () => {
      const { hooks, post, pass, jobs } = await receiving();
      hooks.on('*', pass);
      for (const id of LONG_IDS)
        for (const _ of 'ab') expect(await post(delivery(paid({ id })))).toMatchObject({ status: 200 });
      const ids = (await jobs()).map((added) => added.id ?? '');
      expect(new Set(ids).size).toBe(LONG_IDS.length);
      for (const id of ids) expect(id.length).toBeLessThanOrEqual(255);
    },
  );
});
