// Creates, updates and deletes webhooks: the same rules for both APIs and for programs.
import { HttpError } from '../../pages/http-error.js';
import { urlError } from '../address/targets.js';
import type { Deliverer, ServiceParts } from '../delivery/deliverer.js';
import { isEventPattern } from '../event-pattern.js';
import type { StoredWebhook } from '../simulator-store.js';
import { type WebhookRecord, webhookRecord } from './codec.js';

/** The fields of a webhook from an untrusted source. */
export interface WebhookInput {
  readonly url?: unknown;
  readonly events?: unknown;
  readonly paused?: unknown;
}

/** A webhook in the control plane and in programs: also whether it is paused. */
export interface Webhook extends WebhookRecord {
  paused: boolean;
}

export function webhookView(webhook: StoredWebhook): Webhook {
  return { ...webhookRecord(webhook), paused: webhook.paused };
}

const MAX_EVENTS = 100;

/** Every method throws an {@link HttpError} for an unknown webhook or an invalid field. */
export class Registrations {
  readonly #parts: ServiceParts;
  readonly #deliverer: Deliverer;

  constructor(parts: ServiceParts, deliverer: Deliverer) {
    this.#parts = parts;
    this.#deliverer = deliverer;
  }

  async create(account: string, input: WebhookInput): Promise<StoredWebhook> {
    await this.#validate({ ...input, url: input.url ?? null });
    const { store, randomness, scheduler } = this.#parts;
    const now = scheduler.now();
    const webhook: StoredWebhook = {
      id: randomness.uuid(),
      account,
      url: String(input.url),
      events: subscribedEvents(input.events),
      paused: false,
      createdAt: now,
      updatedAt: now,
    };
    store.saveWebhook(webhook);
    return webhook;
  }

  /** Changes only the given fields. */
  async update(account: string, id: string, input: WebhookInput): Promise<StoredWebhook> {
    const webhook = this.#find(account, id);
    const { url, events, paused } = input;
    if (url === undefined && events === undefined && paused === undefined) {
      throw HttpError.invalid({ url: ['Give a url, events or both.'] });
    }
    await this.#validate(input);
    // It may have been deleted during the DNS lookup.
    this.#find(account, id);
    if (url !== undefined) webhook.url = String(url);
    if (events !== undefined) webhook.events = subscribedEvents(events);
    if (paused !== undefined) webhook.paused = paused === true;
    webhook.updatedAt = this.#parts.scheduler.now();
    this.#parts.store.saveWebhook(webhook);
    if (webhook.paused) this.#deliverer.cancelAll(id, 'webhook_paused');
    return webhook;
  }

  delete(account: string, id: string): void {
    this.#find(account, id);
    this.#parts.store.deleteWebhook(id);
    this.#deliverer.cancelAll(id, 'webhook_deleted');
  }

  #find(account: string, id: string): StoredWebhook {
    const webhook = this.#parts.store.webhooks.get(id);
    if (webhook?.account !== account) throw HttpError.unknown('webhook', id);
    return webhook;
  }

  async #validate({ url, events, paused }: WebhookInput): Promise<void> {
    const errors: Record<string, string[]> = {};
    const wrongUrl =
      url === undefined ? undefined : (urlError(url) ?? (await this.#parts.targets.refusal(String(url))));
    if (wrongUrl) errors.url = [wrongUrl];
    const wrongEvents = eventsError(events);
    if (wrongEvents) errors.events = [wrongEvents];
    if (paused !== undefined && typeof paused !== 'boolean')
      errors.paused = ['The paused field must be true or false.'];
    if (Object.keys(errors).length > 0) throw HttpError.invalid(errors);
  }
}

function eventsError(events: unknown): string | undefined {
  if (events === undefined || events === null) return undefined;
  if (!Array.isArray(events) || events.length === 0 || events.length > MAX_EVENTS) {
    return `The events must be a list of 1 to ${MAX_EVENTS} names. Leave the field out for all events.`;
  }
  const wrong: unknown = events.find((name) => !isEventPattern(name));
  if (wrong === undefined) return undefined;
  const shown = String(JSON.stringify(wrong)).slice(0, 100);
  return `Invalid event pattern ${shown}. Give a name or a pattern such as "transaction.paid", "transaction.*" or "*".`;
}

/** Defaults to all events. */
function subscribedEvents(events: unknown): string[] {
  if (!Array.isArray(events) || events.includes('*')) return ['*'];
  return [...new Set(events.map(String))];
}
