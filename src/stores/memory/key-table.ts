// A map whose keys are bytes: those of a Map are copied by V8 while they are young, and each time that it grows or is tidied.
import { TextColumn } from './text-column.js';

/** Where a key stands until it is deleted; 0 for one that is not there. */
export type Row = number;

/** Longer keys are kept too, as strings. */
const LONGEST = 63;
const FEWEST_BUCKETS = 64;

export class KeyTable<Value> {
  readonly #keys = new TextColumn(LONGEST);
  readonly #hashes: number[] = [0];
  readonly #values: (Value | undefined)[] = [undefined];
  /** The next row of the same bucket; of a free row, the next free one. */
  readonly #next: Row[] = [0];
  /** The first row of each; a power of two of them. */
  #buckets: Row[] = new Array(FEWEST_BUCKETS).fill(0);
  #free: Row = 0;

  find(key: string): Row {
    const hash = hashOf(key);
    let row = this.#buckets[this.#bucketOf(hash)] as Row;
    while (row !== 0 && !(this.#hashes[row] === hash && this.#keys.holds(row, key)))
      row = this.#next[row] as Row;
    return row;
  }

  get(row: Row): Value | undefined {
    return this.#values[row];
  }

  set(row: Row, value: Value): void {
    this.#values[row] = value;
  }

  /** @param key that is not there */
  add(key: string, value: Value): Row {
    const row = this.#free || this.#next.length;
    if (this.#free) this.#free = this.#next[row] as Row;
    else if (row > this.#buckets.length) this.#spread();
    this.#keys.write(row, key);
    this.#hashes[row] = hashOf(key);
    this.#values[row] = value;
    this.#link(row);
    return row;
  }

  /** Whether it was there, with this value: its row may have been given to another key since. */
  delete(row: Row, value: Value): boolean {
    if (this.#values[row] !== value) return false;
    const bucket = this.#bucketOf(this.#hashes[row] as number);
    const next = this.#next[row] as Row;
    let before = this.#buckets[bucket] as Row;
    if (before === row) this.#buckets[bucket] = next;
    else {
      while (this.#next[before] !== row) before = this.#next[before] as Row;
      this.#next[before] = next;
    }
    this.#values[row] = undefined;
    this.#next[row] = this.#free;
    this.#free = row;
    return true;
  }

  /** No row is free: all of them are in a bucket. */
  #spread(): void {
    this.#buckets = new Array(this.#buckets.length * 2).fill(0);
    for (let row = 1; row < this.#next.length; row += 1) this.#link(row);
  }

  #link(row: Row): void {
    const bucket = this.#bucketOf(this.#hashes[row] as number);
    this.#next[row] = this.#buckets[bucket] as Row;
    this.#buckets[bucket] = row;
  }

  #bucketOf(hash: number): number {
    return hash & (this.#buckets.length - 1);
  }
}

/** FNV-1a, 32 bits. Keys that share a hash only take longer to find, and nobody but the service chooses ids. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return hash;
}
