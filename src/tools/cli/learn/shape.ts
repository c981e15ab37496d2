// What the values in one place have in common: types, fields, and the form of texts.

/** Forms of text, each with a made-up example. The first match counts. */
const LOOKS: readonly (readonly [pattern: RegExp, madeUp: string])[] = [
  [/^$/, ''],
  [/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i, '00000000-0000-4000-8000-000000000001'],
  [/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$/, '2030-01-31T12:00:00Z'],
  [/^\d{4}-\d\d-\d\d$/, '2030-01-31'],
  [/^[^\s@]+@[^\s@]+$/, 'someone@example.com'],
  [/^https?:\/\/\S+$/i, 'https://example.com/'],
  [/^-?\d+$/, '1001'],
  [/^-?\d+[.,]\d+$/, '12.50'],
  [/^[A-Z][A-Z\d_]*$/, 'CODE'],
  [/^[a-z][a-z_-]*$/, 'word'],
  [/^\S+$/, 'ref-1001'],
];
const ANY_LOOK = 'Made-up text';

type Kind = 'anything' | 'null' | 'boolean' | 'number' | 'fraction' | 'text' | 'list' | 'map';

export interface Field {
  readonly count: number;
  /** Some of the events that have it. */
  readonly sources: Set<number>;
  readonly shape: Shape;
}

/** How many events are remembered for a word or a field. */
export const MAX_SOURCES = 5;
const MAX_WORDS = 20;
const MAX_DEPTH = 10;
/** A word of one case, such as `paid`, `PAID` or `sent_back`. */
const WORD = /^(?=.{2,32}$)(?:[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:[_-][A-Z]+)*)$/;

export class Shape {
  /** `anything`: a value was too deep, or a number that is not finite. */
  readonly kinds = new Set<Kind>();
  /** A made-up text for each form of text. */
  readonly madeUp = new Set<string>();
  /** Short words, each with some of its events. Undefined if there are other texts, or too many words for an enum. */
  words: Map<string, Set<number>> | undefined = new Map();
  /** The elements of the lists. Undefined if every list was empty. */
  element: Shape | undefined;
  /** The number of objects, and of those that have a field. */
  objects = 0;
  filled = 0;
  readonly fields = new Map<string, Field>();

  /** @param source the number of the event */
  add(value: unknown, source: number, depth = 0): void {
    if (value === null) this.kinds.add('null');
    else if (typeof value === 'boolean') this.kinds.add('boolean');
    else if (typeof value === 'string') this.#addText(value, source);
    // JSON allows 1e999, which becomes Infinity and matches no number schema.
    else if (typeof value === 'number' && Number.isFinite(value)) {
      this.kinds.add('number');
      if (value % 1 !== 0) this.kinds.add('fraction');
    } else if (typeof value !== 'object' || depth === MAX_DEPTH) this.kinds.add('anything');
    else if (Array.isArray(value)) {
      this.kinds.add('list');
      if (value.length > 0) this.element ??= new Shape();
      for (const each of value) this.element?.add(each, source, depth + 1);
    } else this.#addObject(value, source, depth);
  }

  #addText(text: string, source: number): void {
    this.kinds.add('text');
    this.madeUp.add(LOOKS.find(([pattern]) => pattern.test(text))?.[1] ?? ANY_LOOK);
    const { words } = this;
    words?.set(text, addSource(words.get(text) ?? new Set(), source));
    if (!WORD.test(text) || (words && words.size > MAX_WORDS)) this.words = undefined;
  }

  #addObject(value: object, source: number, depth: number): void {
    this.kinds.add('map');
    const entries = Object.entries(value);
    this.objects += 1;
    if (entries.length > 0) this.filled += 1;
    for (const [key, field] of entries) {
      const known = this.fields.get(key) ?? { count: 0, sources: new Set<number>(), shape: new Shape() };
      known.shape.add(field, source, depth + 1);
      addSource(known.sources, source);
      this.fields.set(key, { ...known, count: known.count + 1 });
    }
  }
}

function addSource(sources: Set<number>, source: number): Set<number> {
  return sources.size < MAX_SOURCES ? sources.add(source) : sources;
}

export function madeUpText({ madeUp }: Shape): string {
  const [only = '', ...others] = [...madeUp].filter((text) => text !== '');
  return others.length === 0 ? only : ANY_LOOK;
}
