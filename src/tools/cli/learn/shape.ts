// What values of one place have in common: types, fields, and what texts look like.

const FORMATS = [
  ['empty', /^$/, ''],
  ['uuid', /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i, '00000000-0000-4000-8000-000000000001'],
  [
    'date-time',
    /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$/,
    '2030-01-31T12:00:00Z',
  ],
  ['date', /^\d{4}-\d\d-\d\d$/, '2030-01-31'],
  ['e-mail', /^[^\s@]+@[^\s@]+$/, 'someone@example.com'],
  ['url', /^https?:\/\/\S+$/i, 'https://example.com/'],
  ['whole number', /^-?\d+$/, '1001'],
  ['decimal', /^-?\d+[.,]\d+$/, '12.50'],
  ['upper case', /^[A-Z][A-Z\d_]*$/, 'CODE'],
  ['word', /^[a-z][a-z_-]*$/, 'word'],
  ['reference', /^\S+$/, 'ref-1001'],
  ['text', /^/, 'Made-up text'],
] as const;

type TextFormat = (typeof FORMATS)[number][0];

function textFormat(text: string): TextFormat {
  return FORMATS.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text';
}

/** @param formats of all texts that were at one place */
export function madeUpText(formats: ReadonlySet<TextFormat>): string {
  const filled = [...formats].filter((format) => format !== 'empty');
  const [only = 'empty'] = filled;
  const format = filled.length > 1 ? 'text' : only;
  return FORMATS.find(([name]) => name === format)?.[2] ?? '';
}

/** The values of one place in events. Everything in it can be merged in any order. */
export interface Shape {
  /** Whether a value came that no schema can tell apart: too deep, or a number that is not finite. */
  readonly anything: boolean;
  readonly hasNull: boolean;
  readonly hasBoolean: boolean;
  readonly numbers: Numbers | undefined;
  readonly texts: Texts | undefined;
  readonly lists: Lists | undefined;
  readonly maps: Maps | undefined;
}

export interface Numbers {
  readonly hasFraction: boolean;
}

export interface Texts {
  readonly formats: ReadonlySet<TextFormat>;
  /** Short words, each with some of the events that it came in. Undefined when there are too many to be a choice. */
  readonly words: ReadonlyMap<string, Sources> | undefined;
}

export interface Lists {
  /** Undefined while every list was empty. */
  readonly element: Shape | undefined;
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
export type Sources = ReadonlySet<number>;

export const MAX_SOURCES = 5;
const MAX_WORDS = 20;
const MAX_DEPTH = 10;
/** A word of one case, such as `paid`, `PAID` or `sent_back`. */
const WORD = /^(?=.{2,32}$)(?:[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:[_-][A-Z]+)*)$/;

const NOTHING: Shape = {
  anything: false,
  hasNull: false,
  hasBoolean: false,
  numbers: undefined,
  texts: undefined,
  lists: undefined,
  maps: undefined,
};
const ANYTHING: Shape = { ...NOTHING, anything: true };

/** @param source a number for the event that the value is from */
export function shapeOf(value: unknown, source: number, depth = 0): Shape {
  if (value === null) return { ...NOTHING, hasNull: true };
  if (typeof value === 'boolean') return { ...NOTHING, hasBoolean: true };
  if (typeof value === 'string') return { ...NOTHING, texts: textsOf(value, source) };
  // JSON can write 1e999, which no schema for numbers takes.
  if (typeof value === 'number')
    return Number.isFinite(value) ? { ...NOTHING, numbers: { hasFraction: value % 1 !== 0 } } : ANYTHING;
  if (typeof value !== 'object' || depth === MAX_DEPTH) return ANYTHING;
  if (Array.isArray(value)) {
    const shapes = value.map((each) => shapeOf(each, source, depth + 1));
    return { ...NOTHING, lists: { element: mergeAll(shapes) } };
  }
  const fields = Object.entries(value).map(([key, field]): [string, Field] => [
    key,
    { count: 1, sources: new Set([source]), shape: shapeOf(field, source, depth + 1) },
  ]);
  return { ...NOTHING, maps: { count: 1, filled: fields.length === 0 ? 0 : 1, fields: new Map(fields) } };
}

/** Undefined of no shapes. By halves: one after the other would copy thousands of different keys thousands of times. */
export function mergeAll(shapes: readonly Shape[]): Shape | undefined {
  if (shapes.length < 2) return shapes[0];
  const middle = Math.ceil(shapes.length / 2);
  return merged(mergeAll(shapes.slice(0, middle)), mergeAll(shapes.slice(middle)), mergeShapes);
}

export function mergeShapes(a: Shape, b: Shape): Shape {
  return {
    anything: a.anything || b.anything,
    hasNull: a.hasNull || b.hasNull,
    hasBoolean: a.hasBoolean || b.hasBoolean,
    numbers: merged(a.numbers, b.numbers, (x, y) => ({ hasFraction: x.hasFraction || y.hasFraction })),
    texts: merged(a.texts, b.texts, mergeTexts),
    lists: merged(a.lists, b.lists, (x, y) => ({ element: merged(x.element, y.element, mergeShapes) })),
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
  const words = WORD.test(text) ? new Map([[text, new Set([source])]]) : undefined;
  return { formats: new Set([textFormat(text)]), words };
}

function mergeTexts(a: Texts, b: Texts): Texts {
  const formats = new Set([...a.formats, ...b.formats]);
  if (!a.words || !b.words) return { formats, words: undefined };
  const words = new Map(a.words);
  for (const [word, sources] of b.words) words.set(word, mergeSources(words.get(word) ?? new Set(), sources));
  return { formats, words: words.size > MAX_WORDS ? undefined : words };
}

function mergeMaps(a: Maps, b: Maps): Maps {
  const fields = new Map(a.fields);
  for (const [key, field] of b.fields) fields.set(key, mergeFields(fields.get(key), field));
  return { count: a.count + b.count, filled: a.filled + b.filled, fields };
}

function mergeFields(a: Field | undefined, b: Field): Field {
  if (!a) return b;
  const shape = mergeShapes(a.shape, b.shape);
  return { count: a.count + b.count, sources: mergeSources(a.sources, b.sources), shape };
}

function mergeSources(a: Sources, b: Sources): Sources {
  return a.size >= MAX_SOURCES ? a : new Set([...a, ...b].slice(0, MAX_SOURCES));
}
