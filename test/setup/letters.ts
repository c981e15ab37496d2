// A dead letter as the receiver would give it to a store, and the ways to damage what a store has of it.
import { createHash, randomBytes } from 'node:crypto';
import type { DeadLetterQuery, NewDeadLetter } from 'payment-webhooks';
import type { DeadLetterContractCase } from 'payment-webhooks/testing';
import { keyOf } from '../../src/testing/dead-letter-contract/context.js';
import { testAtOnce } from './at-once.js';

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

const flipped = (byte: string) => (column: string) =>
  `set_byte(${column}, ${byte}, get_byte(${column}, ${byte}) # 1)`;

/** One bit or character of each column that is sealed, or that what is sealed is tied to. */
export const DAMAGES: readonly { readonly column: string; readonly change: (column: string) => string }[] = [
  ...['body', 'head', 'issues'].flatMap((column) =>
    ['0', '1', '13', '29', `length(${column}) - 1`].map((byte) => ({ column, change: flipped(byte) })),
  ),
  ...['body', 'head', 'issues'].map((column) => ({ column, change: () => "'\\x01'" })),
  ...['id', 'key', 'fingerprint', 'event_name', 'event_id'].map((column) => ({
    column,
    change: () => `overlay(${column} placing chr(ascii(right(${column}, 1)) # 1) from length(${column}))`,
  })),
  { column: 'namespace', change: () => "'other'" },
  { column: 'sandbox', change: () => 'NOT sandbox' },
];

/** A test for each case. Those that wait for a retention to end have a namespace of their own. */
export function keepsTheLetterContract(cases: readonly DeadLetterContractCase[]): void {
  testAtOnce(cases, ({ name }) => name.includes('retention'));
}
