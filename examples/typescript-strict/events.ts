// The events this app knows beyond the built-in ones: a name and a schema for the payload of each.
import type { WebhookEvent } from 'payment-webhooks';
import { z } from 'zod';

// Names and payloads are examples: take yours from what the service sends you.
export const events = {
  'transaction.failed': z.looseObject({
    transaction: z.looseObject({ id: z.string(), order_id: z.string() }),
  }),
  'refund.succeeded': z.looseObject({
    refund: z.looseObject({ id: z.string(), amount: z.string(), currency: z.string() }),
    transaction: z.looseObject({ order_id: z.string() }),
  }),
};

/** Every event that can reach a handler, told apart by `event_name`. */
export type Event = WebhookEvent<typeof events>;
