// Station 5: result -> status, headers and body, written to the response once.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ANSWERS, type ErrorCode, Rejection } from '../errors.js';
import type { Result } from '../handlers/delivery.js';
import type { Outcome } from '../observer.js';

/** An answer, whichever server sends it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
}

/**
 * `gone`: the sender has left. `answered`: other code has already answered this request. `threw`: what the response threw,
 * because a middleware or an adapter has replaced one of its methods.
 */
export type Sent = 'sent' | 'gone' | 'answered' | { readonly threw: unknown };

/** The longest `Retry-After`, unless a handler asked for more. */
const MAX_RETRY_AFTER_S = 30;
/** How long the rest of a request is read and dropped after an answer that closes the connection. */
const LINGER_MS = 1_000;
/** Codes of refusals that are sent before the whole request has arrived. */
const UNFINISHED: ReadonlySet<ErrorCode> = new Set(['BODY_TIMEOUT', 'BODY_TOO_LARGE']);

const ACCEPTED: Record<Outcome, Answer> = {
  processed: answer(200, { received: true, outcome: 'processed' }),
  duplicate: answer(200, { received: true, outcome: 'duplicate' }),
  ignored: answer(200, { received: true, outcome: 'ignored' }),
  kept: answer(200, { received: true, outcome: 'kept' }),
};
/** The same for all four reasons, so that strangers learn nothing from it. */
const UNAUTHENTICATED = answer(401, { message: ANSWERS.SIGNATURE_MISMATCH.message });

/** Never sent: the sender disconnected before its request was complete. */
const UNSENT = answer(0, {});
/** For fetch, which needs a Response in any case. A sender that still reads it should retry. */
const LEFT = answer(
  503,
  { message: ANSWERS.BODY_ABORTED.message, code: 'BODY_ABORTED' },
  { 'Retry-After': '1' },
);

/**
 * The answer to a result. Nothing internal is in it.
 *
 * @param closing whether to close the connection: if it stayed open, it would be reset when the server closes
 */
export function respond(result: Result, closing: boolean): Answer {
  const answer = answerTo(result);
  return closing ? { ...answer, headers: { ...answer.headers, Connection: 'close' } } : answer;
}

function answerTo(result: Result): Answer {
  if (!(result instanceof Rejection)) return ACCEPTED[result];
  const { status, message } = ANSWERS[result.code];
  if (status === 401) return UNAUTHENTICATED;
  if (result.code === 'BODY_ABORTED') return UNSENT;
  const { code, issues, retryAfterMs } = result;
  // At least 1, also for what is not a number: a key function of a user may ask for anything.
  const ms = typeof retryAfterMs === 'number' ? retryAfterMs : 1_000;
  const asked = Math.max(Math.ceil(ms / 1_000) || 1, 1);
  const seconds = code === 'RETRY_LATER' ? asked : Math.min(asked, MAX_RETRY_AFTER_S);
  return answer(
    status,
    { message, code, ...(issues && { issues }) },
    {
      ...(status === 503 && { 'Retry-After': String(seconds) }),
      ...(UNFINISHED.has(code) && { Connection: 'close' }),
    },
  );
}

/** The answer for a server that speaks fetch. */
export function responseOf(answer: Answer): Response {
  const { status, headers, body } = answer.status === 0 ? LEFT : answer;
  return new Response(body, { status, headers });
}

/** Writes the answer unless the sender has left. The sender is never left waiting. */
export function send(req: IncomingMessage, res: ServerResponse, { status, headers, body }: Answer): Sent {
  try {
    // First: a response that other code has finished counts as destroyed soon after.
    if (res.headersSent) return 'answered';
    if (res.destroyed) return 'gone';
    if (status === 0) {
      // An `error` that a middleware emitted on the request has not ended its connection.
      if (!req.destroyed) res.destroy();
      return 'gone';
    }
    // Two statements: a replaced writeHead() may return nothing.
    const last = status >= 400 || headers.Connection !== undefined;
    res.writeHead(status, last ? refusalHeaders(req, res, headers) : headers);
    res.end(body);
    return 'sent';
  } catch (threw) {
    try {
      res.destroy();
    } catch {}
    return { threw };
  }
}

/** A refusal may close the connection before the whole body has arrived. */
function refusalHeaders(
  req: IncomingMessage,
  res: ServerResponse,
  headers: Answer['headers'],
): Answer['headers'] {
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
 * Node destroys the socket as soon as the last answer is sent. If bytes of the request are still unread, that sends a reset,
 * and the sender may lose the answer. So: close our half, discard what arrives for a moment, then destroy.
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
