// The client of API v2: `account` and `webhooks`.
import { ConfigurationError } from '../errors.js';
import { refuseUnknownOptions } from '../misuse.js';
import type { Account, Codec, Webhook, WebhookFields } from './codec.js';
import { type Ensured, ensureWebhook } from './ensure.js';
import { isLoopback, type RequestOptions, resolveOptions, type ServiceClientOptions } from './options.js';
import { Requester } from './request.js';

/**
 * The client of the payment service's API v2.
 *
 * @example
 * const service = new ServiceClient({ baseUrl: 'https://api.example.com', privateKey });
 * await service.webhooks.ensure({ url: 'https://shop.example/hooks', events: ['transaction.paid'] });
 */
export class ServiceClient {
  readonly account: AccountClient;
  readonly webhooks: WebhooksClient;

  /** @throws {ConfigurationError} for an invalid option */
  constructor(options: ServiceClientOptions = {}) {
    const requester = new Requester(resolveOptions(options));
    this.account = new AccountClient(requester);
    this.webhooks = new WebhooksClient(requester);
  }
}

/** The account that the credential belongs to. */
export class AccountClient {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  /** The authenticated account (`GET /api/v2/account/me`), as the service returns it. @throws {ServiceError} */
  me(options?: RequestOptions): Promise<Account> {
    return this.#requester.send({ method: 'GET', path: '/account/me', read: 'account' }, options);
  }
}

/** What `create` and `ensure` take. */
export interface WebhookInput {
  /** Where events are delivered. An http: URL of another machine causes a warning. */
  readonly url: string | URL;
  /** Names of the events to deliver. @default ['*'], which is all of them */
  readonly events?: readonly string[] | undefined;
}

/** What `update` takes. Fields that you leave out do not change. */
export type WebhookChanges = Partial<WebhookInput>;

export class WebhooksClient {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  /** Every webhook on the account (`GET /api/v2/webhooks`). @throws {ServiceError} */
  list(options?: RequestOptions): Promise<Webhook[]> {
    return this.#requester.send({ method: 'GET', path: '/webhooks', read: 'webhooks' }, options);
  }

  /**
   * Registers a webhook (`POST /api/v2/webhooks`). It is never retried: after a `ConnectionError` the webhook may still
   * have been registered. `ensure` is idempotent.
   *
   * @throws {ServiceError}
   */
  async create(input: WebhookInput, options?: RequestOptions): Promise<Webhook> {
    const fields = requiredFields(input);
    const write = (codec: Codec) => codec.createBody(fields);
    return this.#requester.send({ method: 'POST', path: '/webhooks', write, read: 'webhook' }, options);
  }

  /** Changes the address or the events of a webhook (`PUT /api/v2/webhooks/{id}`). @throws {ServiceError} */
  async update(id: string, changes: WebhookChanges, options?: RequestOptions): Promise<Webhook> {
    const fields = checkFields(changes);
    if (Object.keys(fields).length === 0) {
      throw new ConfigurationError('update() was given nothing to change. Pass url, events, or both.');
    }
    const write = (codec: Codec) => codec.updateBody(fields);
    return this.#requester.send({ method: 'PUT', path: pathOf(id), write, read: 'webhook' }, options);
  }

  /** Deletes a webhook (`DELETE /api/v2/webhooks/{id}`). @throws {ServiceError} */
  async delete(id: string, options?: RequestOptions): Promise<void> {
    await this.#requester.send({ method: 'DELETE', path: pathOf(id) }, options);
  }

  /**
   * Makes sure that this webhook is registered exactly once: creates it, updates its events, or changes nothing. For
   * deploy scripts. Webhooks with other URLs are never touched. It reads one answer of `GET /webhooks`: if the service
   * lists in pages, which is not documented, pass a `fetch` that reads all of them.
   *
   * @example
   * const { action, webhook } = await service.webhooks.ensure({ url: 'https://shop.example/hooks' });
   * @throws {ServiceError}
   */
  async ensure(input: WebhookInput, options: RequestOptions = {}): Promise<Ensured> {
    return ensureWebhook(this, requiredFields(input), options);
  }
}

/** An id is one segment of the path, and must not lead out of it. */
function pathOf(id: unknown): string {
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..' || /\p{Surrogate}/u.test(id)) {
    throw new ConfigurationError('id is missing or invalid. Pass the id of a webhook, as list() returns it.');
  }
  return `/webhooks/${encodeURIComponent(id)}`;
}

function requiredFields(input: WebhookInput): WebhookFields {
  const { url, events = ['*'] } = checkFields(input);
  if (url === undefined) throw new ConfigurationError('url is missing. Pass the address of your receiver.');
  return { url, events };
}

function checkFields(input: WebhookChanges): Partial<WebhookFields> {
  if (typeof input !== 'object' || input === null) {
    throw new ConfigurationError('The webhook is missing. Pass an object such as { url, events }.');
  }
  refuseUnknownOptions(input, ['url', 'events']);
  const { url, events } = input;
  return {
    ...(url === undefined ? {} : { url: checkUrl(url) }),
    ...(events === undefined ? {} : { events: checkEvents(events) }),
  };
}

/** The messages never quote the URL, because people put tokens into webhook URLs. */
function checkUrl(given: string | URL): string {
  const text = String(given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigurationError(
      'url is not an absolute URL. Pass one such as "https://shop.example/hooks".',
    );
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    process.emitWarning(
      `The webhook at ${url.host} is not https:, so others can read its events in transit. Use https:, as the service documents.`,
      { type: 'PaymentWebhooksWarning', code: 'WEBHOOK_URL_NOT_HTTPS' },
    );
  }
  return text;
}

function checkEvents(events: unknown): readonly string[] {
  if (!Array.isArray(events) || !events.every((name) => typeof name === 'string' && name !== '')) {
    throw new ConfigurationError('events is not an array of names. Pass one such as ["transaction.paid"].');
  }
  if (events.length === 0) {
    throw new ConfigurationError('events is an empty list. Leave it out to get every event.');
  }
  return [...events];
}
