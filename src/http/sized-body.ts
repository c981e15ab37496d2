// Collects a body of announced length. Others are collected by chunked-body.ts.

/** Why there is no body. */
export type BodyFailure =
  | 'aborted'
  | 'timeout'
  | 'other length'
  | 'text'
  | 'too large'
  | 'no memory'
  | 'not loaded';

/** Collects the chunks of one body. Both methods throw when out of memory. */
export interface BodyCollector {
  /** Keeps the chunk or a copy of it. @returns a failure, which ends the reading */
  add(chunk: Buffer): BodyFailure | undefined;
  end(): Buffer | BodyFailure;
}

/** A body with a Content-Length. Each chunk from Node has its own memory, so a body in one chunk is that chunk. */
export class SizedBody implements BodyCollector {
  readonly #length: number;
  #bytes: Buffer | undefined;
  #received = 0;

  constructor(length: number) {
    this.#length = length;
    if (length === 0) this.#bytes = Buffer.alloc(0);
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
