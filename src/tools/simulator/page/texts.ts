// The texts of the page: statuses, faults, announcements, and a delivery as a Jest test.
import { shortUrl } from '../../web/components/format.js';
import { type DeliveryStatus, type Unprocessed, unprocessed } from '../delivery/delivery-status.js';
import type { Attempt, Delivery, Fault, FaultKind, Row, Webhook } from './api.js';

/** `wrongly_accepted`: the endpoint accepted a delivery that a fault had changed. */
export type ShownStatus = DeliveryStatus | Unprocessed | 'wrongly_accepted';

export const STATUS_LABELS: Readonly<Record<ShownStatus, string>> = {
  pending: 'Pending',
  in_flight: 'In flight',
  retrying: 'Retrying',
  delivered: 'Delivered',
  failed: 'Failed',
  cancelled: 'Cancelled',
  wrongly_accepted: 'Wrongly accepted',
  ignored: 'Ignored',
  kept: 'Kept',
};

/** Takes a row, which loads first, or a whole delivery. */
export function shownStatus(delivery: Row | Delivery): ShownStatus {
  if (delivery.status !== 'delivered') return delivery.status;
  const last = 'last' in delivery ? delivery.last : delivery.attempts.at(-1);
  const code = last && ('response' in last ? last.response?.status : last.status);
  if (last?.diagnosis != null && code != null && code < 300) return 'wrongly_accepted';
  return unprocessed(last?.outcome) ?? 'delivered';
}

/** An attempt that succeeded has a diagnosis only when it should have failed. */
export function attemptStatus({ succeeded, diagnosis, outcome }: Attempt): ShownStatus {
  if (!succeeded) return 'failed';
  return diagnosis === null ? (unprocessed(outcome) ?? 'delivered') : 'wrongly_accepted';
}

export function faultText(fault: Fault, webhooks: readonly Webhook[]): string {
  const { kind, event, webhook, remaining, probability } = fault;
  const url = webhooks.find(({ id }) => id === webhook)?.url;
  const where = [event && ` on ${event}`, webhook && ` to ${url ? shortUrl(url) : 'a deleted webhook'}`];
  const chance = probability < 1 ? `, ${Math.round(probability * 1_000) / 10}% of attempts` : '';
  const times =
    remaining === 'always' ? 'until removed' : remaining === 1 ? 'once' : `${remaining} more times`;
  return `${kind}${where.filter(Boolean).join('')}${chance}, ${times}`;
}

const REFUSED = 'Your endpoint should answer 401.';
const INCOMPLETE = 'The signature covers the whole body.';

/** What a fault does, and what that means for the signature. */
const EFFECTS: Readonly<Record<FaultKind, readonly [effect: string, signature?: string]>> = {
  duplicate: ['Sends the same bytes twice.'],
  reorder: ['Holds the attempt back, so that later ones arrive first.'],
  delay: ['Sends the attempt later.'],
  truncate_body: ['Stops in the middle of the body.', INCOMPLETE],
  tamper_body: ['Changes one digit of the body after signing.', REFUSED],
  reserialize_body: ['Sends the same JSON as different bytes.', REFUSED],
  wrong_key: ['Signs with a different key.', REFUSED],
  missing_signature: ['Sends no signature header.', REFUSED],
  uppercase_signature: ['Sends the signature in upper case.', REFUSED],
  slow_body: ['Sends the body slowly.'],
  reset_connection: ['Resets the connection.', INCOMPLETE],
  drop: ['Never reaches the endpoint.'],
};

export const FAULT_KINDS = Object.keys(EFFECTS).map((kind) => [kind, kind] as const);

export function faultEffect(kind: string): string | undefined {
  return Object.hasOwn(EFFECTS, kind) ? EFFECTS[kind as FaultKind][0] : undefined;
}

/** Undefined for a fault that leaves the signature and the signed bytes alone. */
export function signatureEffect(kind: FaultKind | null): string | undefined {
  if (kind === null) return undefined;
  const [effect, signature] = EFFECTS[kind];
  return signature && `Injected fault: ${kind}. ${effect} ${signature}`;
}

const SETTLED = new Map([
  ['delivered', 'delivered'],
  ['retrying', 'will be retried'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
]);
const MAX_SENTENCES = 2;

/** What a screen reader says when deliveries settle: a sentence each, or counts for many; or nothing. */
export function announcement(before: readonly Row[], after: readonly Row[]): string {
  const known = new Map(before.map((row) => [row.id, row]));
  const settled = after.filter((row) => {
    const old = known.get(row.id);
    return SETTLED.has(row.status) && (old?.status !== row.status || old.attempts !== row.attempts);
  });
  if (settled.length <= MAX_SENTENCES) return settled.map(sentence).join(' ');
  const counts = new Map<string, number>();
  for (const { status } of settled) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${SETTLED.get(status)}.`).join(' ');
}

function sentence(row: Row): string {
  const answer = row.last?.status ?? row.last?.error ?? '';
  return `${row.event_name} ${SETTLED.get(row.status)}${answer ? `: ${answer}` : ''}.`;
}

const FRAMEWORKS = {
  Jest: ["import { expect, test } from '@jest/globals';", 'expect(answer.status).toBe('],
  Vitest: ["import { expect, test } from 'vitest';", 'expect(answer.status).toBe('],
  'node:test': [
    "import assert from 'node:assert/strict';\nimport { test } from 'node:test';",
    'assert.equal(answer.status, ',
  ],
} as const;

export type Framework = keyof typeof FRAMEWORKS;

export const FRAMEWORK_NAMES = Object.keys(FRAMEWORKS) as readonly Framework[];

/** A test for the project of the endpoint. It sends the same bytes, signed with the key from the environment. */
export function testCode(
  framework: Framework,
  { event_name: name }: Delivery,
  { request, response }: Attempt,
): string {
  const { pathname, search } = new URL(request.url);
  const status = response && response.status < 300 ? response.status : 200;
  const [imports, assertion] = FRAMEWORKS[framework];
  return `${imports}
import { deliver } from 'payment-webhooks/testing';
import { app } from '../src/app.js';

test(${JSON.stringify(`receives ${name}`)}, async () => {
  const body = ${JSON.stringify(request.body)};
  const privateKey = process.env.SERVICE_PRIVATE_KEY ?? '';
  const answer = await deliver(app, body, { privateKey, path: ${JSON.stringify(pathname + search)} });
  ${assertion}${status});
});
`;
}
