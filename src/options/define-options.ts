// Defines the options of an entry point as one table: default, check and name.
import { ConfigurationError } from '../errors.js';
import { refuseUnknownOptions, show } from '../misuse.js';

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
  read(given: object): OptionValues<Rules>;
}

export function defineOptions<Rules extends Readonly<Record<string, OptionRule<unknown>>>>(
  rules: Rules,
): OptionTable<Rules> {
  const entries = Object.entries(rules);
  const names = Object.keys(rules);
  return {
    names,
    fallbacks: Object.fromEntries(entries.map(([name, { fallback }]) => [name, fallback])) as never,
    read(given) {
      refuseUnknownOptions(given, names);
      const values = given as Readonly<Record<string, unknown>>;
      const read = entries.map(([name, { fallback, check }]) => [
        name,
        check(values[name] === undefined ? fallback : values[name], name),
      ]);
      return Object.fromEntries(read) as OptionValues<Rules>;
    },
  };
}

/** @param fallback the value if the option is left out; it is checked too */
export function option<Value>(fallback: unknown, check: OptionRule<Value>['check']): OptionRule<Value> {
  return { fallback, check };
}

/** For an option that is checked elsewhere. */
export function anything(): OptionRule<unknown> {
  return option(undefined, (value) => value);
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
