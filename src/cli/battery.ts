// The deliveries that `doctor` sends, each with what an endpoint owes it.
import { fixtures } from '../fixtures/fixture.js';
import { badDeliveries } from '../testing/bad-deliveries.js';
import { signedDelivery } from '../testing/sign-delivery.js';
import type { Delivery } from './probe.js';

/** What an endpoint owes a delivery. */
export type Owed =
  | 'accepted'
  /** As accepted, and not handled a second time. */
  | 'remembered'
  /** Its signature is forged. */
  | 'refused'
  /** Its signature is right, and its content useless. */
  | 'unusable'
  /** It is larger than an event ever is. */
  | 'limited'
  | 'not-found'
  /** It never ends. */
  | 'given-up';

export interface Check {
  readonly name: string;
  readonly owed: Owed;
  readonly delivery: Delivery;
}

export interface Battery {
  readonly first: Check;
  readonly checks: readonly Check[];
  /** Sent while the others are, because it takes as long as the endpoint waits. */
  readonly slow: Check;
  readonly last: Check;
}

/** By this a person and a program recognise the test events; they are sandbox events besides. */
export const TEST_ORDER = 'doctor-test';

export interface Signing {
  readonly privateKey: string;
  readonly signatureHeader: string;
}

export function battery(signing: Signing): Battery {
  const post = (event: object | string): Delivery => {
    const { headers, rawBody } = signedDelivery(event, signing);
    return { method: 'POST', headers, body: rawBody };
  };
  const valid = post(testEvent());
  return {
    first: { name: 'a valid delivery', owed: 'accepted', delivery: valid },
    checks: [
      { name: 'the same delivery again', owed: 'remembered', delivery: valid },
      {
        name: 'a valid delivery with other spacing',
        owed: 'accepted',
        delivery: post(JSON.stringify(testEvent(), null, 3)),
      },
      ...bad(signing),
      { name: 'a valid delivery of 300 KB', owed: 'limited', delivery: post(largeEvent()) },
      { name: 'GET', owed: 'not-found', delivery: { method: 'GET', headers: {}, body: Buffer.alloc(0) } },
    ],
    slow: {
      name: 'a body that never ends',
      owed: 'given-up',
      delivery: { ...post(testEvent()), slowly: true },
    },
    last: { name: 'a valid delivery after all that', owed: 'accepted', delivery: post(testEvent()) },
  };
}

function bad(signing: Signing): Check[] {
  const owed = new Map<number, Owed>([
    [401, 'refused'],
    [413, 'limited'],
  ]);
  return badDeliveries(testEvent(), signing).map(({ name, body, headers, status }) => ({
    name,
    owed: owed.get(status) ?? 'unusable',
    delivery: { method: 'POST', headers, body: Buffer.from(body) },
  }));
}

function testEvent(metadata: Record<string, string> = {}): object {
  return fixtures.transactionPaid({
    sandbox: true,
    payload: { metadata: { type: TEST_ORDER, ...metadata }, transaction: { order_id: TEST_ORDER } },
  });
}

function largeEvent(): object {
  return testEvent({ padding: 'x'.repeat(300_000) });
}
