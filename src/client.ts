// DOOR "./client": the client of API v2.
export { type Account, type Codec, codec, type Webhook, type WebhookFields } from './client/codec.js';
export type { AccessTokenSource } from './client/credential.js';
export type { Ensured } from './client/ensure.js';
export * from './client/errors.js';
export type { Fetch, FetchResponse, RequestOptions, ServiceClientOptions } from './client/options.js';
export {
  type AccountClient,
  ServiceClient,
  type WebhookChanges,
  type WebhookInput,
  type WebhooksClient,
} from './client/service-client.js';
export { ConfigurationError, type Issue } from './errors.js';
