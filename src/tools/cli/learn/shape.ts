// What values of one place have in common: types, fields, and what texts look like.

/** What a text may look like, each with a made-up one. The first that fits counts. */
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

type Kind = 'anything' | 'null' | 'boolean' | 'number' | 'fraction' | 'list';

/** The values of one place in events. Everything in it can be merged in any order. */
export interface Shape {
  /** `anything`: a value came that no schema can tell apart, because it is too deep, or a number that is not finite. */
  readonly kinds: ReadonlySet<Kind>;
  readonly texts?: Texts | undefined;
  /** What is in the lists. Undefined while every list was empty. */
  readonly element?: Shape | undefined;
  readonly maps?: Maps | undefined;
}

export interface Texts {
  /** A made-up text for each look. */
  readonly madeUp: ReadonlySet<string>;
  /** Short words, each with some of the events that it came in. Undefined when there are too many to be a choice. */
  readonly words: ReadonlyMap<string, Sources> | undefined;
}

export interface Maps {
  readonly count: number;
  readonly filled: number;
  readonly fields: ReadonlyMap<string, Field>;
}

export interface Field {
  /** In how many objects. */
  readonly count: number;
  readonly sources: Sources;
  readonly shape: Shape;
}

/** Some of the events that something came in: no more than matter. */
type Sources = ReadonlySet<number>;

export const MAX_SOURCES = 5;
const MAX_WORDS = 20;
const MAX_DEPTH = 10;
/** A word of one case, such as `paid`, `PAID` or `sent_back`. */
const WORD = /^(?=.{2,32}$)(?:[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:[_-][A-Z]+)*)$/;

/** @param source a number for the event that the value is from */
export function shapeOf(value: unknown, source: number, depth = 0): Shape {
  const only = (...kinds: Kind[]) => ({ kinds: new Set(kinds) });
  if (value === null) return only('null');
  if (typeof value === 'boolean') return only('boolean');
  if (typeof value === 'string') return { ...only(), texts: textsOf(value, source) };
  // JSON can write 1e999, which no schema for numbers takes.
  if (typeof value === 'number' && Number.isFinite(value))
    return value % 1 === 0 ? only('number') : only('number', 'fraction');
  if (typeof value !== 'object' || depth === MAX_DEPTH) return only('anything');
  if (Array.isArray(value))
    return { ...only('list'), element: mergeAll(value.map((each) => shapeOf(each, source, depth + 1))) };
  const fields = Object.entries(value).map(([key, field]): [string, Field] => [
    key,
    { count: 1, sources: new Set([source]), shape: shapeOf(field, source, depth + 1) },
  ]);
  return { ...only(), maps: { count: 1, filled: Math.min(fields.length, 1), fields: new Map(fields) } };
}

/** Undefined of no shapes. By halves: one after the other would copy thousands of different keys thousands of times. */
function mergeAll(shapes: readonly Shape[]): Shape | undefined {
  if (shapes.length < 2) return shapes[0];
  const middle = Math.ceil(shapes.length / 2);
  return merged(mergeAll(shapes.slice(0, middle)), mergeAll(shapes.slice(middle)), mergeShapes);
}

export function mergeShapes(a: Shape, b: Shape): Shape {
  return {
    kinds: new Set([...a.kinds, ...b.kinds]),
    texts: merged(a.texts, b.texts, mergeTexts),
    element: merged(a.element, b.element, mergeShapes),
    maps: merged(a.maps, b.maps, mergeMaps),
  };
}

function merged<Part>(
  a: Part | undefined,
  b: Part | undefined,
  merge: (a: Part, b: Part) => Part,
): Part | undefined {
  return a === undefined || b === undefined ? (a ?? b) : merge(a, b);
}

function textsOf(text: string, source: number): Texts {
  const [, madeUp = ANY_LOOK] = LOOKS.find(([pattern]) => pattern.test(text)) ?? [];
  const words = WORD.test(text) ? new Map([[text, new Set([source])]]) : undefined;
  return { madeUp: new Set([madeUp]), words };
}

/** A made-up text that looks like all of them. */
export function madeUpText({ madeUp }: Texts): string {
  const [only = '', ...others] = [...madeUp].filter((text) => text !== '');
  return others.length === 0 ? only : ANY_LOOK;
}

function mergeTexts(a: Texts, b: Texts): Texts {
  const madeUp = new Set([...a.madeUp, ...b.madeUp]);
  if (!a.words || !b.words) return { madeUp, words: undefined };
  const words = new Map(a.words);
  for (const [word, sources] of b.words) words.set(word, mergeSources(words.get(word) ?? new Set(), sources));
  return { madeUp, words: words.size > MAX_WORDS ? undefined : words };
}

function mergeMaps(a: Maps, b: Maps): Maps {
  const fields = new Map(a.fields);
  for (const [key, field] of b.fields) fields.set(key, merged(fields.get(key), field, mergeFields) ?? field);
  return { count: a.count + b.count, filled: a.filled + b.filled, fields };
}

function mergeFields(a: Field, b: Field): Field {
  const shape = mergeShapes(a.shape, b.shape);
  return { count: a.count + b.count, sources: mergeSources(a.sources, b.sources), shape };
}

function mergeSources(a: Sources, b: Sources): Sources {
  return a.size >= MAX_SOURCES ? a : new Set([...a, ...b].slice(0, MAX_SOURCES));
}
