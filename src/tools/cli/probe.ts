// Sends one delivery, and returns the answer or why no answer came.
import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { MAX_TIMER_MS } from '../../time.js';

export interface Delivery {
  readonly method: 'POST' | 'GET';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Sends the body one byte at a time, so slowly that it never ends. */
  readonly slowly?: boolean;
}

export interface Answer {
  readonly ms: number;
  readonly status: number;
  readonly text: string;
  readonly setsCookie: boolean;
}

export interface NoAnswer {
  readonly ms: number;
  /** The code of the error. */
  readonly failure: string;
  readonly message: string;
}

export type Reply = Answer | NoAnswer;

const MAX_ANSWER_BYTES = 65_536;
const BYTE_EVERY_MS = 500;

/** Never rejects. Each delivery has its own connection, so that it cannot affect the next. */
export async function probe(url: URL, delivery: Delivery, timeoutMs: number): Promise<Reply> {
  const start = performance.now();
  const ms = () => Math.round(performance.now() - start);
  const { method, headers, body } = delivery;
  const length = method === 'POST' ? { 'content-length': String(body.byteLength) } : {};
  const protocol = url.protocol === 'https:' ? https : http;
  // Not `agent: false`, which ignores NODE_USE_ENV_PROXY: the options of the global agent name the proxy.
  const { options } = protocol.globalAgent as { readonly options?: http.AgentOptions };
  const agent = new protocol.Agent({ ...options, keepAlive: false });
  const outgoing = protocol.request(url, { method, headers: { ...headers, ...length }, agent });
  // After the answer has begun, nothing else listens for errors.
  outgoing.on('error', () => {});
  const timedOut = Object.assign(new Error(`no answer within ${timeoutMs / 1_000} s`), { code: 'TIMED_OUT' });
  const timer = setTimeout(() => outgoing.destroy(timedOut), Math.min(timeoutMs, MAX_TIMER_MS));
  const writing = write(outgoing, delivery);
  try {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const { statusCode: status = 0, headers: answered } = response;
    return { status, text: await read(response), setsCookie: 'set-cookie' in answered, ms: ms() };
  } catch (error) {
    const { code = 'FAILED', message } = error as NodeJS.ErrnoException;
    // An AggregateError, for several addresses, has no message.
    return { failure: code, message: message || code, ms: ms() };
  } finally {
    clearTimeout(timer);
    clearInterval(writing);
    outgoing.destroy();
  }
}

/** @returns the timer that writes the rest of a slow body */
function write(outgoing: ClientRequest, { body, slowly }: Delivery): NodeJS.Timeout | undefined {
  if (!slowly) {
    outgoing.end(body);
    return undefined;
  }
  let sent = 0;
  const next = () => {
    if (sent < body.byteLength - 1) outgoing.write(body.subarray(sent, sent + 1));
    sent += 1;
  };
  next();
  return setInterval(next, BYTE_EVERY_MS);
}

/** Reads what arrives of the body. A cut or endless body is not a failure: the status has arrived. */
async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) break;
    }
  } catch {}
  return Buffer.concat(chunks).toString('utf8');
}
