// Whether the key of an object is the name of a field, or data such as an id, an address or a person's name.

/**
 * - `name`: a word, as programmers name fields.
 * - `unusual`: anything else, such as `First name`: a field where many events have it, else data.
 * - `data`: an id, an e-mail address, a number or a date.
 */
export type KeyKind = 'name' | 'unusual' | 'data';

const LONGEST_KEY = 64;
/** Four digits in a row: a number, a date, or a part of an id. */
const NUMBER = /\d{4}/;
const HEXADECIMAL = /^[\da-f]{8,}$/i;
/** More changes between letters and digits than names such as `address2line1` have. */
const RANDOM = /(?:[a-z]+\d+){3}|(?:\d+[a-z]+){3}/i;

export function keyKind(key: string): KeyKind {
  if (key === '' || key.length > LONGEST_KEY || key.includes('@')) return 'data';
  if (NUMBER.test(key) || /^[\d.,+-]+$/.test(key)) return 'data';
  const bare = key.replace(/[-_]/g, '');
  if ((HEXADECIMAL.test(bare) && /\d/.test(bare)) || RANDOM.test(bare)) return 'data';
  return /^[A-Za-z_$][\w$.:-]*$/.test(key) ? 'name' : 'unusual';
}
