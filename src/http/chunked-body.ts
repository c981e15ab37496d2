// Collects a body of unknown length with raw-body, which is loaded for the first such body.
import { EventEmitter } from 'node:events';
import getRawBody from 'raw-body';
import type { BodyCollector, BodyFailure } from './sized-body.js';

const SLAB_BYTES = 16_384;

/** raw-body keeps every chunk, and a chunk of one byte takes 200 bytes, so it is given slabs. */
export class ChunkedBody implements BodyCollector {
  readonly #source = new EventEmitter();
  readonly #limit: number;
  #slab: Buffer | undefined;
  #used = 0;
  #received = 0;
  #result: Buffer | BodyFailure | undefined;

  constructor(limit: number) {
    this.#limit = limit;
    getRawBody(this.#source as unknown as NodeJS.ReadableStream, { limit, length: null }, (error, bytes) => {
      const failure = error?.type === 'entity.too.large' ? 'too large' : 'other length';
      this.#result = error ? failure : bytes;
    });
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
