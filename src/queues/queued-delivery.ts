// What a job holds of a delivery: the bytes that were signed, so that the worker decodes those and nothing made of them.
import type { IncomingHttpHeaders } from 'node:http';
import type { HandlerContext } from '../handler.js';
import { isSignature } from '../signature.js';

/** The data of a job. */
export interface QueuedDelivery {
  /** The body exactly as it was received and signed: it is UTF-8, so text keeps every byte of it. */
  readonly rawBody: string;
  /** Without the signature and without credentials: who can read the queue needs neither. */
  readonly headers: IncomingHttpHeaders;
  readonly keyIndex: number;
}

const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization']);

export function pack({
  rawBody,
  headers,
  keyIndex,
}: Pick<HandlerContext, 'rawBody' | 'headers' | 'keyIndex'>): QueuedDelivery {
  // The header of the signature can be named anything; what it holds cannot be mistaken.
  const kept = Object.entries(headers).filter(
    ([name, value]) => !CREDENTIALS.has(name) && !isSignature(value),
  );
  return { rawBody: rawBody.toString('utf8'), headers: Object.fromEntries(kept), keyIndex };
}

/** Undefined for a job that somebody else has made. */
export function unpack(data: unknown): (Omit<QueuedDelivery, 'rawBody'> & { rawBody: Buffer }) | undefined {
  const { rawBody, headers, keyIndex } = (data ?? {}) as {
    readonly [Field in keyof QueuedDelivery]?: unknown;
  };
  if (typeof rawBody !== 'string') return undefined;
  return {
    rawBody: Buffer.from(rawBody, 'utf8'),
    headers: typeof headers === 'object' && headers !== null ? (headers as IncomingHttpHeaders) : {},
    keyIndex: Number.isSafeInteger(keyIndex) ? (keyIndex as number) : 0,
  };
}
