// What the options of every store have in common: a name that none of them has is refused.
import { ConfigurationError } from '../errors.js';
import { didYouMean } from '../nearest-name.js';

/** @throws {ConfigurationError} naming the first option that is not one of the known names */
export function refuseUnknownOptions(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new ConfigurationError(`Unknown option "${unknown}".${didYouMean(unknown, known)}`);
}
