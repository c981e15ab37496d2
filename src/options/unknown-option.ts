// Refuses an option that does not exist, and says which one was probably meant.
import { ConfigurationError } from '../errors.js';
import { didYouMean } from './nearest-name.js';

/** What people type who know another library: no edit of a few letters leads to the name here. */
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
