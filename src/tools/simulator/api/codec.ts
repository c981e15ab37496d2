// The JSON shapes that the service does not document, one function for each.
import { isoTime } from '../delivery/delivery-record.js';
import type { SeededAccount } from '../seeds.js';
import type { StoredWebhook } from '../simulator-store.js';

/** A webhook in the API. */
export interface WebhookRecord {
  id: string;
  url: string;
  events: string[];
  created_at: string;
  updated_at: string;
}

export const codec = {
  /** `GET /api/v2/account/me` */
  account({ id, name, active, identity_verified }: SeededAccount): object {
    return { data: { id, name, active, identity_verified } };
  },

  webhook(webhook: StoredWebhook): { data: WebhookRecord } {
    return { data: webhookRecord(webhook) };
  },

  /** `GET /api/v2/webhooks` */
  webhooks(webhooks: readonly StoredWebhook[]): { data: WebhookRecord[] } {
    return { data: webhooks.map(webhookRecord) };
  },

  /** The body that creates or updates a webhook. Unknown fields are ignored. */
  readWebhook(body: { readonly [field: string]: unknown }): {
    readonly url: unknown;
    readonly events: unknown;
  } {
    return { url: body.url, events: body.events };
  },
};

export function webhookRecord({ id, url, events, createdAt, updatedAt }: StoredWebhook): WebhookRecord {
  return { id, url, events: [...events], created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) };
}
