// Shows the shape of a payload without its values: what a person needs to see why it does not fit.
import { isFieldName } from '../../../events/issues.js';

const MOST_VALUES = 10_000;
const DEEPEST = 32;
/** Stands for what is left out. */
const MORE = '…';

/**
 * Each value is the name of its type; keys and lists stay. A key that does not look like a field is `*`, because it may be
 * a name or an address. The same rule decides what a log line may say of a path.
 */
export function masked(value: unknown): unknown {
  return new Mask().of(value, 0);
}

class Mask {
  #values = 0;

  of(value: unknown, depth: number): unknown {
    this.#values += 1;
    if (this.#values > MOST_VALUES || depth > DEEPEST) return MORE;
    if (value === null) return 'null';
    if (Array.isArray(value)) return this.#list(value, depth);
    return typeof value === 'object' ? this.#fields(value, depth) : typeof value;
  }

  #list(values: readonly unknown[], depth: number): unknown[] {
    const shown: unknown[] = [];
    for (const value of values) {
      shown.push(this.of(value, depth + 1));
      if (this.#values > MOST_VALUES) break;
    }
    return shown;
  }

  #fields(fields: object, depth: number): object {
    const shown = new Map<string, unknown>();
    let hidden = 0;
    for (const [key, value] of Object.entries(fields)) {
      if (!isFieldName(key)) hidden += 1;
      const name = isFieldName(key) ? key : hidden === 1 ? '*' : `* ${hidden}`;
      shown.set(name, this.of(value, depth + 1));
      if (this.#values > MOST_VALUES) break;
    }
    return Object.fromEntries(shown);
  }
}

const PLAIN_HEADERS: ReadonlySet<string> = new Set(['content-type', 'content-length', 'user-agent', 'date']);

/** Headers that say nothing of a person stay; of the others only the names. */
export function maskedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, PLAIN_HEADERS.has(name) ? value : 'string']),
  );
}
