// A dead letter as the receiver would give it to a store, and the ways to damage what a store has of it.
import { createHash, randomBytes } from 'node:crypto';
import type { DeadLetterQuery, DeadLetterStore, NewDeadLetter } from 'payment-webhooks';
import type { DeadLetterContractCase } from 'payment-webhooks/testing';
import { keyOf } from '../../src/testing/dead-letter-contract/context.js';
import { testAtOnce } from './at-once.js';

/** Who discards a letter in a test, and why. */
export const WHY = { by: 'ada', because: 'test data' };

/** Of an event of its own, unless it is given another. */
export function aLetter(given: Partial<NewDeadLetter> = {}): NewDeadLetter {
  const { namespace = 'default', sandbox = false, eventId = randomBytes(8).toString('hex') } = given;
  const { rawBody = Buffer.from(`{"id":"${eventId}"}`) } = given;
  return {
    id: randomBytes(16).toString('hex'),
    reason: 'failed',
    eventName: 'refund.succeeded',
    attempts: 1,
    code: 'HANDLER_FAILED',
    issues: [],
    headers: { 'content-type': 'application/json' },
    keyIndex: 0,
    key: keyOf({ namespace, sandbox, eventId }),
    fingerprint: createHash('sha256').update(rawBody).digest('hex'),
    ...given,
    ...{ namespace, sandbox, eventId, rawBody },
  };
}

export function queryOf({ namespace }: Pick<NewDeadLetter, 'namespace'>): DeadLetterQuery {
  return { namespace, discarded: false };
}

/** How many letters a store lists. */
export async function countOf(store: DeadLetterStore, query: DeadLetterQuery): Promise<number> {
  let [count, after] = [0, undefined as string | undefined];
  do {
    const { letters, next } = await store.list(query, { limit: 100, after });
    count += letters.length;
    after = next;
  } while (after !== undefined);
  return count;
}

/**
 * A test for each case of each contract. Those that wait for a retention to end do so at the same time, and have a
 * namespace of their own.
 */
export function keepTheLetterContract(
  contracts: Readonly<Record<string, readonly DeadLetterContractCase[]>>,
): void {
  const cases = Object.entries(contracts).flatMap(([how, each]) =>
    each.map(({ name, run }) => ({ name: `${how} keep the contract: ${name}`, run })),
  );
  testAtOnce(cases, ({ name }) => name.includes('retention'));
}
