// The webhooks registered on the account: list, create, update, delete, ensure.
import { ConfigurationError } from '../errors.js';
import { refuseUnknownOptions } from '../unknown-option.js';
import { isLoopback } from './address.js';
import type { Webhook, WebhookFields } from './codec.js';
import { type Ensured, ensureWebhook } from './ensure.js';
import type { RequestOptions } from './options.js';
import type { Requester } from './request.js';

/** What `create` and `ensure` take. */
export interface WebhookInput {
  /** Where events are delivered; anything but https: draws a warning. */
  readonly url: string | URL;
  /** Names of the events to deliver. @default ['*'], which is all of them */
  readonly events?: readonly string[] | undefined;
}

/** What `update` takes: only the fields that are given change. */
export type WebhookChanges = Partial<WebhookInput>;

const FIELDS = ['url', 'events'] as const;

export class WebhooksClient {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  /**
   * Every webhook on the account (`GET /api/v2/webhooks`).
   *
   * @throws {ServiceError}
   */
  list(options?: RequestOptions): Promise<Webhook[]> {
    return this.#requester.send(
      { method: 'GET', path: '/webhooks', read: (codec, body) => codec.webhooks(body) },
      options,
    );
  }

  /**
   * Registers a webhook (`POST /api/v2/webhooks`). It is never repeated: after a `ConnectionError` it may
   * have been registered all the same. `ensure` can be repeated safely.
   *
   * @throws {ServiceError}
   */
  async create(input: WebhookInput, options?: RequestOptions): Promise<Webhook> {
    const fields = wanted(input);
    return this.#requester.send(
      {
        method: 'POST',
        path: '/webhooks',
        write: (codec) => codec.createBody(fields),
        read: (codec, body) => codec.webhook(body),
      },
      options,
    );
  }

  /**
   * Changes the address or the events of a webhook (`PUT /api/v2/webhooks/{id}`).
   *
   * @throws {ServiceError}
   */
  async update(id: string, changes: WebhookChanges, options?: RequestOptions): Promise<Webhook> {
    const fields = checked(changes);
    if (Object.keys(fields).length === 0) {
      throw new ConfigurationError('update() was given nothing to change: give url, events, or both.');
    }
    return this.#requester.send(
      {
        method: 'PUT',
        path: pathOf(id),
        write: (codec) => codec.updateBody(fields),
        read: (codec, body) => codec.webhook(body),
      },
      options,
    );
  }

  /**
   * Deletes a webhook (`DELETE /api/v2/webhooks/{id}`).
   *
   * @throws {ServiceError}
   */
  async delete(id: string, options?: RequestOptions): Promise<void> {
    await this.#requester.send<void>({ method: 'DELETE', path: pathOf(id) }, options);
  }

  /**
   * Makes sure that exactly this webhook is registered, for deploy scripts: creates it, updates its events, or
   * leaves it as it is. Webhooks with other addresses are never touched.
   *
   * @example
   * const { action, webhook } = await service.webhooks.ensure({ url: 'https://shop.example/hooks' });
   * @throws {ServiceError}
   */
  async ensure(input: WebhookInput, options: RequestOptions = {}): Promise<Ensured> {
    return ensureWebhook(this, wanted(input), options);
  }
}

/** An id becomes one segment of a path: it must not be able to lead out of it. */
function pathOf(id: unknown): string {
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..' || /\p{Surrogate}/u.test(id)) {
    throw new ConfigurationError(
      'The id is missing or no id: give the id of a webhook, as list() returns it.',
    );
  }
  return `/webhooks/${encodeURIComponent(id)}`;
}

function wanted(input: WebhookInput): WebhookFields {
  const { url, events = ['*'] } = checked(input);
  if (url === undefined)
    throw new ConfigurationError('url is missing: give the address to deliver events to.');
  return { url, events };
}

function checked(input: WebhookChanges): Partial<WebhookFields> {
  if (typeof input !== 'object' || input === null) {
    throw new ConfigurationError('Give an object like { url, events }.');
  }
  refuseUnknownOptions(input, FIELDS);
  const { url, events } = input;
  return {
    ...(url === undefined ? {} : { url: checkedUrl(url) }),
    ...(events === undefined ? {} : { events: checkedEvents(events) }),
  };
}

// The address is not quoted: people put tokens into webhook addresses.
function checkedUrl(given: string | URL): string {
  const text = String(given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigurationError('url is no absolute address: give one like "https://shop.example/hooks".');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    process.emitWarning(
      `The webhook at ${url.host} is not https:, so its events can be read and changed on the way; the service documents delivery over HTTPS.`,
      { type: 'PaymentWebhooksWarning', code: 'WEBHOOK_URL_NOT_HTTPS' },
    );
  }
  return text;
}

function checkedEvents(events: unknown): readonly string[] {
  if (!Array.isArray(events) || !events.every((name) => typeof name === 'string' && name !== '')) {
    throw new ConfigurationError('events is no list of names: give one like ["transaction.paid"].');
  }
  if (events.length === 0) {
    throw new ConfigurationError('events is an empty list: leave it out to get every event.');
  }
  return [...events];
}
