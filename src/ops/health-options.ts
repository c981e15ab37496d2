// The options of `health()`: the thresholds for 503, and deadlines for the stores.
import { ConfigurationError } from '../errors.js';
import { show } from '../misuse.js';
import {
  defineOptions,
  integerFrom,
  type OptionRule,
  option,
  optional,
  plainObject,
  duration as timer,
} from '../options/define-options.js';
import { parseDuration } from '../time.js';

/** A value without a threshold is only reported. Durations are milliseconds, or a string like `'6h'`. */
export interface HealthOptions {
  /** Longest time without an authentic delivery, starting when the receiver is created. @default no threshold */
  readonly silence?: number | string | undefined;
  /** Largest share of wrong signatures, 0 to 1, among at least 20 deliveries. Anyone can send them. @default no threshold */
  readonly refused?: number | undefined;
  /** The period that `refused` covers. @default '10m' */
  readonly window?: number | string | undefined;
  /** Largest number of dead letters, without the `unfinished` ones of the journal. @default no threshold */
  readonly deadLetters?: number | undefined;
  /** Maximum age of a dead letter, whatever its reason. @default no threshold */
  readonly deadLetterAge?: number | string | undefined;
  /** How long to wait for a store. One that does not answer counts as unreachable. @default '2s' */
  readonly timeout?: number | string | undefined;
  /** How long an answer of the stores is reused. @default '2s' */
  readonly cache?: number | string | undefined;
}

const HEALTH_OPTIONS = defineOptions({
  silence: optional(duration),
  refused: optional(shareOfAll),
  window: option('10m', duration),
  deadLetters: optional(integerFrom(0)),
  deadLetterAge: optional(duration),
  timeout: timer('2s'),
  cache: timer('2s'),
} satisfies Record<keyof HealthOptions, OptionRule<unknown>>);

/** Durations in milliseconds; undefined: no threshold. */
export type HealthRules = ReturnType<typeof HEALTH_OPTIONS.read>;

/**
 * @param letters whether the receiver has dead letters
 * @throws {ConfigurationError} naming the option, what it got and what it takes
 */
export function healthRules(options: HealthOptions, letters: boolean): HealthRules {
  const given = plainObject(options, 'The second argument of health()', 'thresholds, or nothing');
  const rules = HEALTH_OPTIONS.read(given);
  const unused = (['deadLetters', 'deadLetterAge'] as const).find((option) => given[option] !== undefined);
  if (unused === undefined || letters) return rules;
  throw new ConfigurationError(
    `${unused} is a threshold for dead letters, and the receiver has none. Leave it out, or give receiver() the option deadLetters.`,
  );
}

/** Unlike the duration of a timer, it has no maximum. */
function duration(value: unknown, name: string): number {
  const ms = parseDuration(value);
  if (ms !== undefined && ms >= 1) return ms;
  throw new ConfigurationError(`${name} is ${show(value)}. Pass milliseconds from 1, or a string like "6h".`);
}

function shareOfAll(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value;
  throw new ConfigurationError(`refused is ${show(value)}. Pass a share from 0 to 1, such as 0.5.`);
}
