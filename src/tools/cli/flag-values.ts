// Reads the values of options and arguments. Each error begins with the name of the option or argument.

import { isEventPattern } from '../../events/event-pattern.js';
import { didYouMean } from '../../misuse.js';
import { isHeaderName } from '../../signature.js';
import { parseDuration } from '../../time.js';
import { text, UsageError } from './command.js';

export class ValueError extends UsageError {
  /** @param problem the rest of the sentence, such as `is not a number.` */
  constructor(name: string, text: string, problem: string) {
    super(`${name} ${JSON.stringify(text)} ${problem}`);
  }
}

export function oneOf<const Word extends string>(words: readonly Word[]) {
  return (name: string, text: string): Word => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new ValueError(name, text, `is not one of ${words.join(', ')}.${didYouMean(text, words)}`);
  };
}

export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER) {
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
  return (name: string, text: string): number => {
    const number = Number(text);
    if (/^\d{1,16}$/.test(text) && number >= least && number <= most) return number;
    throw new ValueError(name, text, `is not an integer ${range}.`);
  };
}

export function notEmpty(name: string, text: string): string {
  if (text.trim() !== '') return text;
  throw new UsageError(`${name} is empty.`);
}

export function eventPattern(name: string, text: string): string {
  if (isEventPattern(text)) return text;
  throw new ValueError(name, text, 'is not an event name or a pattern like refund.*.');
}

function headerName(name: string, text: string): string {
  if (isHeaderName(text)) return text;
  throw new ValueError(name, text, 'is not a valid header name.');
}

/** @param alias the name of the option in other commands @param more what follows in its description */
export function headerOption(alias: string, more: string) {
  const about = `Name of the header with the signature${more}`;
  return text({ NAME: 'X-Signature' }, about, { alias, read: headerName });
}

/** Milliseconds. */
export function duration(name: string, text: string): number {
  const ms = parseDuration(text);
  if (ms) return ms;
  throw new ValueError(name, text, `${ms === 0 ? 'is too short' : 'is not a duration'}. Pass one like 30s.`);
}

/** The URL of an endpoint: `3000/hooks`, `localhost:3000/hooks` or a whole URL. */
export function endpointUrl(name: string, typed: string): string {
  const text = withScheme(typed);
  // The URL parser would drop white space silently.
  if (text && !/\s/.test(typed) && URL.canParse(text) && new URL(text).port !== '0') return text;
  const examples = '3000/hooks or http://localhost:3000/hooks';
  throw new ValueError(name, typed, `is not the URL of an endpoint. Pass one like ${examples}.`);
}

/** Undefined where the URL parser would have to guess: "/hooks", "hooks/3000", "http:/localhost". */
function withScheme(typed: string): string | undefined {
  if (/^https?:\/\/[^/\\]/i.test(typed)) return typed;
  if (/^\d+(?:[/?]|$)/.test(typed)) return `http://localhost:${typed}`;
  // Without its port, a host looks like a path.
  if (/^(?:[^/?#@:[\]\\]+|\[[\da-f:.]+\]):\d+(?:[/?]|$)/i.test(typed)) return `http://${typed}`;
  return undefined;
}

/** Without the fields that are undefined, such as options that were not given. */
export function defined<Fields extends object>(fields: Fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Name in keyof Fields]?: NonNullable<Fields[Name]> };
}
