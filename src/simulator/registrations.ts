// Registers, changes and deletes webhooks: the same rules for the API, the control plane and the program.
import { type WebhookRecord, webhookRecord } from './codec.js';
import { isEventPattern } from './event-pattern.js';
import type { FieldErrors } from './faults.js';
import type { Ledger, WebhookEntry } from './ledger.js';
import type { Randomness } from './randomness.js';
import { Refusal } from './refusal.js';
import { type Targets, urlFault } from './target.js';

/** What a webhook can be given; the values may come from anywhere. */
export interface Registration {
  readonly url?: unknown;
  readonly events?: unknown;
  readonly paused?: unknown;
}

/** What registrations are made with. */
export interface RegistrationTools {
  readonly ledger: Ledger;
  readonly targets: Targets;
  readonly randomness: Randomness;
  readonly now: () => number;
}

/** A webhook as the simulator's own faces show it: also whether it is paused. */
export interface Webhook extends WebhookRecord {
  paused: boolean;
}

export function webhookView(webhook: WebhookEntry): Webhook {
  return { ...webhookRecord(webhook), paused: webhook.paused };
}

const MOST_EVENTS = 100;

/** Every method throws a {@link Refusal} when it cannot do what it was asked. */
export class Registrations {
  readonly #tools: RegistrationTools;

  constructor(tools: RegistrationTools) {
    this.#tools = tools;
  }

  find(account: string, id: string): WebhookEntry {
    const webhook = this.#tools.ledger.webhooks.get(id);
    if (webhook?.account !== account) throw Refusal.unknown('webhook', id);
    return webhook;
  }

  async create(account: string, fields: Registration): Promise<WebhookEntry> {
    await this.#refuse({ ...fields, url: fields.url ?? null });
    const now = this.#tools.now();
    const webhook: WebhookEntry = {
      id: this.#tools.randomness.uuid(),
      account,
      url: String(fields.url),
      events: eventsOf(fields.events),
      paused: false,
      createdAt: now,
      updatedAt: now,
    };
    this.#tools.ledger.saveWebhook(webhook);
    return webhook;
  }

  /** Changes the given fields, and no other. */
  async update(account: string, id: string, fields: Registration): Promise<WebhookEntry> {
    const webhook = this.find(account, id);
    const { url, events, paused } = fields;
    if (url === undefined && events === undefined && paused === undefined) {
      throw Refusal.invalid({ url: ['Give a url, events or both.'] });
    }
    await this.#refuse(fields);
    // It may have been deleted while its new address was looked up.
    this.find(account, id);
    if (url !== undefined) webhook.url = String(url);
    if (events !== undefined) webhook.events = eventsOf(events);
    if (paused !== undefined) webhook.paused = paused === true;
    webhook.updatedAt = this.#tools.now();
    this.#tools.ledger.saveWebhook(webhook);
    return webhook;
  }

  delete(account: string, id: string): void {
    this.find(account, id);
    this.#tools.ledger.deleteWebhook(id);
  }

  async #refuse({ url, events, paused }: Registration): Promise<void> {
    const errors: FieldErrors = {};
    const urlError =
      url === undefined ? undefined : (urlFault(url) ?? (await this.#tools.targets.refusal(String(url))));
    if (urlError) errors.url = [urlError];
    const eventsError = eventsFault(events);
    if (eventsError) errors.events = [eventsError];
    if (paused !== undefined && typeof paused !== 'boolean')
      errors.paused = ['The paused field must be true or false.'];
    if (Object.keys(errors).length > 0) throw Refusal.invalid(errors);
  }
}

function eventsFault(events: unknown): string | undefined {
  if (events === undefined || events === null) return undefined;
  if (!Array.isArray(events) || events.length === 0 || events.length > MOST_EVENTS) {
    return `The events must be a list of 1 to ${MOST_EVENTS} names; leave the field out for all events.`;
  }
  const wrong: unknown = events.find((name) => !isEventPattern(name));
  if (wrong === undefined) return undefined;
  return `${String(JSON.stringify(wrong)).slice(0, 100)} is no event name or pattern, like "transaction.paid", "transaction.*" or "*".`;
}

/** Without a choice, all. */
function eventsOf(events: unknown): string[] {
  if (!Array.isArray(events) || events.includes('*')) return ['*'];
  return [...new Set(events.map(String))];
}
