// The options of `health()`: the thresholds for 503, and deadlines for the stores.

import { ConfigurationError, show } from '../errors.js';
import { defineOptions, type OptionRule, option, optional } from '../options/define-options.js';
import { parseDuration } from '../options/duration.js';
import * as check from '../options/option-checks.js';

/** Without a threshold the value is reported, and changes nothing. Durations are milliseconds, or text like `'6h'`. */
export interface HealthOptions {
  /** Longest time without an authentic delivery, counted from the start of the receiver on. @default no threshold */
  readonly silence?: number | string | undefined;
  /** Largest share of deliveries with a wrong signature, from 0 to 1, of 20 or more. Anybody can send such. @default no threshold */
  readonly refused?: number | undefined;
  /** Of which deliveries `refused` is the share: the latest ones. @default '10m' */
  readonly window?: number | string | undefined;
  /** Most dead letters, not counting the `unfinished` ones of the journal. @default no threshold */
  readonly deadLetters?: number | undefined;
  /** Greatest age of a dead letter, whatever its reason. @default no threshold */
  readonly deadLetterAge?: number | string | undefined;
  /** For the stores to answer; one that does not counts as unreachable. @default '2s' */
  readonly timeout?: number | string | undefined;
  /** How long an answer of the stores is used again, however often somebody asks. @default '2s' */
  readonly cache?: number | string | undefined;
}

const OF_LETTERS = ['deadLetters', 'deadLetterAge'] as const;

const HEALTH_OPTIONS = defineOptions({
  silence: optional(duration),
  refused: optional(shareOfAll),
  window: option('10m', duration),
  deadLetters: optional((value, name) => check.wholeNumber(name, value, 0)),
  deadLetterAge: optional(duration),
  timeout: check.duration('2s'),
  cache: check.duration('2s'),
} satisfies Record<keyof HealthOptions, OptionRule<unknown>>);

/** Durations in milliseconds; undefined: no threshold. */
export type HealthRules = ReturnType<typeof HEALTH_OPTIONS.read>;

/**
 * @param letters whether the receiver has dead letters
 * @throws {ConfigurationError} naming the option, what it got and what it takes
 */
export function healthRules(options: HealthOptions, letters: boolean): HealthRules {
  const given = check.byName('The second argument of health()', options, 'thresholds, or nothing');
  const rules = HEALTH_OPTIONS.read(given);
  const unused = OF_LETTERS.find((option) => given[option] !== undefined);
  if (unused === undefined || letters) return rules;
  throw new ConfigurationError(
    `${unused} is a threshold for dead letters, and the receiver has none. Leave it out, or give receiver() the option deadLetters.`,
  );
}

/** Unlike those of timers, as long as anybody likes. */
function duration(value: unknown, option: string): number {
  const ms = parseDuration(value);
  if (ms !== undefined && ms >= 1) return ms;
  throw new ConfigurationError(`${option} is ${show(value)}. Give milliseconds from 1, or text like "6h".`);
}

function shareOfAll(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw new ConfigurationError(`refused is ${show(value)}. Give a share from 0 to 1, such as 0.5.`);
}
