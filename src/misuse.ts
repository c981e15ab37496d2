// What messages about a wrong argument are made of: what was given, the name that was meant, options that do not exist.
import { ConfigurationError } from './errors.js';

/** A private key, or an address with a password, such as that of a database. */
const SECRET = /\bpri_|:\/\/[^/?#]*@|:\/\/[^/?#@]*:[^@]*@|password=/i;

/** Shows a value in an error message: text without secrets, numbers and booleans; otherwise only the type. */
export function show(value: unknown): string {
  if (typeof value === 'string')
    return SECRET.test(value) ? 'a string that may be a secret' : JSON.stringify(value.slice(0, 80));
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined)
    return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

// The work grows with the product of both lengths, and what was typed may come from a stranger.
const MAX_COMPARED = 100;

/**
 * The closest name by edit distance, if it is close enough to be a typo. Text and names of more than 100 characters are not
 * compared.
 */
export function nearestName(typed: string, names: Iterable<string>): string | undefined {
  if (typed.length > MAX_COMPARED) return undefined;
  let best: string | undefined;
  let least = Math.max(2, Math.floor(typed.length / 3)) + 1;
  for (const name of names) {
    if (name.length > MAX_COMPARED) continue;
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase());
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

/** `' Did you mean "limit"?'`, or nothing. */
export function didYouMean(typed: string, names: Iterable<string>): string {
  const name = nearestName(typed, names);
  return name === undefined ? '' : ` Did you mean "${name}"?`;
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i += 1) {
    const above = row;
    row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (above[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
  }
  return row[to.length] ?? 0;
}

/** Names from other libraries, which edit distance would not match. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['secret', 'privateKey'],
  ['key', 'privateKey'],
  ['signingSecret', 'privateKey'],
  ['webhookSecret', 'privateKey'],
  ['header', 'signatureHeader'],
  ['log', 'logger'],
]);

/**
 * @param prefix what the options belong to, such as `on(): `
 * @throws {ConfigurationError} naming the first option that is not one of the known names
 */
export function refuseUnknownOptions(options: object, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const alias = known.find((name) => name === ALIASES.get(unknown));
  const hint = alias ? ` Did you mean "${alias}"?` : didYouMean(unknown, known);
  const all = known.length > 0 ? ` The options are ${known.join(', ')}.` : '';
  throw new ConfigurationError(`${prefix}Unknown option "${unknown}".${hint}${all}`);
}
