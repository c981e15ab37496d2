// Reads the body of a fetch Request, within its limit and its time.
import { setImmediate } from 'node:timers';
import { hasLeft } from './check-request.js';
import { attempt, type BodyCollector, type BodyRules, collectBody, type Unread } from './collect-body.js';

type ChunkReader = ReadableStreamDefaultReader<unknown>;

/** Never rejects. The body must neither have been read nor be locked. */
export async function readWebBody(request: Request, rules: BodyRules): Promise<Buffer | Unread> {
  if (!request.body) return attempt(() => collectBody(rules).end());
  if (hasLeft(request)) return 'aborted';
  const { signal } = request;
  const reader = request.body.getReader();
  let stop = (_why: Unread) => {};
  const stopped = new Promise<Unread>((resolve) => {
    stop = resolve;
  });
  const onAbort = () => stop('aborted');
  signal?.addEventListener('abort', onAbort);
  // Not before what has arrived is read: after a blocked event loop, timers come before the network.
  const deadline = setTimeout(() => setImmediate(stop, 'timeout'), rules.timeout);
  const body = await Promise.race([readAll(reader, rules), stopped]);
  clearTimeout(deadline);
  signal?.removeEventListener('abort', onAbort);
  if (typeof body === 'string') reader.cancel().catch(() => {});
  return body;
}

async function readAll(reader: ChunkReader, rules: BodyRules): Promise<Buffer | Unread> {
  const collector = collectBody(rules);
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

/** Adds a copy: the chunk may be a view of memory that is larger, or that is used again. */
function add(collector: BodyCollector, chunk: unknown, limit: number): Unread | undefined {
  if (!ArrayBuffer.isView(chunk)) return 'text';
  if (chunk.byteLength > limit) return 'too large';
  const copy = Buffer.allocUnsafeSlow(chunk.byteLength);
  copy.set(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
  return collector.add(copy);
}
