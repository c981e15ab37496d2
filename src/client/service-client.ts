// The client of API v2: options in, `account` and `webhooks` out.
import type { Account } from './codec.js';
import { type RequestOptions, resolveOptions, type ServiceClientOptions } from './options.js';
import { Requester } from './request.js';
import { WebhooksClient } from './webhooks.js';

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

  /** @throws {ConfigurationError} for everything that is wrong before a request is made */
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

  /** The authenticated account (`GET /api/v2/account/me`), as the service describes it. @throws {ServiceError} */
  me(options?: RequestOptions): Promise<Account> {
    return this.#requester.send(
      { method: 'GET', path: '/account/me', read: (codec, body) => codec.account(body) },
      options,
    );
  }
}
