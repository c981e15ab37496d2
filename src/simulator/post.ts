// One POST over the wire, whole or broken on purpose, and how the endpoint answered it.
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Message } from './damage.js';
import type { Answered, HeaderPair } from './delivery.js';
import { after, cancel, elapsed, type Timer } from './real-time.js';
import { type Target, TargetRefused } from './target.js';

/** How an attempt ended: with an answer, or without one. */
export interface Outcome {
  readonly response: Answered | null;
  readonly error: { code: string; message: string } | null;
  readonly durationMs: number;
}

/** What goes over the wire, and how slowly where a fault wants it slow. */
export interface Parcel {
  readonly message: Message;
  readonly slowMs: number;
}

/** What is the same for every request of one simulator. */
export interface Wire {
  readonly agents: { readonly http: http.Agent; readonly https: https.Agent };
  readonly timeout: number;
  /** Requests under way, so that closing can end them. */
  readonly open: Set<ClientRequest>;
}

const MOST_RESPONSE = 64 * 1024;
const SLOW_PIECES = 10;
const RESET_AFTER_MS = 50;

/** Idle connections are kept only briefly: an endpoint that is restarted must not meet a request on an old one. */
export function makeWire(timeout: number): Wire {
  const options = { keepAlive: true, timeout: 1_500, maxFreeSockets: 256 };
  return {
    timeout,
    agents: { http: new http.Agent(options), https: new https.Agent(options) },
    open: new Set(),
  };
}

/** Resolves always: what goes wrong is an outcome. */
export function post(wire: Wire, target: Target, parcel: Parcel): Promise<Outcome> {
  return new Promise((resolve) => new Exchange(wire, resolve).begin(target, parcel));
}

/** One request and its answer. Whatever happens first settles it, and the rest changes nothing. */
class Exchange {
  readonly #wire: Wire;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #started = elapsed();
  readonly #timer: Timer;
  #request: ClientRequest | undefined;
  #answer: Capture | undefined;
  #settled = false;

  constructor(wire: Wire, resolve: (outcome: Outcome) => void) {
    this.#wire = wire;
    this.#resolve = resolve;
    this.#timer = after(wire.timeout, () => {
      this.#settle('TIMEOUT', `No answer within ${wire.timeout} ms.`);
      this.#request?.destroy();
    });
  }

  begin(target: Target, parcel: Parcel): void {
    const fail = (error: NodeJS.ErrnoException) => this.#settle(error.code, error.message);
    try {
      const request = open(this.#wire, target, parcel.message);
      this.#request = request;
      this.#wire.open.add(request);
      request.on('error', fail);
      request.on('close', () => this.#settle('ECONNRESET', 'The connection closed before an answer.'));
      request.on('response', (response) => {
        this.#answer = new Capture(response, () => this.#settle());
      });
      write(request, parcel);
    } catch (error) {
      fail(error as Error);
    }
  }

  /** With an answer, however little of it came, that is what counts. */
  #settle(code = 'UNKNOWN', message = 'No answer.'): void {
    if (this.#settled) return;
    this.#settled = true;
    cancel(this.#timer);
    const request = this.#request;
    if (request) this.#wire.open.delete(request);
    // Nobody waits for the rest of a body whose answer is here.
    if (!request?.writableFinished) request?.destroy();
    const response = this.#answer?.read() ?? null;
    const durationMs = Math.round((elapsed() - this.#started) * 10) / 10;
    this.#resolve({ response, error: response ? null : { code, message }, durationMs });
  }
}

function open({ agents }: Wire, target: Target, { headers }: Message): ClientRequest {
  if (target.refusal) throw new TargetRefused(target.refusal);
  const { secure, hostname, port, path, lookup } = target;
  return (secure ? https : http).request({
    ...{ method: 'POST', hostname, port, path },
    agent: secure ? agents.https : agents.http,
    lookup,
    // As a list, so that exactly these go out, in this order.
    headers: flat(headers),
  });
}

/** `Array.prototype.flat` takes ten times as long. */
function flat(headers: readonly HeaderPair[]): string[] {
  const list: string[] = [];
  for (const [name, value] of headers) list.push(name, value);
  return list;
}

function write(request: ClientRequest, { message: { manner, body }, slowMs }: Parcel): void {
  if (manner === 'slow') void writeSlowly(request, body, slowMs);
  else if (manner === 'truncated') request.write(body, () => request.socket?.end());
  // First let the half arrive: an endpoint that gets both at once may take the RST for an orderly end.
  else if (manner === 'reset') request.write(body, () => after(RESET_AFTER_MS, () => reset(request.socket)));
  // One write instead of two: Node puts text, of which each character is a byte here, behind the head.
  else request.end(body.toString('latin1'), 'latin1');
}

function reset(socket: Socket | null): void {
  // A TLS socket has no handle that could send RST.
  if (socket && 'encrypted' in socket) socket.destroy();
  else socket?.resetAndDestroy();
}

function writeSlowly(request: ClientRequest, body: Buffer, slowMs: number): void {
  const size = Math.max(1, Math.ceil(body.byteLength / SLOW_PIECES));
  const next = (from: number) => {
    if (request.destroyed) return;
    if (from >= body.byteLength) return void request.end();
    request.write(body.subarray(from, from + size));
    after(slowMs / SLOW_PIECES, () => next(from + size));
  };
  request.flushHeaders();
  next(0);
}

/** Collects the beginning of an answer, and gives up the connection when there is more. */
class Capture {
  readonly #response: IncomingMessage;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #whole = false;

  constructor(response: IncomingMessage, done: () => void) {
    this.#response = response;
    response.on('data', (chunk: Buffer) => {
      const room = MOST_RESPONSE - this.#bytes;
      this.#bytes += chunk.byteLength;
      if (room > 0) this.#chunks.push(chunk.byteLength > room ? chunk.subarray(0, room) : chunk);
      if (this.#bytes <= MOST_RESPONSE) return;
      done();
      response.destroy();
    });
    response.on('end', () => {
      this.#whole = response.complete;
      done();
    });
    response.on('error', done);
  }

  read(): Answered {
    const { statusCode = 0, rawHeaders } = this.#response;
    const headers: HeaderPair[] = [];
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      headers.push([rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '']);
    }
    // A decoded text holds no chunk of the socket alive.
    const body = this.#bytes === 0 ? '' : Buffer.concat(this.#chunks).toString('utf8');
    return { status: statusCode, headers, body, body_truncated: !this.#whole };
  }
}
