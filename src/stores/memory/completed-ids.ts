// Completed events of the memory store, in columns: a hundred thousand objects would be copied by every garbage collection.
import type { KeyTable, Row } from './key-table.js';
import { TextColumn } from './text-column.js';

/** What a completed event is known by until it is forgotten: counted up with every completion. */
export type Serial = number;

/** The caller makes room before it adds: it never holds more than its capacity. */
export class CompletedIds {
  readonly #capacity: number;
  /** The owner's: it has something else for each event that is not completed. */
  readonly #events: KeyTable<unknown>;
  // A ring: what was completed as number n stands in slot n % capacity of each.
  readonly #rows: Row[] = [];
  readonly #fingerprints = new TextColumn(15);
  readonly #forgetAt: number[] = [];
  size = 0;
  #oldest: Serial = 0;
  #next: Serial = 0;

  constructor(capacity: number, events: KeyTable<unknown>) {
    this.#capacity = capacity;
    this.#events = events;
  }

  fingerprintOf(serial: Serial): string {
    return this.#fingerprints.read(serial % this.#capacity);
  }

  /** Whether the time is over for which it is remembered. */
  isOver(serial: Serial, now: number): boolean {
    return (this.#forgetAt[serial % this.#capacity] as number) <= now;
  }

  add(row: Row, fingerprint: string, forgetAt: number): Serial {
    // Full, though fewer are remembered: only a clock that goes back can bring that about. No slot is written over.
    if (this.#next - this.#oldest === this.#capacity) this.#dropOldest();
    const serial = this.#next;
    const slot = serial % this.#capacity;
    this.#next += 1;
    this.size += 1;
    this.#events.set(row, serial);
    this.#rows[slot] = row;
    this.#fingerprints.write(slot, fingerprint);
    this.#forgetAt[slot] = forgetAt;
    return serial;
  }

  /** Whether it was still remembered: it may have been forgotten, or completed again, since. */
  forget(row: Row, serial: Serial): boolean {
    if (!this.#events.delete(row, serial)) return false;
    this.size -= 1;
    return true;
  }

  /** Whether there was one to forget. */
  forgetOldest(): boolean {
    while (this.#oldest < this.#next) if (this.#dropOldest()) return true;
    return false;
  }

  forgetOldestIfOver(now: number): void {
    if (this.#oldest < this.#next && this.isOver(this.#oldest, now)) this.#dropOldest();
  }

  #dropOldest(): boolean {
    const serial = this.#oldest;
    this.#oldest += 1;
    return this.forget(this.#rows[serial % this.#capacity] as Row, serial);
  }
}
