// Registers a webhook exactly once, even if several deploys call `ensure` at the same time.
import type { Webhook, WebhookFields } from './codec.js';
import { NotFoundError } from './errors.js';
import type { RequestOptions } from './options.js';
import { pause } from './retry.js';

/** What `ensure` found or did. */
export interface Ensured {
  readonly action: 'created' | 'updated' | 'unchanged';
  readonly webhook: Webhook;
}

/** The part of `WebhooksClient` that `ensure` needs. */
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
 * Deletes only the webhook that this call created, and then checks again that one is registered: two webhooks deliver
 * an event twice, but without a webhook it is lost.
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

/** Finds a registered webhook, and updates its events if they differ. */
async function adopt(
  webhooks: Registrations,
  wanted: WebhookFields,
  options: RequestOptions,
): Promise<Ensured | undefined> {
  const same = (await webhooks.list(options))
    .filter((webhook) => sameUrl(webhook.url, wanted.url))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const equal = same.find((webhook) => sameEvents(webhook.events, wanted.events));
  if (equal) return { action: 'unchanged', webhook: equal };
  const [first] = same;
  if (!first) return undefined;
  const webhook = await webhooks.update(first.id, { events: wanted.events }, options).catch(ignoreNotFound);
  // Deleted since it was listed: another deploy prefers a webhook that the next round will find.
  return webhook ? { action: 'updated', webhook } : undefined;
}

/**
 * Whether to keep our new webhook. Two deploys that create a webhook at the same time both see both: the smaller id
 * stays, and the other deploy deletes its own. If a rival stays, its deploy finished before ours was listed: delete ours.
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

function ignoreNotFound(error: unknown): undefined {
  if (error instanceof NotFoundError) return undefined;
  throw error;
}

/** Ignores the case of the host, a default port and a fragment. */
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

/** Ignores order and duplicates; `*` includes every other name. */
function eventSet(events: readonly string[]): Set<string> {
  return events.includes('*') ? new Set(['*']) : new Set(events);
}
