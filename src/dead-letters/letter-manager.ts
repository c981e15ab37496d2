// What an operator does with the dead letters of a receiver: each question checked, put to the store, and answered or thrown.

import type {
  DeadLetterContent,
  DeadLetterPage,
  DeadLetterPageRequest,
  Discarded,
} from '../claims/dead-letter-store.js';
import { StoreFailure } from '../claims/timed-calls.js';
import { ConfigurationError, refuseUnknownOptions, show } from '../errors.js';
import { byName, wholeNumber } from '../options/option-checks.js';
import type { Configuration } from '../options/options.js';
import type { InFlightLimiter } from '../telemetry/in-flight-limiter.js';
import { type DeadLetterCalls, listLetters, PAGE, storeError } from './dead-letter-calls.js';
import { type DeadLetterFilter, type LetterQuery, queryOf } from './dead-letter-filter.js';
import { type DeadLetterCount, sumOf } from './letter-groups.js';
import { LetterReplayer } from './letter-replayer.js';
import type { ReplayReport } from './replay.js';
import { Replay, type ReplayOptions, replaySettings } from './replay.js';

const LONGEST_TEXT = 1_000;
/** Of how many names letters are counted, for each reason. */
const MOST_NAMES = 1_000;

export class LetterManager {
  readonly #c: Configuration;
  readonly #calls: DeadLetterCalls;
  readonly #limiter: InFlightLimiter;

  /** @param limiter that of the deliveries */
  constructor(c: Configuration, calls: DeadLetterCalls, limiter: InFlightLimiter) {
    this.#c = c;
    this.#calls = calls;
    this.#limiter = limiter;
  }

  async count(filter?: DeadLetterFilter): Promise<DeadLetterCount> {
    const query = queryOf(this.#c.namespace, filter);
    const groups = await this.#calls.countGroups(query, MOST_NAMES);
    return sumOf(reached(groups));
  }

  async page(
    filter?: DeadLetterFilter,
    { limit = PAGE, after }: Partial<DeadLetterPageRequest> = {},
  ): Promise<DeadLetterPage> {
    const query = queryOf(this.#c.namespace, filter);
    if (wholeNumber('limit', limit, 1) > PAGE)
      throw new ConfigurationError(`limit is ${limit}. Give at most ${PAGE}, and ask for the next page.`);
    if (after !== undefined && (typeof after !== 'string' || after === ''))
      throw new ConfigurationError(`after is ${show(after)}. Give the next of the page before this one.`);
    return reached(await this.#calls.list(query, after, limit));
  }

  async read(id: string): Promise<DeadLetterContent> {
    const query = queryOf(this.#c.namespace, { id: id ?? '' });
    return (await isThere(this.#calls, query)) ? reached(await this.#calls.read(id)) : { status: 'gone' };
  }

  async replay(options?: ReplayOptions): Promise<ReplayReport> {
    const { namespace, handlers } = this.#c;
    const settings = replaySettings(namespace, options);
    handlers.seal();
    const replayer = new LetterReplayer(this.#c, this.#calls, settings);
    return new Replay({ calls: this.#calls, limiter: this.#limiter, replayer }, settings).run();
  }

  async discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    // An id that is missing is no filter at all.
    const query = queryOf(this.#c.namespace, { id: id ?? '' });
    const { by, because } = reasonsOf(why);
    return (await isThere(this.#calls, query)) && reached(await this.#calls.discard(id, { by, because }));
  }
}

/** A store may hold the letters of other receivers too. */
async function isThere(calls: DeadLetterCalls, query: LetterQuery): Promise<boolean> {
  const { done } = await listLetters(calls, query).next();
  return done !== true;
}

/** @throws {StoreError} when the store did not answer */
function reached<Value>(answer: Value | StoreFailure): Value {
  if (answer instanceof StoreFailure) throw storeError(answer);
  return answer;
}

function reasonsOf(why: unknown): Pick<Discarded, 'by' | 'because'> {
  const given = byName('The second argument of discard()', why as object | undefined, 'by and because');
  refuseUnknownOptions(given, ['by', 'because']);
  const { by, because } = given as Record<string, unknown>;
  return { by: sentence('by', by), because: sentence('because', because) };
}

function sentence(name: string, value: unknown): string {
  const isShown = typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST_TEXT;
  // Postgres takes no NUL.
  if (isShown && !value.includes('\0')) return value;
  const what = isShown ? 'text with a NUL' : typeof value === 'string' ? 'blank or too long' : show(value);
  throw new ConfigurationError(
    `${name} is ${what}. Say who discards the letter, and why: { by: 'ada', because: 'test data' }.`,
  );
}
