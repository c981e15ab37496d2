// Refuses an option that does not exist, and says which one was probably meant.
import { ConfigurationError } from '../errors.js';
import { didYouMean } from './nearest-name.js';

/** @throws {ConfigurationError} naming the first option that is not one of the known names */
export function refuseUnknownOptions(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new ConfigurationError(`Unknown option "${unknown}".${didYouMean(unknown, known)}`);
}
