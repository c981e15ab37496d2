// Deliberate faults: each does to the bytes on the wire what it says. That each is labelled stands in conformance.test.ts.
import { createServer, type Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import type { FaultKind, FaultRule, Simulator } from 'payment-webhooks/simulator';
import { gate } from '../../setup/waiting.js';
import {
  type Answer,
  endpoint,
  expectSigned,
  first,
  listening,
  opensslHmac,
  type Received,
  simulator,
  subscribed,
  triggered,
} from './world.js';

const world = (...answers: Answer[]) => subscribed({}, ...answers);

/** A delivery with the fault, and what arrived of it first. */
async function faulty(kind: FaultKind, rule: { delayMs?: number } = {}, ...answers: Answer[]) {
  const { service, received } = await world(...answers);
  service.faults.once(kind, rule);
  const delivery = first(await service.trigger('transaction.paid', { id: 'same' }));
  return { service, received, delivery, request: received[0] as Received };
}

const signatureOf = ({ headers }: Received) => headers['x-service-signature'];
const eventOf = ({ body }: Received) => JSON.parse(String(body));
const idsOf = (received: Received[]) => received.map((request) => eventOf(request).id);
const labels = (service: Simulator) =>
  service.deliveries().map(({ attempts }) => attempts.map(({ fault }) => fault));

/** A delivery to an endpoint on bare TCP, which sees also what an HTTP server would not let through. */
async function cut(kind: FaultKind, overrides = {}) {
  const service = await simulator();
  let text = '';
  const ended = gate<string>();
  const server = createServer({ allowHalfOpen: true }, (socket: Socket) => {
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => {
      ended.open('FIN');
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => ended.open(String(error.code)));
  });
  await service.webhooks.create({ url: `http://127.0.0.1:${await listening(server)}/` });
  service.faults.once(kind);
  const [delivery] = await service.trigger('transaction.paid', overrides);
  return { delivery, how: await ended.opened, text };
}

describe('what arrives', () => {
  test('tamper_body: other JSON than was signed, of the same length', async () => {
    const { service, received } = await faulty('tamper_body');
    await service.trigger('transaction.paid', { id: 'same' });
    const [tampered, genuine] = received as [Received, Received];
    expect(signatureOf(tampered)).toBe(signatureOf(genuine));
    expect(tampered.body.equals(genuine.body)).toBe(false);
    expect(tampered.body.byteLength).toBe(genuine.body.byteLength);
    expect(eventOf(tampered).payload).not.toEqual(eventOf(genuine).payload);
    expect(service.deliveries()[0]?.attempts[0]?.request.body).toBe(String(tampered.body));
  });

  test('tamper_body finds something to change in a payload without a digit', async () => {
    const { service, received } = await world();
    service.faults.once('tamper_body');
    await service.trigger('a.b', { id: 'none', payload: { text: 'none' } });
    const tampered = first(received);
    expect(signatureOf(tampered)).not.toBe(opensslHmac(tampered.body, service.privateKey));
    expect(eventOf(tampered).payload).toEqual({ text: 'none' });
  });

  test('reserialize_body: the same JSON in other bytes', async () => {
    const { service, received } = await faulty('reserialize_body');
    await service.trigger('transaction.paid', { id: 'same' });
    const [again, genuine] = received as [Received, Received];
    expect(again.body.equals(genuine.body)).toBe(false);
    expect(eventOf(again)).toEqual(eventOf(genuine));
    expect(signatureOf(again)).toBe(signatureOf(genuine));
    expect(again.headers['content-length']).toBe(String(again.body.byteLength));
  });

  test('wrong_key: a well-formed signature that the account’s key did not make', async () => {
    const { service, request } = await faulty('wrong_key');
    expect(signatureOf(request)).toMatch(/^[0-9a-f]{64}$/);
    expect(signatureOf(request)).not.toBe(opensslHmac(request.body, service.privateKey));
  });

  test('missing_signature: no header at all', async () => {
    const { request } = await faulty('missing_signature');
    expect(request.rawHeaders).not.toContain('X-SERVICE-SIGNATURE');
  });

  test('uppercase_signature: the right digits in upper case', async () => {
    const { service, request } = await faulty('uppercase_signature');
    expect(signatureOf(request)).toBe(opensslHmac(request.body, service.privateKey).toUpperCase());
  });

  test.each(['', 'ab', 'abcd'])(
    'truncate_body: half of the bytes (%j) under the whole declared length, then the end',
    async (start) => {
      // Wherever the half falls, it is cut between two characters of three bytes each.
      const name = start + '東京'.repeat(400);
      const { delivery, text, how } = await cut('truncate_body', { payload: { customer: { name } } });
      const body = text.slice(text.indexOf('\r\n\r\n') + 4);
      const declared = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      expect(how).toBe('FIN');
      expect(Buffer.byteLength(body)).toBeLessThan(declared);
      expect(declared - 2 * Buffer.byteLength(body)).toBeLessThan(8);
      expect(body).not.toContain('\ufffd');
      const attempts = [{ succeeded: false, request: { body } }];
      expect(delivery).toMatchObject({ status: 'retrying', attempts });
    },
  );

  test('reset_connection: RST in the middle of the body', async () => {
    const { delivery, text, how } = await cut('reset_connection');
    expect(how).toBe('ECONNRESET');
    expect(text).toContain('X-SERVICE-SIGNATURE');
    const attempts = [{ succeeded: false, response: null, fault: 'reset_connection' }];
    expect(delivery).toMatchObject({ attempts });
  });

  test('drop: nothing is sent, and the retry delivers the event', async () => {
    const { service, received, delivery } = await faulty('drop');
    expect(received).toEqual([]);
    const dropped = { fault: 'drop', error: { code: 'DROPPED' }, will_retry: true };
    expect(delivery.attempts).toMatchObject([dropped]);
    await service.advance('2s');
    expect(received).toHaveLength(1);
    expect(service.deliveries()).toMatchObject([{ status: 'delivered' }]);
  });

  test('slow_body: all of it, a piece at a time', async () => {
    const { service, request, delivery } = await faulty('slow_body', { delayMs: 200 });
    expect(delivery.status).toBe('delivered');
    expect(delivery.attempts[0]?.duration_ms).toBeGreaterThan(180);
    expectSigned(request, service.privateKey);
  });

  test('duplicate: the same delivery once more, whatever became of the first', async () => {
    const { received, delivery } = await faulty('duplicate');
    expect(received).toHaveLength(2);
    expect(received[0]?.body).toEqual(received[1]?.body);
    const attempts = [{ fault: null }, { fault: 'duplicate' }];
    expect(delivery).toMatchObject({ status: 'delivered', attempts });
  });

  test('duplicate: a second one that fails changes nothing', async () => {
    const { delivery } = await faulty('duplicate', {}, 200, 500);
    expect(delivery).toMatchObject({ status: 'delivered', next_attempt_at: null });
  });

  test('duplicate: after a failure, the one retry that is due stays the one', async () => {
    const { service, received, delivery } = await faulty('duplicate', {}, 500);
    expect(delivery.status).toBe('retrying');
    await service.advance('2s');
    expect(received).toHaveLength(3);
  });

  test('delay: sent only when the simulator’s clock says so', async () => {
    const { service, received, delivery } = await faulty('delay', { delayMs: 90_000 });
    expect(delivery).toMatchObject({ status: 'pending', attempts: [], next_attempt_at: expect.any(String) });
    await service.advance('89s');
    expect(received).toEqual([]);
    await service.advance('1s');
    expect(received).toHaveLength(1);
    expect(service.deliveries()).toMatchObject([{ status: 'delivered', attempts: [{ fault: 'delay' }] }]);
  });

  test('reorder: the next one overtakes it', async () => {
    const { service, received, delivery } = await faulty('reorder');
    expect(delivery.status).toBe('pending');
    await service.trigger('transaction.paid', { id: 'second' });
    expect(idsOf(received)).toEqual(['second', 'same']);
    expect(labels(service)).toEqual([['reorder'], [null]]);
  });

  test('reorder: without another one it is sent after a delay', async () => {
    const { service, received } = await faulty('reorder');
    await service.advance('5s');
    expect(received).toHaveLength(1);
  });

  test('reorder, always: every pair changes places', async () => {
    const { service, received } = await world();
    service.faults.always('reorder');
    for (const id of ['a', 'b', 'c', 'd']) await service.trigger('transaction.paid', { id });
    expect(idsOf(received)).toEqual(['b', 'a', 'd', 'c']);
  });
});

describe('which attempts', () => {
  const faulted = (service: Simulator) => labels(service).map(([first]) => first);

  test.each<[string, FaultRule, (FaultKind | null)[]]>([
    ['once, and never again', { kind: 'wrong_key', times: 1 }, ['wrong_key', null, null]],
    ['n times', { kind: 'wrong_key', times: 2 }, ['wrong_key', 'wrong_key', null]],
    ['only deliveries of an event', { kind: 'wrong_key', event: 'refund.*' }, [null, 'wrong_key', null]],
  ])('%s', async (_, rule, labelled) => {
    const { service } = await world();
    service.faults.add(rule);
    for (const name of ['transaction.paid', 'refund.succeeded', 'transaction.paid'])
      await service.trigger(name);
    expect(faulted(service)).toEqual(labelled);
    expect(service.faults.list()).toEqual([]);
  });

  test('always, until it is cleared; retries too', async () => {
    const { service } = await world(401);
    service.faults.always('wrong_key');
    await service.trigger('transaction.paid');
    await service.advance('2s');
    service.faults.clear();
    await service.advance('5s');
    expect(labels(service)).toEqual([['wrong_key', 'wrong_key', null]]);
  });

  test('only deliveries to a webhook', async () => {
    const { service } = await world();
    const { id: webhook } = await service.webhooks.create({ url: (await endpoint()).url });
    service.faults.always('wrong_key', { webhook });
    await service.trigger('transaction.paid');
    expect(faulted(service)).toEqual([null, 'wrong_key']);
  });

  test('with a probability, which a seed makes repeatable', async () => {
    const run = async () => {
      const { service } = await subscribed({ seed: 7 });
      service.faults.always('missing_signature', { probability: 0.5 });
      for (let n = 0; n < 40; n += 1) await service.trigger('transaction.paid');
      return faulted(service);
    };
    const first = await run();
    const hits = first.filter(Boolean).length;
    expect(hits).toBeGreaterThan(5);
    expect(hits).toBeLessThan(35);
    expect(await run()).toEqual(first);
  });

  test('of one trigger alone', async () => {
    const { service } = await world();
    await service.trigger('transaction.paid', {}, { count: 2, fault: 'uppercase_signature' });
    await service.trigger('transaction.paid');
    expect(faulted(service)).toEqual(['uppercase_signature', 'uppercase_signature', null]);
  });

  test('a resend gets a fault too, but is never held back', async () => {
    const { service, id } = await triggered();
    service.faults.always('delay');
    service.faults.always('wrong_key');
    const attempts = [{ fault: null }, { fault: 'wrong_key' }];
    expect(await service.resend(id)).toMatchObject({ attempts });
  });
});

test('rejects an invalid fault, and says why', async () => {
  const { service } = await world();
  const adding = (rule: object) => () => service.faults.add(rule as FaultRule);
  expect(adding({ kind: 'tamper' })).toThrow(/Did you mean|must be one of/);
  expect(adding({ kind: 'tamper_bdy' })).toThrow(/Did you mean "tamper_body"/);
  expect(adding({ kind: 'drop', times: 0 })).toThrow(/times must be "always" or an integer from 1/);
  expect(adding({ kind: 'drop', probability: 2 })).toThrow(/probability must be above 0/);
  expect(adding({ kind: 'drop', event: 'x' })).toThrow(/event must be/);
  expect(adding({ kind: 'delay', delayMs: -1 })).toThrow(/delayMs must be/);
  expect(adding('drop' as never)).toThrow(/^The fault must be an object such as \{ kind: 'drop' \}\.$/);
  expect(service.faults.list()).toEqual([]);
});

test('a kind of a megabyte is refused without comparing it with every name', async () => {
  const { service } = await world();
  const kind = 'x'.repeat(1_000_000 - 20) as FaultKind;
  // Compared letter by letter this is the work of minutes.
  for (let times = 0; times < 50; times += 1) {
    expect(() => service.faults.once(kind)).toThrow(/kind must be one of duplicate, .*, drop\.$/);
  }
});
