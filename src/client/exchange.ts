// One request and its answer, read whole and bounded, over whatever fetch was given.
import { connectionError, cutError } from './connection-fault.js';
import { ConnectionError, ServiceError } from './errors.js';
import { redactText } from './redact.js';

/** What is sent. */
export interface Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

/** What is needed to send it, and to speak of it. */
export interface Channel {
  readonly fetch: typeof globalThis.fetch;
  readonly maxResponseBytes: number;
  /** Method and path, for messages. */
  readonly what: string;
  /** What no message may hold. */
  readonly secrets: readonly string[];
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const REDIRECTS = 3;

/** @throws {ServiceError} when no whole answer came, or it leads to another origin */
export async function exchange(request: Exchange, channel: Channel): Promise<HttpAnswer> {
  let { url } = request;
  for (let hops = 0; ; hops += 1) {
    const response = await send({ ...request, url }, channel);
    const { status, headers } = response;
    if (status !== 0 && (status < 300 || status > 399 || status === 304)) {
      return { status, headers, text: await readText(response, channel) };
    }
    await response.body?.cancel();
    url = redirectTarget(response, { method: request.method, url, hops }, channel);
  }
}

async function send(request: Exchange, channel: Channel): Promise<Response> {
  const { url, body, ...init } = request;
  try {
    // Followed by hand: fetch would carry on to another origin.
    return await channel.fetch(url, { ...init, ...(body === undefined ? {} : { body }), redirect: 'manual' });
  } catch (error) {
    throw connectionError(channel.what, error, channel.secrets);
  }
}

/**
 * Where a redirect leads, when it may be followed: on the same origin, a few times, and without turning a
 * write into a read (as 301 to 303 would). The credential never leaves the origin that it was meant for.
 */
function redirectTarget(
  response: Response,
  from: { readonly method: string; readonly url: string; readonly hops: number },
  { what, secrets }: Channel,
): string {
  const { status, headers } = response;
  const location = headers.get('location');
  const target =
    location !== null && URL.canParse(location, from.url) ? new URL(location, from.url) : undefined;
  const refuse = (why: string) =>
    new ServiceError('REDIRECT_REFUSED', `${what}: answered with a redirect (${status}) ${why}`, { status });
  if (!target) throw refuse('that names no address.');
  if (target.origin !== new URL(from.url).origin || target.username || target.password) {
    // A host name is lower case, so a credential in it can only be found in the address as it came.
    const told = redactText(location ?? '', secrets) === location ? target.origin : 'another origin';
    throw refuse(`to ${told}. It was not followed, so the credential stayed here. Is baseUrl right?`);
  }
  if (from.hops >= REDIRECTS) throw refuse(`for the ${from.hops + 1}th time; the address leads in a circle.`);
  if (from.method !== 'GET' && status !== 307 && status !== 308) {
    throw refuse('that would turn the request into a read. Is baseUrl right?');
  }
  return target.href;
}

async function readText(response: Response, channel: Channel): Promise<string> {
  const { maxResponseBytes, what, secrets } = channel;
  const tooLarge = () =>
    new ConnectionError(
      'RESPONSE_TOO_LARGE',
      `${what}: the answer is larger than ${maxResponseBytes} bytes (maxResponseBytes), so it was not read on.`,
    );
  // Counted as it streams: the length is only claimed, and a body may be endless or compressed.
  if (Number(response.headers.get('content-length')) > maxResponseBytes) throw tooLarge();
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  for (let size = 0; reader; ) {
    const { done, value } = await reader.read().catch((error) => {
      throw cutError(what, error, secrets);
    });
    if (done) break;
    size += value.byteLength;
    if (size > maxResponseBytes) throw tooLarge();
    chunks.push(value);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
