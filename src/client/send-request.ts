// Sends one request and reads the whole answer, up to a limit.
import { TextDecoder } from 'node:util';
import { ConfigurationError } from '../errors.js';
import { show } from '../misuse.js';
import type { Redact } from './credential.js';
import { type ConnectionCode, ConnectionError, ServiceError } from './errors.js';
import type { Fetch, FetchResponse, ResolvedOptions } from './options.js';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: FetchResponse['headers'];
  readonly text: string;
}

/** What an error message needs to name the request. */
export interface Subject {
  /** Method and path, such as `GET /api/v2/webhooks`. */
  readonly endpoint: string;
  readonly redact: Redact;
}

/**
 * @throws {ServiceError} if no complete answer came, or a redirect
 * @throws {ConfigurationError} if the option `fetch` is not a fetch
 */
export async function sendRequest(
  url: string,
  init: Omit<Parameters<Fetch>[1], 'redirect'>,
  { fetch, maxResponseBytes }: Pick<ResolvedOptions, 'fetch' | 'maxResponseBytes'>,
  subject: Subject,
): Promise<HttpAnswer> {
  let response: FetchResponse;
  try {
    // Fetch would follow a redirect to another origin, and turn a write into a read.
    response = await fetch(url, { ...init, redirect: 'manual' });
  } catch (error) {
    if (ConfigurationError.is(error)) throw error;
    // Thrown by axios, ky and ofetch. A retry would repeat what the service has refused.
    const { status } = fieldsOf(fieldsOf(error).response);
    if (typeof status === 'number') throw notFetch(`rejected although it was answered ${status}`);
    throw connectionError(error, subject);
  }
  assertResponse(response);
  const { status, headers } = response;
  // Browsers hide the status of a redirect: there it is 0.
  if (status === 0 || (status >= 300 && status <= 399 && status !== 304)) {
    throw redirectError(response, url, subject);
  }
  return { status, headers, text: await readText(response, maxResponseBytes, subject) };
}

/** @throws {ConfigurationError} for what ofetch, axios and `node:http` resolve with */
function assertResponse(response: FetchResponse): void {
  const { status, headers, body, text, bodyUsed } = fieldsOf(response);
  if (typeof status !== 'number' || typeof fieldsOf(headers).get !== 'function')
    throw notFetch(`resolved with ${show(response)}`);
  if (bodyUsed === true) throw notFetch('has read the body of its Response');
  if (body !== null && !isAsyncIterable(body) && typeof text !== 'function')
    throw notFetch('resolved with a Response without body and text()');
}

function notFetch(fault: string): ConfigurationError {
  return new ConfigurationError(
    `fetch ${fault}. Pass a function that resolves with an unread Response whatever the status is, such as the global fetch or node-fetch. axios, got, ky and ofetch do not.`,
  );
}

function isAsyncIterable(value: unknown): value is AsyncIterable<Uint8Array | string> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

function redirectError(
  { status, headers }: FetchResponse,
  url: string,
  { endpoint, redact }: Subject,
): ServiceError {
  const location = headers.get('location');
  const target = location !== null && URL.canParse(location, url) ? new URL(location, url) : undefined;
  let where = 'without a valid address';
  if (location !== null && target && /^https?:$/.test(target.protocol)) {
    // The parser lowers the case of the host, so a credential in it is found in the header only.
    const shown = redact(location) === location ? target.origin + redact(target.pathname) : 'another address';
    where = `to ${shown}`;
  }
  return new ServiceError(
    'REDIRECT_REFUSED',
    `${endpoint} was answered with a redirect (${status}) ${where}. The client does not follow redirects, so that it cannot send the credential elsewhere. Set baseUrl to the final address.`,
    { status },
  );
}

async function readText(response: FetchResponse, most: number, subject: Subject): Promise<string> {
  // Counted as it arrives: the declared length may be wrong, and a body may be endless or compressed.
  if (Number(response.headers.get('content-length')) > most) throw tooLarge(most, subject);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of chunksOf(response)) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > most) break;
      chunks.push(bytes);
    }
  } catch (error) {
    throw connectionError(error, subject, 'RESPONSE_CUT');
  }
  if (size > most) throw tooLarge(most, subject);
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** A fetch over XMLHttpRequest has no stream. */
async function* chunksOf(response: FetchResponse): AsyncGenerator<Uint8Array | string> {
  if (isAsyncIterable(response.body)) yield* response.body;
  else if (response.body !== null) yield await response.text();
}

function tooLarge(most: number, { endpoint }: Subject): ConnectionError {
  return new ConnectionError(
    'RESPONSE_TOO_LARGE',
    `${endpoint} was answered with more than ${most} bytes (maxResponseBytes), so the rest was not read.`,
  );
}

const TLS =
  /^(ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|.*CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH)/;

/**
 * The failure as a ConnectionError. Its cause is a new Error, because what fetch threw may hold the request with its
 * credential.
 */
function connectionError(
  failure: unknown,
  { endpoint, redact }: Subject,
  known?: ConnectionCode,
): ConnectionError {
  const root = innermost(failure);
  const reason = typeof root.code === 'string' ? root.code : undefined;
  const message = redact(String(root.message || root.code || 'no reason given')).slice(0, 300);
  const code = known ?? (reason !== undefined && TLS.test(reason) ? 'TLS_FAILED' : 'NETWORK_FAILED');
  const cause = Object.assign(new Error(message), reason ? { code: reason } : {});
  return new ConnectionError(code, `${endpoint} failed: ${explain(code, reason, message)}`, { cause });
}

function explain(code: ConnectionCode, reason: string | undefined, message: string): string {
  if (code === 'RESPONSE_CUT') return `the answer was cut off (${message}).`;
  if (code === 'TLS_FAILED') {
    const selfSigned = reason?.includes('SELF_SIGNED') || reason === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
    const fix =
      ' If the certificate is your own, add it with NODE_EXTRA_CA_CERTS; never turn verification off.';
    return `the certificate of the server could not be verified (${reason}: ${message}). Nothing was sent.${selfSigned ? fix : ''}`;
  }
  if (reason === 'ECONNREFUSED') return `nothing listens at that address (${message}).`;
  if (reason === 'ENOTFOUND' || reason === 'EAI_AGAIN') return `the host name was not found (${message}).`;
  return `the connection broke (${message}).`;
}

const MAX_CAUSES = 8;

/** The innermost cause: the outermost error only says "fetch failed". */
function innermost(failure: unknown): { readonly code?: unknown; readonly message?: unknown } {
  let error = fieldsOf(failure);
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    const next = error.cause ?? (Array.isArray(error.errors) ? error.errors[0] : undefined);
    if (typeof next !== 'object' || next === null) break;
    error = fieldsOf(next);
  }
  return error;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
