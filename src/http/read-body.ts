// Reads the bytes of a body from a stream of Node or of fetch, within a limit and a deadline.
import type { IncomingMessage } from 'node:http';
import { clearImmediate, setImmediate } from 'node:timers';
import { type BodyCollector, type BodyFailure, SizedBody } from './sized-body.js';

export interface BodyRules {
  /** The announced length of the body; undefined if it is not announced. */
  readonly length: number | undefined;
  /** Bytes. */
  readonly limit: number;
  /** Milliseconds for the whole body to arrive. */
  readonly timeout: number;
}

/** Reads the body of a Node request. Every listener costs a microsecond with Express 5 on Node 20. */
export function readBody(stream: IncomingMessage, rules: BodyRules): Promise<Buffer | BodyFailure> {
  return new Promise((resolve) => {
    let collector: BodyCollector;
    let settled = false;
    let deadline: NodeJS.Timeout | undefined;
    // Most bodies arrive with their headers and need no timer, which costs eight times as much as an immediate.
    const arming = setImmediate(() => {
      // After a blocked event loop timers run before the network, so first read what has arrived.
      deadline = setTimeout(() => setImmediate(settle, 'timeout'), rules.timeout);
    });
    const settle = (body: Buffer | BodyFailure) => {
      settled = true;
      clearImmediate(arming);
      clearTimeout(deadline);
      stream.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      resolve(body);
    };
    const onData = (chunk: unknown) => {
      const refused = attempt(() =>
        Buffer.isBuffer(chunk) ? collector.add(chunk) : add(collector, chunk, rules.limit),
      );
      if (refused) settle(refused);
    };
    // Not at the last byte: only when its request has ended does `server.close()` treat the connection as idle.
    const onEnd = () => settle(attempt(() => collector.end()));
    const onClose = () => settle('aborted');
    const collectWith = (ready: BodyCollector | 'not loaded') => {
      if (settled) return;
      if (ready === 'not loaded') return settle(ready);
      collector = ready;
      stream.on('data', onData).on('end', onEnd);
      // A middleware may have paused it, and will not resume it again.
      stream.resume();
    };
    // Before raw-body is loaded: without a listener, an 'error' meanwhile would end the process.
    stream.on('close', onClose).on('error', onClose);
    const made = collectorOf(rules);
    if (!('then' in made)) return collectWith(made);
    stream.pause();
    made.then(collectWith);
  });
}

/** Reads the body of a fetch Request, which must be unread and not locked. Never rejects. */
export async function readWebBody(request: Request, rules: BodyRules): Promise<Buffer | BodyFailure> {
  if (!request.body) return rules.length ? 'other length' : Buffer.alloc(0);
  if (senderHasLeft(request)) return 'aborted';
  const { signal } = request;
  const reader = request.body.getReader();
  let stop = (_why: BodyFailure) => {};
  const stopped = new Promise<BodyFailure>((resolve) => {
    stop = resolve;
  });
  const onAbort = () => stop('aborted');
  signal?.addEventListener('abort', onAbort);
  // After a blocked event loop timers run before the network, so first read what has arrived.
  const deadline = setTimeout(() => setImmediate(stop, 'timeout'), rules.timeout);
  const body = await Promise.race([readAll(reader, rules), stopped]);
  clearTimeout(deadline);
  signal?.removeEventListener('abort', onAbort);
  if (typeof body === 'string') reader.cancel().catch(() => {});
  return body;
}

async function readAll(
  reader: ReadableStreamDefaultReader<unknown>,
  rules: BodyRules,
): Promise<Buffer | BodyFailure> {
  const collector = await collectorOf(rules);
  if (collector === 'not loaded') return collector;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const ended = attempt(() => (done ? collector.end() : add(collector, value, rules.limit)));
      if (ended) return ended;
    }
  } catch {
    return 'aborted';
  }
}

/** Adds a copy: the chunk may be a view of larger memory, or of memory that is used again. */
function add(collector: BodyCollector, chunk: unknown, limit: number): BodyFailure | undefined {
  if (!ArrayBuffer.isView(chunk)) return 'text';
  if (chunk.byteLength > limit) return 'too large';
  const copy = Buffer.allocUnsafeSlow(chunk.byteLength);
  copy.set(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  return collector.add(copy);
}

/** Whether the sender has disconnected, as far as the server tells. */
export function senderHasLeft({ signal }: Request): boolean {
  return signal?.aborted ?? false;
}

let Chunked: typeof import('./chunked-body.js').ChunkedBody | undefined;

/** Returns a promise only until raw-body is loaded. It never rejects. */
function collectorOf({ length, limit }: BodyRules): BodyCollector | Promise<BodyCollector | 'not loaded'> {
  if (length !== undefined) return new SizedBody(length);
  if (Chunked) return new Chunked(limit);
  const loading = import('./chunked-body.js').then(({ ChunkedBody }) => {
    Chunked = ChunkedBody;
    return new ChunkedBody(limit);
  });
  return loading.catch(() => 'not loaded' as const);
}

/** A collector only throws when out of memory. Thrown in a stream listener, that would end the process. */
function attempt<Result>(step: () => Result): Result | 'no memory' {
  try {
    return step();
  } catch {
    return 'no memory';
  }
}
