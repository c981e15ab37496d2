// Faults in words: one that is active, what each kind does, and what it does to the signature.
import { shortUrl } from '../pages/components/format.js';
import type { Fault, FaultKind, Webhook } from './api.js';

/** What, to which deliveries, how often. */
export function faultText(fault: Fault, webhooks: readonly Webhook[]): string {
  const { kind, event, webhook, remaining, probability } = fault;
  const url = webhooks.find(({ id }) => id === webhook)?.url;
  const where = [event && ` on ${event}`, webhook && ` to ${url ? shortUrl(url) : 'a deleted webhook'}`];
  const chance = probability < 1 ? `, ${Math.round(probability * 1_000) / 10}% of attempts` : '';
  const times =
    remaining === 'always' ? 'until removed' : remaining === 1 ? 'once' : `${remaining} more times`;
  return `${kind}${where.filter(Boolean).join('')}${chance}, ${times}`;
}

const EFFECTS: Readonly<Record<FaultKind, string>> = {
  duplicate: 'Sends the same bytes twice.',
  reorder: 'Holds the attempt back, so that later ones arrive first.',
  delay: 'Sends the attempt later.',
  truncate_body: 'Stops in the middle of the body.',
  tamper_body: 'Changes one digit of the body after signing.',
  reserialize_body: 'Sends the same JSON as different bytes.',
  wrong_key: 'Signs with a different key.',
  missing_signature: 'Sends no signature header.',
  uppercase_signature: 'Sends the signature in upper case.',
  slow_body: 'Sends the body slowly.',
  reset_connection: 'Resets the connection.',
  drop: 'Never reaches the endpoint.',
};

export function faultEffect(kind: string): string | undefined {
  return Object.hasOwn(EFFECTS, kind) ? EFFECTS[kind as FaultKind] : undefined;
}

const REFUSED: ReadonlySet<FaultKind> = new Set([
  'wrong_key',
  'missing_signature',
  'uppercase_signature',
  'tamper_body',
  'reserialize_body',
]);
const INCOMPLETE: ReadonlySet<FaultKind> = new Set(['truncate_body', 'reset_connection']);

/** For a fault that touches the signature or the bytes that it covers. */
export function signatureEffect(kind: FaultKind | null): string | undefined {
  if (kind === null) return undefined;
  const found = `Injected fault: ${kind}. ${EFFECTS[kind]}`;
  if (REFUSED.has(kind)) return `${found} Your endpoint should answer 401.`;
  return INCOMPLETE.has(kind) ? `${found} The signature covers the whole body.` : undefined;
}
