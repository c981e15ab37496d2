// Defines the options of an entry point as one table: default, check and name.
import { ConfigurationError } from '../errors.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import { DEFAULT_RETENTION, MAX_TIMER_MS, parseDuration, retentionMs } from '../time.js';

/** The default of one option, and the check that returns its value as it is used. */
export interface OptionRule<Value> {
  readonly fallback: unknown;
  check(value: unknown, name: string): Value;
}

export type OptionValues<Rules> = {
  readonly [Name in keyof Rules]: Rules[Name] extends OptionRule<infer Value> ? Value : never;
};

/** The options of one entry point, as a table. */
export interface OptionTable<Rules> {
  readonly names: readonly string[];
  readonly fallbacks: { readonly [Name in keyof Rules]: unknown };
  /**
   * Returns the options as they are used. An option that is undefined counts as left out.
   *
   * @throws {ConfigurationError} naming the option, what it was given and what to give
   */
  read(given: object | undefined): OptionValues<Rules>;
}

/** @param owner the option of which these are parts, such as `redrive` */
export function defineOptions<Rules extends Readonly<Record<string, OptionRule<unknown>>>>(
  rules: Rules,
  owner = '',
): OptionTable<Rules> {
  const entries = Object.entries(rules);
  const names = Object.keys(rules);
  return {
    names,
    fallbacks: Object.fromEntries(entries.map(([name, { fallback }]) => [name, fallback])) as never,
    read(given = {}) {
      refuseUnknownOptions(given, names, owner && `${owner}: `);
      const values = given as Readonly<Record<string, unknown>>;
      const read = entries.map(([name, { fallback, check }]) => [
        name,
        check(values[name] === undefined ? fallback : values[name], owner ? `${owner}.${name}` : name),
      ]);
      return Object.fromEntries(read) as OptionValues<Rules>;
    },
  };
}

/** @param fallback the value if the option is left out; it is checked too */
export function option<Value>(fallback: unknown, check: OptionRule<Value>['check']): OptionRule<Value> {
  return { fallback, check };
}

/** For an option that is checked where it is used. */
export function anything<Value = unknown>(fallback?: Value): OptionRule<Value> {
  return option(fallback, (value) => value as Value);
}

export function oneOf<const Word extends string>(...words: readonly Word[]): OptionRule<Word> {
  const quoted = words.map((word) => `"${word}"`).join(', ');
  const list = quoted.replace(/, (?=[^,]*$)/, ' or ');
  return option(words[0], (value, name) => {
    if (words.includes(value as Word)) return value as Word;
    throw new ConfigurationError(`${name} is ${show(value)}. Pass ${list}.`);
  });
}

/** For an option without a default: it is undefined if it is left out. */
export function optional<Value>(check: OptionRule<Value>['check']): OptionRule<Value | undefined> {
  return option(undefined, (value, name) => (value === undefined ? undefined : check(value, name)));
}

/** The time for which a store remembers. */
export const RETENTION: OptionRule<number> = option(DEFAULT_RETENTION, (value) =>
  retentionMs(value as number | string),
);

/** Milliseconds for a timer. */
export function duration(fallback: number | string, least = 1): OptionRule<number> {
  return option(fallback, durationFrom(least));
}

/** @returns a check for milliseconds, or a string like "10s", that a timer can wait */
export function durationFrom(least: number): OptionRule<number>['check'] {
  return (value, name) => {
    const ms = parseDuration(value);
    if (ms !== undefined && ms >= least && ms <= MAX_TIMER_MS) return ms;
    throw new ConfigurationError(
      `${name} is ${show(value)}. Pass milliseconds from ${least} to ${MAX_TIMER_MS.toLocaleString('en')}, or a string like "10s".`,
    );
  };
}

export function boolean(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new ConfigurationError(`${name} is ${show(value)}. Pass true or false.`);
}

/** @returns a check for an integer in this range */
export function integerFrom(least: number, most = Number.MAX_SAFE_INTEGER): OptionRule<number>['check'] {
  const range = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most.toLocaleString('en')}`;
  return (value, name) => {
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most)
      return value as number;
    throw new ConfigurationError(`${name} is ${show(value)}. Pass an integer from ${least}${range}.`);
  };
}

/** The object itself, or an empty one if it is left out. An array or a Map is refused: its entries would be ignored. */
export function plainObject<Value extends object>(
  value: Value | undefined,
  name: string,
  content: string,
): Value {
  if (value === undefined) return {} as Value;
  if (typeof value === 'object' && value !== null && !(Symbol.iterator in value)) return value;
  const got = typeof value === 'object' && value !== null ? 'an array or a Map' : show(value);
  throw new ConfigurationError(`${name} is ${got}. Pass an object of ${content}.`);
}
