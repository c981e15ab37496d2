// Creates, updates and deletes webhooks: the same rules for both APIs and for programs.
import { z } from 'zod';
import { isEventPattern } from '../../../events/event-pattern.js';
import { HttpError } from '../../web/http-error.js';
import { urlError } from '../address/targets.js';
import type { Deliverer } from '../delivery/deliverer.js';
import { isoTime } from '../delivery/delivery-record.js';
import type { Parts } from '../parts.js';
import { readFields } from '../read-fields.js';
import type { StoredWebhook } from '../simulator-store.js';

/** A webhook in the control plane and in programs: also whether it is paused. */
export interface Webhook extends ReturnType<typeof webhookRecord> {
  paused: boolean;
}

/** A webhook in the API of the service, which does not document the shape. */
export function webhookRecord({ id, url, events, createdAt, updatedAt }: StoredWebhook) {
  return { id, url, events: [...events], created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) };
}

export function webhookView(webhook: StoredWebhook): Webhook {
  return { ...webhookRecord(webhook), paused: webhook.paused };
}

const MAX_EVENTS = 100;

const webhookFields = z.object({
  url: z.custom<string>((url) => !urlError(url), { error: ({ input }) => urlError(input) }).optional(),
  events: z
    .custom<string[] | null>((events) => !eventsError(events), { error: ({ input }) => eventsError(input) })
    .transform((events) => (events === null || events.includes('*') ? ['*'] : [...new Set(events)]))
    .optional(),
  paused: z.boolean('The paused field must be true or false.').optional(),
});

/** Every method throws an {@link HttpError} for an unknown webhook or an invalid field. */
export function registrations(parts: Parts, deliverer: Deliverer) {
  const { store, randomness, scheduler, targets } = parts;

  const find = (account: string, id: string): StoredWebhook => {
    const webhook = store.webhooks.get(id);
    if (webhook?.account !== account) throw HttpError.unknown('webhook', id);
    return webhook;
  };

  const read = async (input: { url?: unknown }): Promise<z.infer<typeof webhookFields>> => {
    const { url } = input;
    const isUrl = url !== undefined && urlError(url) === undefined;
    const refusal = isUrl ? await targets.refusal(String(url)) : undefined;
    return readFields(refusal ? webhookFields.extend({ url: z.never(refusal) }) : webhookFields, input);
  };

  return {
    async create(account: string, input: { url?: unknown; events?: unknown }): Promise<StoredWebhook> {
      const { url = '', events = ['*'] } = await read({ ...input, url: input.url ?? null });
      const now = scheduler.now();
      const id = randomness.uuid();
      const webhook = { id, account, url, events, paused: false, createdAt: now, updatedAt: now };
      store.saveWebhook(webhook);
      return webhook;
    },

    async update(account: string, id: string, input: object): Promise<StoredWebhook> {
      find(account, id);
      const changes = await read(input);
      if (Object.values(changes).every((value) => value === undefined)) {
        throw HttpError.invalid({ url: ['Send a url, events or both.'] });
      }
      // It may have been changed or deleted during the DNS lookup.
      const known = find(account, id);
      const { url = known.url, events = known.events, paused = known.paused } = changes;
      const webhook = { ...known, url, events, paused, updatedAt: scheduler.now() };
      store.saveWebhook(webhook);
      if (paused) deliverer.cancelAll(id, 'webhook_paused');
      return webhook;
    },

    delete(account: string, id: string): void {
      find(account, id);
      store.deleteWebhook(id);
      deliverer.cancelAll(id, 'webhook_deleted');
    },
  };
}

function eventsError(events: unknown): string | undefined {
  if (events === null) return undefined;
  if (!Array.isArray(events) || events.length === 0 || events.length > MAX_EVENTS) {
    return `The events must be a list of 1 to ${MAX_EVENTS} names. Leave the field out for all events.`;
  }
  const wrong: unknown = events.find((name) => !isEventPattern(name));
  if (wrong === undefined) return undefined;
  const shown = String(JSON.stringify(wrong)).slice(0, 100);
  return `Invalid event pattern ${shown}. Use a name or a pattern such as "transaction.paid", "transaction.*" or "*".`;
}
