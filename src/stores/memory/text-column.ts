// Many short texts by number, as bytes outside V8's heap: a garbage collection has none of them to mark or to copy.

const ROWS = 1_024;
/** In place of a length, for text that does not fit. */
const ELSEWHERE = 0xff;

export class TextColumn {
  /** A byte for the length, and one for each character. */
  readonly #width: number;
  readonly #pages: Uint8Array[] = [];
  /** What is too long, or not Latin-1. */
  readonly #others = new Map<number, string>();

  /** @param longest number of characters that fit: at most 254 */
  constructor(longest: number) {
    this.#width = longest + 1;
  }

  /** @param row at most one more than the largest so far */
  write(row: number, text: string): void {
    const page = this.#pageOf(row);
    const start = this.#startOf(row);
    if (page[start] === ELSEWHERE) this.#others.delete(row);
    const fits = this.#put(page, start + 1, text);
    page[start] = fits ? text.length : ELSEWHERE;
    if (!fits) this.#others.set(row, text);
  }

  holds(row: number, text: string): boolean {
    const page = this.#pageOf(row);
    const start = this.#startOf(row);
    if (page[start] === ELSEWHERE) return this.#others.get(row) === text;
    if (page[start] !== text.length) return false;
    for (let i = 0; i < text.length; i += 1) {
      if (page[start + 1 + i] !== text.charCodeAt(i)) return false;
    }
    return true;
  }

  read(row: number): string {
    const page = this.#pageOf(row);
    const start = this.#startOf(row);
    const length = page[start] as number;
    if (length === ELSEWHERE) return this.#others.get(row) as string;
    return String.fromCharCode(...page.subarray(start + 1, start + 1 + length));
  }

  /** Whether all of it fits. */
  #put(page: Uint8Array, start: number, text: string): boolean {
    if (text.length >= this.#width) return false;
    let units = 0;
    for (let i = 0; i < text.length; i += 1) {
      const unit = text.charCodeAt(i);
      page[start + i] = unit;
      units |= unit;
    }
    return units <= 0xff;
  }

  #pageOf(row: number): Uint8Array {
    const page = Math.floor(row / ROWS);
    this.#pages[page] ??= new Uint8Array(ROWS * this.#width);
    return this.#pages[page];
  }

  #startOf(row: number): number {
    return (row % ROWS) * this.#width;
  }
}
