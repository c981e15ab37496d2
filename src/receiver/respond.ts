// Station 6: outcome -> status, headers, body; and onto the wire, once.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Result } from '../delivery.js';
import { type ErrorCode, FAULTS, Fault } from '../errors.js';
import type { Outcome } from '../observer.js';

/** An answer, for whatever sends it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
}

/** `sent`; or nobody was there any more; or somebody else had answered this request already. */
export type Sent = 'sent' | 'gone' | 'answered';

const LONGEST_RETRY_AFTER_S = 30;
/** How long bytes that nobody wants are taken off the wire after an answer that closes the connection. */
const LINGER_MS = 1_000;
const CLOSING: ReadonlySet<ErrorCode> = new Set(['BODY_TIMEOUT', 'BODY_TOO_LARGE', 'CLOSING']);

const ACCEPTED: Record<Outcome, Answer> = {
  processed: answer(200, { received: true, outcome: 'processed' }),
  duplicate: answer(200, { received: true, outcome: 'duplicate' }),
  ignored: answer(200, { received: true, outcome: 'ignored' }),
};
/** One for all four reasons: a stranger learns nothing from it. */
const UNAUTHENTICATED = answer(401, { message: FAULTS.SIGNATURE_MISMATCH.message });

/** The sender has left, and half a request deserves no answer of ours. */
const UNSENT = answer(0, {});

/** The answer to a result: a table, with nothing internal in it. */
export function respond(result: Result): Answer {
  if (!(result instanceof Fault)) return ACCEPTED[result];
  const { status, message } = FAULTS[result.code];
  if (status === 401) return UNAUTHENTICATED;
  if (result.code === 'BODY_ABORTED') return UNSENT;
  const { code, issues, retryAfterMs } = result;
  const seconds = Math.min(Math.max(Math.ceil((retryAfterMs ?? 1_000) / 1_000), 1), LONGEST_RETRY_AFTER_S);
  return answer(
    status,
    { message, code, ...(issues && { issues }) },
    {
      ...(status === 503 && { 'Retry-After': String(seconds) }),
      ...(CLOSING.has(code) && { Connection: 'close' }),
    },
  );
}

/** Writes the answer in one call, unless nobody is left to read it. */
export function send(req: IncomingMessage, res: ServerResponse, { status, headers, body }: Answer): Sent {
  // First of all: a response that somebody has finished soon counts as destroyed as well.
  if (res.headersSent) return 'answered';
  if (status === 0 || res.destroyed) return 'gone';
  try {
    res.writeHead(status, status < 400 ? headers : lastWords(req, res, headers)).end(body);
    return 'sent';
  } catch {
    // A middleware patched the response, and its patch threw. The sender must not wait for ever.
    req.socket.destroy();
    return 'gone';
  }
}

/** A refusal may be the last on its connection, and come before the body has: such a connection is closed with care. */
function lastWords(req: IncomingMessage, res: ServerResponse, headers: Answer['headers']): Answer['headers'] {
  if (headers.Connection === undefined && res.shouldKeepAlive) return headers;
  if (req.httpVersionMajor < 2) {
    if (!req.complete) linger(req);
    return headers;
  }
  // HTTP/2 has no such header; Node would drop it, with a warning to the process.
  const { Connection: _, ...others } = headers;
  return others;
}

/**
 * Node destroys the socket as soon as the last answer on it is out. With bytes of the request still unread that
 * sends a reset, and the sender may lose the answer. So: close our half, discard what comes for a moment, then
 * destroy.
 */
function linger(req: IncomingMessage): void {
  const socket: Socket = req.socket;
  socket.destroySoon = () => {
    socket.end();
    req.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
    req.once('end', () => socket.destroy());
  };
}

function answer(status: number, json: object, headers: Record<string, string> = {}): Answer {
  const body = JSON.stringify(json);
  // Frozen: most answers are one object for all deliveries.
  return Object.freeze({
    status,
    headers: Object.freeze({
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      ...headers,
    }),
    body,
  });
}
