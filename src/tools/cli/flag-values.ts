// Reads the values of flags and arguments, and names the flag in every error.
import { didYouMean } from '../../errors.js';
import { parseDuration } from '../../options/duration.js';
import { isEventPattern } from '../simulator/event-pattern.js';
import { UsageError } from './command.js';

export function oneOf<Word extends string>(flag: string, text: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === text);
  if (found !== undefined) return found;
  throw new UsageError(
    `${flag} ${JSON.stringify(text)} is not one of ${words.join(', ')}.${didYouMean(text, words)}`,
  );
}

export function wholeNumber(
  flag: string,
  text: string,
  [least, most]: readonly [least: number, most: number],
): number {
  const number = Number(text);
  if (/^\d{1,16}$/.test(text) && number >= least && number <= most) return number;
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
  throw new UsageError(`${flag} ${JSON.stringify(text)} is not a whole number ${range}.`);
}

export function checkPattern(flag: string, text: string): void {
  if (isEventPattern(text)) return;
  throw new UsageError(`${flag} ${JSON.stringify(text)} is not an event name or a pattern like refund.*.`);
}

export function headerName(flag: string, text: string): string {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text)) return text;
  throw new UsageError(`${flag} ${JSON.stringify(text)} is not a valid header name.`);
}

/** Milliseconds. */
export function duration(flag: string, text: string): number {
  const ms = parseDuration(text);
  if (ms) return ms;
  const fault = ms === 0 ? 'is too short' : 'is not a duration';
  throw new UsageError(`${flag} ${JSON.stringify(text)} ${fault}. Give one like 30s.`);
}

/** The URL of an endpoint: `3000/hooks`, `localhost:3000/hooks` or a whole URL. */
export function endpointUrl(flag: string, typed: string): string {
  const text = withScheme(typed);
  // The URL parser would drop white space silently.
  if (text !== undefined && !/\s/.test(typed) && URL.canParse(text) && new URL(text).port !== '0')
    return text;
  throw new UsageError(
    `${flag} ${JSON.stringify(typed)} is not the URL of an endpoint. Give one like 3000/hooks or http://localhost:3000/hooks.`,
  );
}

/** Undefined where the URL parser would have to guess: "/hooks", "hooks/3000", "http:/localhost". */
function withScheme(typed: string): string | undefined {
  if (/^https?:\/\/[^/\\]/i.test(typed)) return typed;
  if (/^\d+(?:[/?]|$)/.test(typed)) return `http://localhost:${typed}`;
  // Without its port, a host looks like a path.
  if (/^(?:[^/?#@:[\]\\]+|\[[\da-f:.]+\]):\d+(?:[/?]|$)/i.test(typed)) return `http://${typed}`;
  return undefined;
}

/** Without the fields that are undefined: flags that were not given. */
export function defined<Fields extends object>(fields: Fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Name in keyof Fields]?: NonNullable<Fields[Name]> };
}
