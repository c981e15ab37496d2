// Sends one request and reads the whole answer, up to a limit.

import { redactText } from './credential.js';
import { type ConnectionCode, ConnectionError, ServiceError } from './errors.js';

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What an error message needs, and what it must not hold. */
export interface Subject {
  /** Method and path, such as `GET /api/v2/webhooks`. */
  readonly endpoint: string;
  readonly secrets: readonly string[];
}

export interface Transport {
  readonly fetch: typeof globalThis.fetch;
  readonly maxResponseBytes: number;
}

const MAX_REDIRECTS = 3;

/** @throws {ServiceError} when no complete answer came, or it redirects where the client must not follow */
export async function sendRequest(
  request: HttpRequest,
  transport: Transport,
  subject: Subject,
): Promise<HttpAnswer> {
  let { url } = request;
  for (let redirects = 0; ; redirects += 1) {
    const response = await send({ ...request, url }, transport, subject);
    const { status, headers } = response;
    if (status !== 0 && (status < 300 || status > 399 || status === 304)) {
      return { status, headers, text: await readText(response, transport.maxResponseBytes, subject) };
    }
    await response.body?.cancel();
    url = redirectTarget(response, { method: request.method, url, redirects }, subject);
  }
}

async function send(request: HttpRequest, { fetch }: Transport, subject: Subject): Promise<Response> {
  const { url, body, ...init } = request;
  try {
    // Redirects are followed by hand: fetch would follow one to another origin.
    return await fetch(url, { ...init, ...(body === undefined ? {} : { body }), redirect: 'manual' });
  } catch (error) {
    throw connectionError(error, subject);
  }
}

/**
 * The target of a redirect: on the same origin, a few times, and never one that turns a write into a read (as 301 to
 * 303 would). The credential never leaves the origin that it was given for.
 */
function redirectTarget(
  response: Response,
  from: { readonly method: string; readonly url: string; readonly redirects: number },
  { endpoint, secrets }: Subject,
): string {
  const { status, headers } = response;
  const location = headers.get('location');
  const target =
    location !== null && URL.canParse(location, from.url) ? new URL(location, from.url) : undefined;
  const refuse = (why: string) =>
    new ServiceError('REDIRECT_REFUSED', `${endpoint} was answered with a redirect (${status}) ${why}`, {
      status,
    });
  if (!target) throw refuse('without a valid address.');
  if (target.origin !== new URL(from.url).origin || target.username || target.password) {
    // A host name is lower case, so only the address as it came can show a credential in it.
    const shown = redactText(location ?? '', secrets) === location ? target.origin : 'another origin';
    throw refuse(`to ${shown}. It was not followed, to keep the credential here. Check baseUrl.`);
  }
  if (from.redirects >= MAX_REDIRECTS)
    throw refuse(`for the ${from.redirects + 1}th time. The address leads in a circle.`);
  if (from.method !== 'GET' && status !== 307 && status !== 308)
    throw refuse('that would turn the request into a GET. Check baseUrl.');
  return target.href;
}

async function readText(response: Response, most: number, subject: Subject): Promise<string> {
  const tooLarge = () =>
    new ConnectionError(
      'RESPONSE_TOO_LARGE',
      `${subject.endpoint} was answered with more than ${most} bytes (maxResponseBytes), so the rest was not read.`,
    );
  // Counted as it streams: the declared length may be wrong, and a body may be endless or compressed.
  if (Number(response.headers.get('content-length')) > most) throw tooLarge();
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  for (let size = 0; reader; ) {
    const { done, value } = await reader.read().catch((error) => {
      throw connectionError(error, subject, 'RESPONSE_CUT');
    });
    if (done) break;
    size += value.byteLength;
    if (size > most) throw tooLarge();
    chunks.push(value);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

const TLS =
  /^(ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|.*CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH)/;

/**
 * The failure as a ConnectionError. Its cause is a new Error: what fetch threw may hold the request, and with it the
 * credential.
 */
function connectionError(
  failure: unknown,
  { endpoint, secrets }: Subject,
  known?: ConnectionCode,
): ConnectionError {
  const root = innermost(failure);
  const reason = typeof root.code === 'string' ? root.code : undefined;
  const message = redactText(String(root.message || root.code || 'no reason given'), secrets).slice(0, 300);
  const code = known ?? (reason !== undefined && TLS.test(reason) ? 'TLS_FAILED' : 'NETWORK_FAILED');
  const cause = Object.assign(new Error(message), reason ? { code: reason } : {});
  return new ConnectionError(code, `${endpoint} failed: ${explain(code, reason, message)}`, { cause });
}

function explain(code: ConnectionCode, reason: string | undefined, message: string): string {
  if (code === 'RESPONSE_CUT') return `the answer was cut off (${message}).`;
  if (code === 'TLS_FAILED') {
    const selfSigned = reason?.includes('SELF_SIGNED') || reason === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE';
    const fix =
      ' If the certificate is your own, name it in NODE_EXTRA_CA_CERTS; never turn verification off.';
    return `the server did not prove its identity (${reason}: ${message}). Nothing was sent.${selfSigned ? fix : ''}`;
  }
  if (reason === 'ECONNREFUSED') return `nothing listens at that address (${message}).`;
  if (reason === 'ENOTFOUND' || reason === 'EAI_AGAIN') return `the host name was not found (${message}).`;
  return `the connection broke (${message}).`;
}

const MAX_CAUSES = 8;

/** The innermost cause says most; the outermost only "fetch failed". */
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
