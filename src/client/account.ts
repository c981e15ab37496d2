// The account that the credential belongs to.
import type { Account } from './codec.js';
import type { RequestOptions } from './options.js';
import type { Requester } from './request.js';

export class AccountClient {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  /**
   * The authenticated account (`GET /api/v2/account/me`), as the service describes it.
   *
   * @throws {ServiceError}
   */
  me(options?: RequestOptions): Promise<Account> {
    return this.#requester.send(
      { method: 'GET', path: '/account/me', read: (codec, body) => codec.account(body) },
      options,
    );
  }
}
