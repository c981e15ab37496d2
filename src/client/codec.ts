// Every wire shape that the service does not document: our assumptions, replaceable in one place.
import type { Issue } from '../errors.js';

/** A webhook registration. Other fields are kept as they came. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  /** Names of the subscribed events; `['*']` is all of them. */
  readonly events: readonly string[];
  readonly [field: string]: unknown;
}

/** The account, as the service describes it: its fields are not documented. */
export interface Account {
  readonly [field: string]: unknown;
}

/** What a webhook is registered with. */
export interface WebhookFields {
  readonly url: string;
  readonly events: readonly string[];
}

/**
 * The translation between this package and the wire. The documentation names the endpoints but shows none of their
 * bodies, so every function here is an assumption; replace those that the service disproves. A function that cannot
 * read a body throws; its message reaches the caller in a `RESPONSE_UNEXPECTED`.
 */
export interface Codec {
  /** Body of `POST /webhooks`. */
  readonly createBody: (fields: WebhookFields) => unknown;
  /** Body of `PUT /webhooks/{id}`; holds only the fields that change. */
  readonly updateBody: (changes: Partial<WebhookFields>) => unknown;
  readonly account: (body: unknown) => Account;
  readonly webhook: (body: unknown) => Webhook;
  readonly webhooks: (body: unknown) => Webhook[];
  /** What the service says about a failed request; undefined when it says nothing. */
  readonly message: (body: unknown) => string | undefined;
  /** What is wrong with a request that was answered 422. */
  readonly issues: (body: unknown) => Issue[];
}

/**
 * The default codec. Records and lists may stand bare or under `data`; a record needs `id`, `url` and `events`.
 *
 * @example
 * new ServiceClient({ codec: { ...codec, createBody: ({ url, events }) => ({ target: url, topics: events }) } });
 */
export const codec: Codec = {
  createBody: ({ url, events }) => ({ url, events }),
  updateBody: (changes) => ({ ...changes }),
  account: (body) => record(unwrapped(body), 'an account'),
  webhook: (body) => webhook(unwrapped(body)),
  webhooks: (body) => {
    const list = unwrapped(body);
    if (!Array.isArray(list)) throw new Error(`expected a list of webhooks, got ${shape(list)}`);
    return list.map(webhook);
  },
  message: (body) => {
    const message = isRecord(body) ? body.message : undefined;
    return typeof message === 'string' ? message : undefined;
  },
  issues: (body) => {
    const errors = isRecord(body) ? body.errors : undefined;
    if (!isRecord(errors)) return [];
    return Object.entries(errors).flatMap(([path, messages]) =>
      (Array.isArray(messages) ? messages : [messages])
        .filter((message) => typeof message === 'string')
        .map((message) => ({ path, message })),
    );
  },
};

/** The value under `data`. A body with an `id` is itself the record, whatever its own `data` holds. */
function unwrapped(body: unknown): unknown {
  if (!isRecord(body) || 'id' in body) return body;
  return typeof body.data === 'object' && body.data !== null ? body.data : body;
}

function webhook(value: unknown): Webhook {
  const { id, url, events, ...rest } = record(value, 'a webhook');
  if ((typeof id !== 'string' && typeof id !== 'number') || id === '') {
    throw new Error(`expected a webhook with an "id", got ${shape(id)} there`);
  }
  if (typeof url !== 'string') throw new Error(`expected a webhook with a "url", got ${shape(url)} there`);
  if (!Array.isArray(events) || !events.every((name) => typeof name === 'string')) {
    throw new Error(`expected a webhook whose "events" are a list of names, got ${shape(events)} there`);
  }
  return { id: String(id), url, events, ...rest };
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (!isRecord(value)) throw new Error(`expected ${what}, got ${shape(value)}`);
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a value is, without quoting it. */
function shape(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
