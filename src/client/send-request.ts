// Sends one request and reads the whole answer, up to a limit.

import type { Redact } from './credential.js';
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

/** What an error message needs. */
export interface Subject {
  /** Method and path, such as `GET /api/v2/webhooks`. */
  readonly endpoint: string;
  /** Removes the credential. */
  readonly redact: Redact;
}

export interface Transport {
  readonly fetch: typeof globalThis.fetch;
  readonly maxResponseBytes: number;
}

/** @throws {ServiceError} if no complete answer came, or a redirect */
export async function sendRequest(
  request: HttpRequest,
  transport: Transport,
  subject: Subject,
): Promise<HttpAnswer> {
  const response = await send(request, transport, subject);
  const { status, headers } = response;
  // Browsers hide the status of a redirect: there it is 0.
  if (status === 0 || (status >= 300 && status <= 399 && status !== 304)) {
    await response.body?.cancel();
    throw redirectError(response, request.url, subject);
  }
  return { status, headers, text: await readText(response, transport.maxResponseBytes, subject) };
}

async function send(request: HttpRequest, { fetch }: Transport, subject: Subject): Promise<Response> {
  const { url, body, ...init } = request;
  try {
    // Fetch would follow one to another origin, and turn a write into a read.
    return await fetch(url, { ...init, ...(body === undefined ? {} : { body }), redirect: 'manual' });
  } catch (error) {
    throw connectionError(error, subject);
  }
}

function redirectError(
  { status, headers }: Response,
  url: string,
  { endpoint, redact }: Subject,
): ServiceError {
  const location = headers.get('location');
  const target = location !== null && URL.canParse(location, url) ? new URL(location, url) : undefined;
  let where = 'without a valid address';
  if (target && /^https?:$/.test(target.protocol)) {
    // A host name is lower case, so only the header as it came can show a credential in it.
    const shown = redact(location) === location ? target.origin + redact(target.pathname) : 'another address';
    where = `to ${shown}`;
  }
  return new ServiceError(
    'REDIRECT_REFUSED',
    `${endpoint} was answered with a redirect (${status}) ${where}. The client follows none, to keep the credential here. Set baseUrl to the final address.`,
    { status },
  );
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
