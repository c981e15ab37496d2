// A good delivery, for a test to damage in one place. Its signature is made by Node's own HMAC, not by ours.
import { createHmac } from 'node:crypto';
import { fixtures } from '../../src/fixtures/fixture.js';

export const KEY = 'pri_5f2c9a7e4b1d4f0a8c3e6d9b';
export const SANDBOX_KEY = 'pri_sandbox_5f2c9a7e4b1d4f0a';

export interface SentDelivery {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** The content (an event, text or bytes; `transaction.paid` when left out) with the headers that make it authentic. */
export function delivery(content: unknown = fixtures.transactionPaid(), key = KEY): SentDelivery {
  const body = bytesOf(content);
  return {
    body,
    headers: { 'content-type': 'application/json', 'x-service-signature': hmac(body, key) },
  };
}

/** The same, as `receive()` takes it. */
export function receivable(content?: unknown, key?: string) {
  const { body: rawBody, headers } = delivery(content, key);
  return { rawBody, headers };
}

export function hmac(body: Uint8Array | string, key = KEY): string {
  return createHmac('sha256', key).update(body).digest('hex');
}

function bytesOf(content: unknown): Buffer {
  if (Buffer.isBuffer(content)) return content;
  return Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
}

const SECRET = `
  authorization proxy-authorization x-forwarded-authorization cookie set-cookie x-api-key
  x-functions-key ocp-apim-subscription-key x-auth-token x-auth x-amz-security-token x-shared-secret
  x-db-password x-session-id x-forwarded-client-cert cf-access-jwt-assertion x-goog-iap-jwt-assertion
  x-amzn-oidc-data x-ms-client-principal x-old-signature`
  .trim()
  .split(/\s+/);

/** Headers that must not leave the process: each value has `s3cret` in it, or is a signature. */
export const CREDENTIALS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(SECRET.map((name) => [name, `s3cret of ${name}`])),
  'x-passed-on': 'Bearer s3cret',
  'x-basic': 'Basic s3cret',
  'x-who': 'eyJhbGciOiJub25lIn0.eyJzIjoiczNjcmV0In0.s3cret',
  'x-original-url': '/hooks?code=s3cret',
  'x-proof': hmac('{}'),
  'x-proofs': `t=1, v1=${hmac('{}')}`,
};
