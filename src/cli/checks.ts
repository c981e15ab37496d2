// The checks of `doctor`: each a delivery, with the result that is expected of the endpoint.
import { fixtures } from '../fixtures/fixture.js';
import { badDeliveries } from '../testing/bad-deliveries.js';
import { signedDelivery } from '../testing/sign-delivery.js';
import type { Delivery } from './probe.js';

export type ExpectedResult =
  | 'accepted'
  /** Accepted, and not handled again. */
  | 'deduplicated'
  /** Refused: the signature is forged. */
  | 'refused'
  /** Not answered 5xx: the signature is right, and the content is useless. */
  | 'not-retried'
  /** Refused, or accepted without a crash: it is larger than any event. */
  | 'limited'
  | 'not-found'
  /** The endpoint stops reading a body that never ends. */
  | 'timed-out';

export interface Check {
  readonly name: string;
  readonly expected: ExpectedResult;
  readonly delivery: Delivery;
}

export interface Checks {
  readonly first: Check;
  /** Proves nothing unless a handler ran for the first. */
  readonly repeat: Check;
  readonly others: readonly Check[];
  /** Sent while the others are, because it takes as long as the endpoint waits. */
  readonly slow: Check;
  readonly last: Check;
}

/** How a person and a program recognise the test events, which are also sandbox events. */
const TEST_ORDER = 'doctor-test';

export interface Signing {
  readonly privateKey: string;
  readonly signatureHeader: string;
}

export function checks(signing: Signing): Checks {
  const post = (event: object | string): Delivery => {
    const { headers, rawBody } = signedDelivery(event, signing);
    return { method: 'POST', headers, body: rawBody };
  };
  const valid = post(testEvent());
  const spaced = post(JSON.stringify(testEvent(), null, 3));
  const large = post(testEvent({ padding: 'x'.repeat(300_000) }));
  const get: Delivery = { method: 'GET', headers: {}, body: Buffer.alloc(0) };
  const endless: Delivery = { ...post(testEvent()), slowly: true };
  return {
    first: { name: 'a valid delivery', expected: 'accepted', delivery: valid },
    repeat: { name: 'the same delivery again', expected: 'deduplicated', delivery: valid },
    others: [
      { name: 'a valid delivery with other spacing', expected: 'accepted', delivery: spaced },
      ...badChecks(signing),
      { name: 'a valid delivery of 300 KB', expected: 'limited', delivery: large },
      { name: 'GET', expected: 'not-found', delivery: get },
    ],
    slow: { name: 'a body that never ends', expected: 'timed-out', delivery: endless },
    last: { name: 'a valid delivery after all that', expected: 'accepted', delivery: post(testEvent()) },
  };
}

function badChecks(signing: Signing): Check[] {
  const expected = new Map<number, ExpectedResult>([
    [401, 'refused'],
    [413, 'limited'],
  ]);
  return badDeliveries(testEvent(), signing).map(({ name, body, headers, status }) => ({
    name,
    expected: expected.get(status) ?? 'not-retried',
    delivery: { method: 'POST', headers, body: Buffer.from(body) },
  }));
}

function testEvent(metadata: Record<string, string> = {}): object {
  return fixtures.transactionPaid({
    sandbox: true,
    payload: { metadata: { type: TEST_ORDER, ...metadata }, transaction: { order_id: TEST_ORDER } },
  });
}
