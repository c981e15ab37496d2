// What `hooks.deadLetters` is: the events that were not processed, to list, replay and discard.
import type { InFlightLimiter } from '../delivery/in-flight-limiter.js';
import { ConfigurationError } from '../errors.js';
import { defaultLogger } from '../options/default-logger.js';
import { byName, show } from '../options/option-checks.js';
import type { Configuration } from '../options/options.js';
import { refuseUnknownOptions } from '../options/unknown-option.js';
import { StoreFailure } from '../stores/timed-calls.js';
import { DeadLetterCalls } from './dead-letter-calls.js';
import { type DeadLetterFilter, queryOf } from './dead-letter-filter.js';
import type { DeadLetter, DeadLetterGroup, DeadLetterStore, Discarded } from './dead-letter-store.js';
import { LetterReplayer } from './letter-replayer.js';
import { listLetters, storeError } from './list-letters.js';
import { Replay } from './replay.js';
import { type ReplayOptions, replaySettings } from './replay-options.js';
import type { ReplayReport } from './replay-report.js';

/** How many letters there are, and since when. */
export interface DeadLetterCount {
  readonly total: number;
  /** When the oldest of them was first kept, by the clock of the store; undefined when there is no letter. */
  readonly oldest: Date | undefined;
  /**
   * Those with the most letters first. For each reason up to 1,000 names; the letters of further ones are together in a
   * group with the name `…`, because the names of undeclared events come from outside.
   */
  readonly groups: readonly DeadLetterGroup[];
}

/** The dead letters of one receiver: those of its namespace. */
export interface DeadLetters {
  /**
   * Letters without their bytes, in the order of their arrival.
   *
   * @throws {ConfigurationError} for a filter that does not exist or cannot be right
   * @example
   * for await (const letter of hooks.deadLetters.list({ event: 'refund.*', since: '7d' })) console.log(letter.id);
   */
  list(filter?: DeadLetterFilter): AsyncIterable<DeadLetter>;
  /**
   * How many letters there are, by reason and name of event: one query in Postgres, all pages in Redis.
   *
   * @throws {ConfigurationError} for a filter that does not exist or cannot be right
   * @throws {StoreError} when the store of dead letters is down
   * @example
   * const { total, oldest } = await hooks.deadLetters.count({ reason: 'failed' });
   */
  count(filter?: DeadLetterFilter): Promise<DeadLetterCount>;
  /**
   * Runs the handlers of the letters that fit, with the schemas of today and under the same claim as a delivery. It can be
   * ended and started again at any point, and run in several processes and beside deliveries.
   *
   * @throws {ConfigurationError} for a filter or option that does not exist or cannot be right
   * @throws {StoreError} when the store of dead letters is down
   * @example
   * const { processed, stillInvalid } = await hooks.deadLetters.replay({ event: 'refund.*', dryRun: true });
   */
  replay(options?: ReplayOptions): Promise<ReplayReport>;
  /**
   * Deletes the bytes and headers of a letter for good, and leaves who did so, why and when.
   *
   * @returns false when there is no such letter
   * @throws {StoreError} when the store of dead letters is down
   * @example
   * await hooks.deadLetters.discard(letter.id, { by: 'ada', because: 'test data' });
   */
  discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean>;
}

const LONGEST_TEXT = 1_000;
/** Of how many names letters are counted, for each reason. */
const MOST_NAMES = 1_000;

/**
 * Undefined without the option.
 *
 * @param limiter that of the deliveries
 */
export function openDeadLetters(c: Configuration, limiter: InFlightLimiter): DeadLetters | undefined {
  return c.deadLetters && new OpenDeadLetters(c, c.deadLetters, limiter);
}

class OpenDeadLetters implements DeadLetters {
  readonly #c: Configuration;
  readonly #store: DeadLetterStore;
  readonly #limiter: InFlightLimiter;

  constructor(c: Configuration, store: DeadLetterStore, limiter: InFlightLimiter) {
    this.#c = c;
    this.#store = store;
    this.#limiter = limiter;
  }

  list(filter?: DeadLetterFilter): AsyncIterable<DeadLetter> {
    const query = queryOf(this.#c.namespace, filter);
    return { [Symbol.asyncIterator]: () => listLetters(this.#calls(), query) };
  }

  async count(filter?: DeadLetterFilter): Promise<DeadLetterCount> {
    const query = queryOf(this.#c.namespace, filter);
    const groups = await this.#calls().countGroups(query, MOST_NAMES);
    if (groups instanceof StoreFailure) throw storeError(groups);
    return sumOf(groups);
  }

  async replay(options?: ReplayOptions): Promise<ReplayReport> {
    const { namespace, handlers } = this.#c;
    const settings = replaySettings(namespace, options);
    handlers.seal();
    const calls = this.#calls();
    const replayer = new LetterReplayer(this.#c, calls);
    return new Replay({ calls, limiter: this.#limiter, replayer }, settings).run();
  }

  async discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    // An id that is missing is no filter at all.
    const query = queryOf(this.#c.namespace, { id: id ?? '' });
    const { by, because } = reasonsOf(why);
    const calls = this.#calls();
    // A store may hold the letters of other receivers too.
    const { done } = await listLetters(calls, query).next();
    if (done) return false;
    const discarded = await calls.discard(id, { by, because });
    if (discarded instanceof StoreFailure) throw storeError(discarded);
    return discarded;
  }

  #calls(): DeadLetterCalls {
    const { logger = defaultLogger(), storeTimeout } = this.#c;
    return new DeadLetterCalls(this.#store, { log: logger }, storeTimeout);
  }
}

function sumOf(groups: readonly DeadLetterGroup[]): DeadLetterCount {
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  const oldest = groups.reduce(
    (first, group) => Math.min(first, group.oldest.getTime()),
    Number.POSITIVE_INFINITY,
  );
  return {
    total,
    oldest: total > 0 ? new Date(oldest) : undefined,
    groups: [...groups].sort((one, other) => other.count - one.count),
  };
}

function reasonsOf(why: unknown): Pick<Discarded, 'by' | 'because'> {
  const given = byName('The second argument of discard()', why as object | undefined, 'by and because');
  refuseUnknownOptions(given, ['by', 'because']);
  const { by, because } = given as Record<string, unknown>;
  return { by: sentence('by', by), because: sentence('because', because) };
}

function sentence(name: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST_TEXT) return value;
  const what = typeof value === 'string' ? 'blank or too long' : show(value);
  throw new ConfigurationError(
    `${name} is ${what}. Say who discards the letter, and why: { by: 'ada', because: 'test data' }.`,
  );
}
