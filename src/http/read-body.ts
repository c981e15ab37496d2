// Reads the bytes of a body from a stream of Node or of fetch, within a limit and a deadline.
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { clearImmediate, setImmediate } from 'node:timers';
import getRawBody from 'raw-body';

/** Why there is no body. */
export type BodyFailure = 'aborted' | 'timeout' | 'other length' | 'text' | 'too large' | 'no memory';

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
    const collector = collectBody(rules);
    let deadline: NodeJS.Timeout | undefined;
    // Most bodies arrive with their headers and need no timer, which costs eight times as much as an immediate.
    const arming = setImmediate(() => {
      // After a blocked event loop timers run before the network, so first read what has arrived.
      deadline = setTimeout(() => setImmediate(settle, 'timeout'), rules.timeout);
    });
    const settle = (body: Buffer | BodyFailure) => {
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
    stream.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
    // A middleware may have paused it, and will not resume it again.
    stream.resume();
  });
}

/** Reads the body of a fetch Request, which must be unread and not locked. Never rejects. */
export async function readWebBody(request: Request, rules: BodyRules): Promise<Buffer | BodyFailure> {
  if (!request.body) return attempt(() => collectBody(rules).end());
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

/** Collects the chunks of one body. Both methods throw when out of memory. */
interface BodyCollector {
  /** Keeps the chunk or a copy of it. @returns a failure, which ends the reading */
  add(chunk: Buffer): BodyFailure | undefined;
  end(): Buffer | BodyFailure;
}

export function collectBody({ length, limit }: Pick<BodyRules, 'length' | 'limit'>): BodyCollector {
  return length ? new SizedBody(length) : new ChunkedBody(limit, length);
}

/** A collector only throws when out of memory. Thrown in a stream listener, that would end the process. */
function attempt<Result>(step: () => Result): Result | 'no memory' {
  try {
    return step();
  } catch {
    return 'no memory';
  }
}

/** A body with a Content-Length. Each chunk from Node has its own memory, so a body in one chunk is that chunk. */
class SizedBody implements BodyCollector {
  readonly #length: number;
  #bytes: Buffer | undefined;
  #received = 0;

  constructor(length: number) {
    this.#length = length;
  }

  add(chunk: Buffer): BodyFailure | undefined {
    if (this.#received + chunk.length > this.#length) return 'other length';
    if (chunk.length === this.#length) {
      this.#bytes = chunk;
    } else {
      // Not from the pool: a small body would retain a whole slab of the pool.
      this.#bytes ??= Buffer.allocUnsafeSlow(this.#length);
      chunk.copy(this.#bytes, this.#received);
    }
    this.#received += chunk.length;
    return undefined;
  }

  end(): Buffer | BodyFailure {
    return this.#bytes && this.#received === this.#length ? this.#bytes : 'other length';
  }
}

const SLAB_BYTES = 16_384;

/** A body of unknown length. raw-body keeps every chunk, and a chunk of one byte takes 200 bytes, so it is given slabs. */
class ChunkedBody implements BodyCollector {
  readonly #source = new EventEmitter();
  readonly #limit: number;
  #slab: Buffer | undefined;
  #used = 0;
  #received = 0;
  #result: Buffer | BodyFailure | undefined;

  constructor(limit: number, length: number | undefined) {
    this.#limit = limit;
    getRawBody(
      this.#source as unknown as NodeJS.ReadableStream,
      { limit, length: length ?? null },
      (error, bytes) => {
        const failure = error?.type === 'entity.too.large' ? 'too large' : 'other length';
        this.#result = error ? failure : bytes;
      },
    );
  }

  add(chunk: Buffer): BodyFailure | undefined {
    this.#received += chunk.length;
    for (let at = 0; at < chunk.length && !this.#result; ) {
      this.#slab ??= Buffer.allocUnsafeSlow(SLAB_BYTES);
      const copied = chunk.copy(this.#slab, this.#used, at);
      at += copied;
      this.#used += copied;
      if (this.#used === SLAB_BYTES || this.#received > this.#limit) this.#flush();
    }
    return this.#result as BodyFailure | undefined;
  }

  end(): Buffer | BodyFailure {
    this.#flush();
    this.#source.emit('end');
    return this.#result ?? 'aborted';
  }

  #flush(): void {
    if (this.#slab) this.#source.emit('data', this.#slab.subarray(0, this.#used));
    this.#slab = undefined;
    this.#used = 0;
  }
}
