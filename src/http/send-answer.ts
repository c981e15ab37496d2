// Writes an answer to a response of node:http, once, also if the request was not read to its end.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

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

/** How long the rest of a request is read and dropped after an answer that closes the connection. */
const LINGER_MS = 1_000;
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

/** An answer with JSON. */
export function jsonAnswer(status: number, json: object, headers: Record<string, string> = {}): Answer {
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
