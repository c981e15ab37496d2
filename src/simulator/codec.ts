// Every shape on the wire that the service does not document: one function each, replaceable in this one place.
import { time } from './delivery.js';
import type { WebhookEntry } from './ledger.js';
import type { SeededAccount } from './seeds.js';

/** A webhook as the API shows it. */
export interface WebhookRecord {
  id: string;
  url: string;
  events: string[];
  created_at: string;
  updated_at: string;
}

/** What a registration or a change sends; the values may be anything. */
export interface WebhookFields {
  readonly url?: unknown;
  readonly events?: unknown;
}

export const codec = {
  /** `GET /api/v2/account/me` */
  account({ id, name, active, identity_verified }: SeededAccount): object {
    return { data: { id, name, active, identity_verified } };
  },

  /** One webhook, after it was registered or changed. */
  webhook(webhook: WebhookEntry): { data: WebhookRecord } {
    return { data: webhookRecord(webhook) };
  },

  /** `GET /api/v2/webhooks` */
  webhooks(webhooks: readonly WebhookEntry[]): { data: WebhookRecord[] } {
    return { data: webhooks.map(webhookRecord) };
  },

  /** The body of a registration or a change. Fields that are not known are passed over. */
  readWebhook(body: { readonly [field: string]: unknown }): WebhookFields {
    return { url: body.url, events: body.events };
  },
};

export function webhookRecord({ id, url, events, createdAt, updatedAt }: WebhookEntry): WebhookRecord {
  return { id, url, events: [...events], created_at: time(createdAt), updated_at: time(updatedAt) };
}
