// Completed events of the memory store, in columns: a hundred thousand objects would be copied by every garbage collection.

/** What a completed event is known by until it is forgotten: counted up with every completion. */
export type Serial = number;

/** The caller makes room before it adds: it never holds more than its capacity. */
export class CompletedIds {
  readonly #capacity: number;
  /** The owner's: it has something else for each event that is not completed. */
  readonly #serials: Map<string, unknown>;
  // A ring: what was completed as number n stands in slot n % capacity of each.
  readonly #keys: string[] = [];
  readonly #fingerprints: string[] = [];
  readonly #forgetAt: number[] = [];
  size = 0;
  #oldest: Serial = 0;
  #next: Serial = 0;

  constructor(capacity: number, serials: Map<string, unknown>) {
    this.#capacity = capacity;
    this.#serials = serials;
  }

  fingerprintOf(serial: Serial): string {
    return this.#fingerprints[serial % this.#capacity] as string;
  }

  /** Whether the time is over for which it is remembered. */
  isOver(serial: Serial, now: number): boolean {
    return (this.#forgetAt[serial % this.#capacity] as number) <= now;
  }

  add(key: string, fingerprint: string, forgetAt: number): Serial {
    // Full, though fewer are remembered: only a clock that goes back can bring that about. No slot is written over.
    if (this.#next - this.#oldest === this.#capacity) this.#dropOldest();
    const serial = this.#next;
    const slot = serial % this.#capacity;
    this.#next += 1;
    this.size += 1;
    this.#serials.set(key, serial);
    this.#keys[slot] = key;
    this.#fingerprints[slot] = fingerprint;
    this.#forgetAt[slot] = forgetAt;
    return serial;
  }

  /** @param key of an event that is completed */
  forget(key: string): void {
    this.#serials.delete(key);
    this.size -= 1;
  }

  /** Whether there was one to forget. */
  forgetOldest(): boolean {
    while (this.#oldest < this.#next) if (this.#dropOldest()) return true;
    return false;
  }

  forgetOldestIfOver(now: number): void {
    if (this.#oldest < this.#next && this.isOver(this.#oldest, now)) this.#dropOldest();
  }

  /** Whether it was still remembered: it may have been forgotten, or completed again, since. */
  #dropOldest(): boolean {
    const serial = this.#oldest;
    const key = this.#keys[serial % this.#capacity] as string;
    this.#oldest += 1;
    if (this.#serials.get(key) !== serial) return false;
    this.forget(key);
    return true;
  }
}
