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

export function hmac(body: Uint8Array | string, key = KEY): string {
  return createHmac('sha256', key).update(body).digest('hex');
}

function bytesOf(content: unknown): Buffer {
  if (Buffer.isBuffer(content)) return content;
  return Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
}
