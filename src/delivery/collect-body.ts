// Collects the chunks of a body into no more memory than its own bytes and one slab, whatever the size of its chunks.
import { EventEmitter } from 'node:events';
import getRawBody from 'raw-body';

/** Why there is no body. */
export type Unread = 'aborted' | 'timeout' | 'other length' | 'text' | 'too large' | 'no memory';

export interface BodyRules {
  /** Of the body as announced; undefined when it is not. */
  readonly length: number | undefined;
  /** Bytes. */
  readonly limit: number;
  /** Milliseconds for the whole body to arrive. */
  readonly timeout: number;
}

/** Takes the chunks of one body. Both methods throw when there is no memory for it. */
export interface BodyCollector {
  /** Keeps the chunk or a copy of it. Anything but `undefined` ends the reading. */
  add(chunk: Buffer): Unread | undefined;
  end(): Buffer | Unread;
}

export function collectBody({ length, limit }: Pick<BodyRules, 'length' | 'limit'>): BodyCollector {
  return length ? new AnnouncedBody(length) : new ChunkedBody(limit, length);
}

/** Takes whatever a collector throws for a lack of memory: thrown in a listener of a stream, it would end the process. */
export function attempt<Result>(step: () => Result): Result | 'no memory' {
  try {
    return step();
  } catch {
    return 'no memory';
  }
}

/** A body with a Content-Length. Each chunk from Node has its own memory, so a body in one chunk is that chunk. */
class AnnouncedBody implements BodyCollector {
  readonly #length: number;
  #bytes: Buffer | undefined;
  #received = 0;

  constructor(length: number) {
    this.#length = length;
  }

  add(chunk: Buffer): Unread | undefined {
    if (this.#received + chunk.length > this.#length) return 'other length';
    if (chunk.length === this.#length) {
      this.#bytes = chunk;
    } else {
      // Not from the pool, a page of which a small body would hold.
      this.#bytes ??= Buffer.allocUnsafeSlow(this.#length);
      chunk.copy(this.#bytes, this.#received);
    }
    this.#received += chunk.length;
    return undefined;
  }

  end(): Buffer | Unread {
    return this.#bytes && this.#received === this.#length ? this.#bytes : 'other length';
  }
}

const SLAB_BYTES = 16_384;

/** A body of unknown length, read by raw-body. That keeps each chunk, and a chunk of one byte takes two hundred, so it is given slabs. */
class ChunkedBody implements BodyCollector {
  readonly #source = new EventEmitter();
  readonly #limit: number;
  #slab: Buffer | undefined;
  #used = 0;
  #received = 0;
  #result: Buffer | Unread | undefined;

  constructor(limit: number, length: number | undefined) {
    this.#limit = limit;
    getRawBody(
      this.#source as unknown as NodeJS.ReadableStream,
      { limit, length: length ?? null },
      (error, bytes) => {
        this.#result = error ? reasonOf(error) : bytes;
      },
    );
  }

  add(chunk: Buffer): Unread | undefined {
    this.#received += chunk.length;
    for (let at = 0; at < chunk.length && !this.#result; ) {
      this.#slab ??= Buffer.allocUnsafeSlow(SLAB_BYTES);
      const copied = chunk.copy(this.#slab, this.#used, at);
      at += copied;
      this.#used += copied;
      if (this.#used === SLAB_BYTES || this.#received > this.#limit) this.#passOn();
    }
    return this.#result as Unread | undefined;
  }

  end(): Buffer | Unread {
    this.#passOn();
    this.#source.emit('end');
    return this.#result ?? 'aborted';
  }

  #passOn(): void {
    if (this.#slab) this.#source.emit('data', this.#slab.subarray(0, this.#used));
    this.#slab = undefined;
    this.#used = 0;
  }
}

function reasonOf({ type }: { readonly type?: string }): Unread {
  return type === 'entity.too.large' ? 'too large' : 'other length';
}
