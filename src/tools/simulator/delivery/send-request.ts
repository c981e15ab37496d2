// Sends one POST request, intact or broken by a fault, and reads the response.
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Targets } from '../address/targets.js';
import { after, cancel, monotonicNow } from '../real-time.js';
import type { FaultKind } from './faults.js';
import type { AttemptResult, EndpointResponse, HeaderPair } from './simulated-delivery.js';

interface OutgoingRequest {
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
  /** Decides how the body is written. */
  readonly fault: FaultKind | null;
  /** How long the fault `slow_body` takes. */
  readonly slowMs: number;
  /** Called once, before the result is recorded. @param body the bytes of the response, at most 64 KiB */
  readonly answered?: ((result: AttemptResult, body: Buffer) => void) | undefined;
}

// Idle connections close soon, so that a restarted endpoint gets no request on a stale one.
const AGENT = { keepAlive: true, timeout: 1_500, maxFreeSockets: 256 };
const MAX_RESPONSE_BODY = 64 * 1024;
const SLOW_PIECES = 10;
const RESET_AFTER_MS = 50;

/** Sends requests, and keeps their connections open for the next ones. */
export function requestSender(timeoutMs: number, targets: Targets) {
  const httpAgent = new http.Agent(AGENT);
  const httpsAgent = new https.Agent(AGENT);

  const connect = ({ url: text, headers }: OutgoingRequest): ClientRequest => {
    const url = new URL(text);
    const lookup = targets.lookupFor(url);
    // Headers as a list: exactly these are sent, in this order.
    const options = { method: 'POST', lookup, headers: headers.flat() };
    if (url.protocol === 'https:') return https.request(url, { ...options, agent: httpsAgent });
    return http.request(url, { ...options, agent: httpAgent });
  };

  /** Never rejects: a failure is a result too. The first outcome settles it. */
  const send = (outgoing: OutgoingRequest): Promise<AttemptResult> =>
    new Promise((resolve) => {
      const started = monotonicNow();
      let settled = false;
      let request: ClientRequest | undefined;
      let received: (() => { response: EndpointResponse; bytes: Buffer }) | undefined;
      const settle = (code = 'UNKNOWN', message = 'The endpoint did not answer.') => {
        if (settled) return;
        settled = true;
        cancel(timer);
        // Once the response is here, the rest of the request body is not needed.
        if (!request?.writableFinished) request?.destroy();
        // A response counts, even a partial one.
        const { response = null, bytes = Buffer.alloc(0) } = received?.() ?? {};
        const durationMs = Math.round((monotonicNow() - started) * 10) / 10;
        const result = { response, error: response ? null : { code, message }, durationMs };
        outgoing.answered?.(result, bytes);
        resolve(result);
      };
      const fail = (error: NodeJS.ErrnoException) => settle(error.code || undefined, messageOf(error));
      const timer = after(timeoutMs, () => {
        settle('TIMEOUT', `The endpoint did not answer within ${timeoutMs} ms.`);
        request?.destroy();
      });
      try {
        request = connect(outgoing);
        request.on('error', fail);
        request.on('close', () =>
          settle('ECONNRESET', 'The connection closed before the endpoint answered.'),
        );
        request.on('response', (response) => {
          received = collect(response, settle);
        });
        writeBody(request, outgoing);
      } catch (error) {
        fail(error as Error);
      }
    });

  /** Closes every connection: the requests in flight settle as failed. */
  const abort = () => {
    httpAgent.destroy();
    httpsAgent.destroy();
  };
  return { send, abort };
}

/** The error for several addresses has no message, only a list of errors. */
function messageOf(error: Error & { readonly errors?: readonly Error[] }): string | undefined {
  return error.message || error.errors?.map(({ message }) => message).join(', ') || undefined;
}

function writeBody(request: ClientRequest, { body, fault, slowMs }: OutgoingRequest): void {
  if (fault === 'slow_body') writeSlowly(request, body, slowMs);
  else if (fault === 'truncate_body') request.write(body, () => request.socket?.end());
  // Delayed: an endpoint that gets the RST right after the partial body may see a normal end.
  else if (fault === 'reset_connection')
    request.write(body, () => after(RESET_AFTER_MS, () => reset(request.socket)));
  // As latin1, Node sends headers and body in one write, and keeps every byte.
  else request.end(body.toString('latin1'), 'latin1');
}

function reset(socket: Socket | null): void {
  // A TLS socket has no handle that could send RST.
  if (socket && 'encrypted' in socket) socket.destroy();
  else socket?.resetAndDestroy();
}

function writeSlowly(request: ClientRequest, body: Buffer, slowMs: number): void {
  const size = Math.max(1, Math.ceil(body.byteLength / SLOW_PIECES));
  const writeFrom = (start: number) => {
    if (request.destroyed) return;
    if (start >= body.byteLength) return void request.end();
    request.write(body.subarray(start, start + size));
    after(slowMs / SLOW_PIECES, () => writeFrom(start + size));
  };
  request.flushHeaders();
  writeFrom(0);
}

/** Collects the first 64 KiB of a response, and drops the connection of a longer one. @returns what has arrived so far */
function collect(response: IncomingMessage, done: () => void) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let complete = false;
  response.on('data', (chunk: Buffer) => {
    const room = MAX_RESPONSE_BODY - bytes;
    bytes += chunk.byteLength;
    if (room > 0) chunks.push(chunk.subarray(0, room));
    if (bytes <= MAX_RESPONSE_BODY) return;
    done();
    response.destroy();
  });
  response.on('end', () => {
    complete = response.complete;
    done();
  });
  response.on('error', () => done());
  return () => {
    const { statusCode: status = 0, rawHeaders } = response;
    const bytes = Buffer.concat(chunks);
    // As text, so that no buffer of the socket stays in memory.
    const body = bytes.toString('utf8');
    return { response: { status, headers: headerPairs(rawHeaders), body, body_truncated: !complete }, bytes };
  };
}

export function headerPairs(raw: readonly string[]): HeaderPair[] {
  return raw.flatMap((name, index): HeaderPair[] => (index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : []));
}
