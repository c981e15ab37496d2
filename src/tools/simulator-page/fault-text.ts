// Describes faults: an active one, what each kind does, and how it affects the signature.
import { shortUrl } from '../pages/components/format.js';
import type { Fault, FaultKind, Webhook } from './api.js';

/** Its kind, which deliveries it affects, and how often. */
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

/** For a field with options. */
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
