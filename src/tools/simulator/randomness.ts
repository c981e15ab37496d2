// Random ids and probabilities; with a seed they are the same in every run.
import { createHash, randomBytes, randomUUID } from 'node:crypto';

export class Randomness {
  readonly #seed: string | undefined;
  /** How many values the seed has produced. The state file keeps it, so that ids do not repeat after a restart. */
  drawn = 0;

  constructor(seed: string | number | undefined) {
    this.#seed = seed === undefined ? undefined : String(seed);
  }

  uuid(): string {
    if (this.#seed === undefined) return randomUUID();
    const hex = this.#draw().toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }

  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean {
    if (probability >= 1) return true;
    const bytes = this.#seed === undefined ? randomBytes(6) : this.#draw();
    return bytes.readUIntBE(0, 6) / 2 ** 48 < probability;
  }

  #draw(): Buffer {
    this.drawn += 1;
    return createHash('sha256').update(`${this.#seed}:${this.drawn}`).digest();
  }
}
