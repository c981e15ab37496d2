// The wire shapes that the service does not document: assumptions that you can replace.
import type { Issue } from '../errors.js';

/** A registered webhook. Other fields are returned as the service sent them. */
export interface Webhook {
  readonly id: string;
  readonly url: string;
  /** Names of the subscribed events; `['*']` is all of them. */
  readonly events: readonly string[];
  readonly [field: string]: unknown;
}

/** The account, as the service returns it. Its fields are not documented. */
export interface Account {
  readonly [field: string]: unknown;
}

export interface WebhookFields {
  readonly url: string;
  readonly events: readonly string[];
}

/**
 * Writes request bodies and reads answers. The documentation of the service names the endpoints but shows no bodies,
 * so every function is an assumption: replace those that prove wrong. A function that cannot read a body throws; the
 * call then fails with `RESPONSE_UNEXPECTED` and its message.
 */
export interface Codec {
  /** Body of `POST /webhooks`. */
  readonly createBody: (fields: WebhookFields) => unknown;
  /** Body of `PUT /webhooks/{id}`; holds only the fields that change. */
  readonly updateBody: (changes: Partial<WebhookFields>) => unknown;
  readonly account: (body: unknown) => Account;
  readonly webhook: (body: unknown) => Webhook;
  readonly webhooks: (body: unknown) => Webhook[];
  /** The message of an error answer; undefined without one. */
  readonly message: (body: unknown) => string | undefined;
  /** The invalid fields in a 422 answer. */
  readonly issues: (body: unknown) => Issue[];
}

/** The functions that read a successful answer. */
export type Reader = 'account' | 'webhook' | 'webhooks';

/**
 * The default codec. Records and lists may be wrapped in `data`. A webhook needs `id`, `url` and `events`.
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

/** The value under `data`. A body with an `id` is the record itself, whatever its `data` is. */
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
