// A fault in force, in words: what, to which deliveries, how often.
import type { Fault, Webhook } from '../live/wire.js';
import { shortUrl } from '../parts/format.js';

export function faultText(fault: Fault, webhooks: readonly Webhook[]): string {
  const { kind, event, webhook, remaining, probability } = fault;
  const url = webhooks.find(({ id }) => id === webhook)?.url;
  const where = [event && ` on ${event}`, webhook && ` to ${url ? shortUrl(url) : 'a webhook that is gone'}`];
  const chance = probability < 1 ? `, ${Math.round(probability * 1_000) / 10} % of the attempts` : '';
  const times =
    remaining === 'always' ? 'until removed' : remaining === 1 ? 'once' : `${remaining} more times`;
  return `${kind}${where.filter(Boolean).join('')}${chance}, ${times}`;
}
