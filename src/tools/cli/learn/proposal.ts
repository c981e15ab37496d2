// Decides what a schema says of the values that came, and what of their data may be shown.
import { type Field, MAX_SOURCES, type Maps, madeUpText, type Shape, type Texts } from './shape.js';

/** What a schema says of one place. */
export interface Proposal {
  readonly nullable: boolean;
  /** Empty for what may be anything; with `nullable` it was null each time. */
  readonly variants: readonly Variant[];
}

export type Variant =
  | { readonly type: 'text'; readonly sample: string; readonly words: readonly string[] }
  | { readonly type: 'number'; readonly sample: number }
  | { readonly type: 'boolean' }
  /** `element` is undefined where each list was empty; `mapToo`: a map came there too, as PHP writes an empty one as a list. */
  | { readonly type: 'list'; readonly element: Proposal | undefined; readonly mapToo: boolean }
  | { readonly type: 'map'; readonly fields: readonly ProposedField[]; readonly leftOut: number };

export interface ProposedField {
  readonly key: string;
  readonly optional: boolean;
  readonly proposal: Proposal;
}

const ANYTHING: Proposal = { nullable: false, variants: [] };
/** Places in one schema; what is deeper than the last of them may be anything. */
const MAX_PLACES = 1_000;
const MAX_FIELDS = 100;

/** Names of fields whose values are a choice that programs make, and never something of a person. */
const CHOICES = new Set(
  'brand channel category currency kind method mode outcome result scheme state status type'.split(' '),
);

export class Proposer {
  #left = MAX_PLACES;

  propose(shape: Shape, key = ''): Proposal {
    this.#left -= 1;
    if (shape.anything || this.#left < 0) return ANYTHING;
    const { hasNull, hasBoolean, numbers, texts, lists, maps } = shape;
    const variants: Variant[] = [];
    if (texts) variants.push({ type: 'text', words: wordsOf(texts, key), sample: madeUpText(texts.formats) });
    if (numbers) variants.push({ type: 'number', sample: numbers.hasFraction ? 12.5 : 1001 });
    if (hasBoolean) variants.push({ type: 'boolean' });
    if (maps) variants.push(this.#map(maps));
    if (lists) {
      const element = lists.element && this.propose(lists.element, key);
      variants.push({ type: 'list', element, mapToo: maps !== undefined });
    }
    return { nullable: hasNull, variants };
  }

  #map(maps: Maps): Variant {
    const named = hasVaryingKeys(maps) ? [] : [...maps.fields].filter((entry) => isField(entry, maps));
    const room = named.slice(0, Math.min(MAX_FIELDS, Math.max(this.#left, 0)));
    const fields = room.map(([key, { count, shape }]) => ({
      key,
      optional: count < maps.count,
      proposal: this.propose(shape, key),
    }));
    return { type: 'map', fields, leftOut: maps.fields.size - fields.length };
  }
}

/** Objects have these from their prototype, so a schema would see fields that were never sent. */
const INHERITED = new Set([...Object.getOwnPropertyNames(Object.prototype), '__proto__']);

/** Whether a key may be shown. All others pass a loose schema unseen. */
function isField([key, { sources }]: [string, Field], { filled }: Maps): boolean {
  if (INHERITED.has(key) || !isName(key)) return false;
  // A field in a single one of many events may be a name that somebody chose.
  return sources.size > 1 || filled < 10;
}

/** Whether each object has other keys, so that they are data and not fields. */
function hasVaryingKeys({ fields, filled }: Maps): boolean {
  if (fields.size > MAX_FIELDS) return true;
  return filled >= 3 && fields.size >= 6 && [...fields.values()].every(({ count }) => count * 2 <= filled);
}

/** The values of a choice: words that each came in several events, of a field that is named like a choice. */
function wordsOf({ words }: Texts, key: string): string[] {
  const [last = ''] = key.match(/[A-Z]?[a-z]+$|[A-Z]+$/) ?? [];
  if (!words || !CHOICES.has(last.toLowerCase())) return [];
  const repeated = [...words].filter(([, sources]) => sources.size >= MAX_SOURCES).map(([word]) => word);
  return repeated.sort();
}

const MAX_KEY_LENGTH = 64;
/** Four digits in a row: a number, a date, or a part of an id. */
const NUMBER = /\d{4}/;
const HEXADECIMAL = /^[\da-f]{8,}$/i;
/** More changes between letters and digits than names such as `address2line1` have. */
const RANDOM = /(?:[a-z]+\d+){3}|(?:\d+[a-z]+){3}/i;

/** Whether a key is a word as programmers name fields, and not an id, an address, a number or a date. */
export function isName(key: string): boolean {
  if (!/^[A-Za-z_$][\w$.:-]*$/.test(key) || key.length > MAX_KEY_LENGTH || NUMBER.test(key)) return false;
  const bare = key.replace(/[-_]/g, '');
  return !(HEXADECIMAL.test(bare) && /\d/.test(bare)) && !RANDOM.test(bare);
}
