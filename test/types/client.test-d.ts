// What the types of the client door promise; checked by `npm run typecheck`.
import {
  type Account,
  ServiceClient,
  ServiceError,
  ValidationError,
  type Webhook,
} from 'payment-webhooks/client';

const service = new ServiceClient({ baseUrl: process.env.URL, privateKey: process.env.KEY });
new ServiceClient({ accessToken: async () => 'token' });
new ServiceClient({ accessToken: ({ refresh, signal }) => `${refresh}${signal.aborted}` });
// @ts-expect-error: unknown options are refused, as they are at run time
new ServiceClient({ baseURL: 'https://api.example.com' });

const account: Promise<Account> = service.account.me();
const list: Promise<Webhook[]> = service.webhooks.list({ timeout: 5, signal: new AbortController().signal });
const done: Promise<void> = service.webhooks.delete('id');
// @ts-expect-error: a webhook needs an address
void service.webhooks.create({ events: ['transaction.paid'] });
void service.webhooks.update('id', { events: ['transaction.paid'] });
// @ts-expect-error: the events are a list, so that one name is not taken for many
void service.webhooks.update('id', { events: 'transaction.paid' });

void service.webhooks.ensure({ url: new URL('https://shop.example') }).then(({ action, webhook }) => {
  const known: 'created' | 'updated' | 'unchanged' = action;
  const extra: unknown = webhook.created_at;
  // @ts-expect-error: what the service adds is kept, but of no known type
  const typed: string = webhook.created_at;
  return [known, extra, typed, webhook.events.join()];
});

export function told(error: unknown): unknown {
  if (ValidationError.is(error)) return error.issues.map(({ path }) => path);
  if (ServiceError.is(error)) return [error.code, error.status, error.retryAfterMs, error.body];
  // @ts-expect-error: anything else is not narrowed
  return error.code;
}

export default [account, list, done];
