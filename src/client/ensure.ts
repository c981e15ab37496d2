// Registers a webhook once, however often and from however many deploys at once `ensure` is called.
import type { Webhook, WebhookFields } from './codec.js';
import { NotFoundError } from './errors.js';
import type { RequestOptions } from './options.js';
import { pause } from './retry.js';

/** What `ensure` found or did. */
export interface Ensured {
  readonly action: 'created' | 'updated' | 'unchanged';
  readonly webhook: Webhook;
}

/** The part of `WebhooksClient` that is used here. */
export interface Registrations {
  list(options: RequestOptions): Promise<Webhook[]>;
  create(fields: WebhookFields, options: RequestOptions): Promise<Webhook>;
  update(id: string, changes: Partial<WebhookFields>, options: RequestOptions): Promise<Webhook>;
  delete(id: string, options: RequestOptions): Promise<void>;
}

const ROUNDS = 3;
const LOOKS = 4;
const PAUSE_MS = 250;

/**
 * Deletes only the webhook that this call created, and then checks again that one is registered: two webhooks only
 * deliver an event twice, but no webhook loses it.
 */
export async function ensureWebhook(
  webhooks: Registrations,
  wanted: WebhookFields,
  options: RequestOptions,
): Promise<Ensured> {
  for (let round = 1; ; round += 1) {
    const existing = await adopt(webhooks, wanted, options);
    if (existing) return existing;
    const webhook = await webhooks.create(wanted, options);
    const created: Ensured = { action: 'created', webhook };
    if (round === ROUNDS || (await mayStay(webhooks, webhook, options))) return created;
    await webhooks.delete(webhook.id, options).catch(ignoreNotFound);
  }
}

/** The webhook that is registered already, updated to the wanted events; undefined without one. */
async function adopt(
  webhooks: Registrations,
  wanted: WebhookFields,
  options: RequestOptions,
): Promise<Ensured | undefined> {
  const same = (await webhooks.list(options))
    .filter((webhook) => sameUrl(webhook.url, wanted.url))
    .sort(byId);
  const equal = same.find((webhook) => sameEvents(webhook.events, wanted.events));
  if (equal) return { action: 'unchanged', webhook: equal };
  const [first] = same;
  if (!first) return undefined;
  const webhook = await webhooks.update(first.id, { events: wanted.events }, options).catch(ignoreNotFound);
  // Deleted since it was listed: another deploy withdrew it in favour of one that the next round will find.
  return webhook ? { action: 'updated', webhook } : undefined;
}

/**
 * Whether our new webhook is the one to keep. Two deploys that create at the same moment both see both. The smaller id
 * stays, and the deploy that created the other deletes it. A rival that stays belongs to a deploy that finished before
 * it could see ours: then ours is deleted.
 */
async function mayStay(webhooks: Registrations, ours: Webhook, options: RequestOptions): Promise<boolean> {
  for (let look = 1; look <= LOOKS; look += 1) {
    if (look > 1) await pause(PAUSE_MS, options.signal);
    const listed = await webhooks.list(options);
    const rivals = listed.filter((webhook) => webhook.id !== ours.id && sameUrl(webhook.url, ours.url));
    if (rivals.length === 0) return true;
    if (rivals.some((rival) => rival.id < ours.id)) return false;
  }
  return false;
}

function byId(one: Webhook, other: Webhook): number {
  return one.id < other.id ? -1 : 1;
}

function ignoreNotFound(error: unknown): undefined {
  if (error instanceof NotFoundError) return undefined;
  throw error;
}

/** Whether two URLs reach the same endpoint: the case of the host, a default port and a fragment do not count. */
function sameUrl(one: string, other: string): boolean {
  return normal(one) === normal(other);
}

function normal(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.hash = '';
  return url.href;
}

function sameEvents(one: readonly string[], other: readonly string[]): boolean {
  const [first, second] = [eventSet(one), eventSet(other)];
  return first.size === second.size && [...first].every((name) => second.has(name));
}

/** Order and duplicates do not count, and beside `*` no other name does. */
function eventSet(events: readonly string[]): Set<string> {
  return events.includes('*') ? new Set(['*']) : new Set(events);
}
