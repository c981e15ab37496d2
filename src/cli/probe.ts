// Sends one delivery as a stranger would, and reports whatever comes back.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface Delivery {
  readonly method: 'POST' | 'GET';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Sends the body one byte at a time, so slowly that it never ends. */
  readonly slowly?: boolean;
}

/** What came back: an answer, or the reason why there is none. */
export type Reply = { readonly ms: number } & (
  | { readonly status: number; readonly text: string; readonly failure?: undefined }
  | { readonly failure: string; readonly message: string; readonly status?: undefined }
);

const KEPT = 65_536;
const BYTE_EVERY_MS = 500;

/** Never rejects. Each delivery has a connection of its own, so that one cannot spoil the next. */
export async function probe(url: URL, delivery: Delivery, timeoutMs: number): Promise<Reply> {
  const start = performance.now();
  const ms = () => Math.round(performance.now() - start);
  const { method, headers, body } = delivery;
  const length = method === 'POST' ? { 'content-length': String(body.byteLength) } : {};
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const outgoing = send(url, { method, headers: { ...headers, ...length }, agent: false });
  const timer = setTimeout(() => outgoing.destroy(new TimedOut(timeoutMs)), timeoutMs);
  const stop = write(outgoing, delivery);
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on('response', resolve);
      outgoing.on('error', reject);
    });
    return { status: response.statusCode ?? 0, text: await read(response), ms: ms() };
  } catch (error) {
    const { code = 'FAILED', message } = error as NodeJS.ErrnoException;
    return { failure: code, message, ms: ms() };
  } finally {
    clearTimeout(timer);
    stop();
    outgoing.destroy();
  }
}

class TimedOut extends Error {
  readonly code = 'TIMED_OUT';

  constructor(ms: number) {
    super(`no answer within ${ms / 1_000} s`);
  }
}

/** @returns what stops the writing */
function write(outgoing: ClientRequest, { body, slowly = false }: Delivery): () => void {
  if (!slowly) {
    outgoing.end(body);
    return () => {};
  }
  let sent = 0;
  const next = () => {
    if (sent < body.byteLength - 1) outgoing.write(body.subarray(sent, sent + 1));
    sent += 1;
  };
  next();
  const timer = setInterval(next, BYTE_EVERY_MS);
  return () => clearInterval(timer);
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > KEPT) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
