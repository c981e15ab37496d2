// Counts, lists, reads, replays and discards dead letters for an operator.

import { digestOf } from '../claims/fingerprint.js';
import { StoreFailure } from '../claims/timed-calls.js';
import type {
  DeadLetter,
  DeadLetterContent,
  DeadLetterPage,
  DeadLetterPageRequest,
  Discarded,
} from '../contracts/dead-letter-store.js';
import type { InFlightLimiter } from '../deliveries/in-flight-limiter.js';
import { ConfigurationError, StoreError } from '../errors.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import { integerFrom, plainObject } from '../options/define-options.js';
import type { Configuration } from '../options/options.js';
import { type DeadLetterCount, sumOf } from '../stores/letters/count-letters.js';
import { answerOrThrow, type DeadLetterCalls, listLetters, MAX_PAGE } from './dead-letter-calls.js';
import { type DeadLetterFilter, queryOf } from './dead-letter-filter.js';
import { claimCalls, keyOfLetter, LetterReplayer, withLetterLock } from './letter-replayer.js';
import { type ReplayOptions, type ReplayReport, replay, replaySettings } from './replay.js';

const MAX_TEXT = 1_000;
/** How many event names are counted for each reason. Further ones are counted together. */
const MAX_NAMES = 1_000;

export class LetterManager {
  readonly #config: Configuration;
  readonly #calls: DeadLetterCalls;
  readonly #limiter: InFlightLimiter;

  /** @param limiter that of the deliveries */
  constructor(config: Configuration, calls: DeadLetterCalls, limiter: InFlightLimiter) {
    this.#config = config;
    this.#calls = calls;
    this.#limiter = limiter;
  }

  async count(filter?: DeadLetterFilter): Promise<DeadLetterCount> {
    const query = queryOf(this.#config.namespace, filter);
    return sumOf(answerOrThrow(await this.#calls.countGroups(query, MAX_NAMES)));
  }

  async page(
    filter?: DeadLetterFilter,
    { limit = MAX_PAGE, after }: Partial<DeadLetterPageRequest> = {},
  ): Promise<DeadLetterPage> {
    const query = queryOf(this.#config.namespace, filter);
    if (integerFrom(1)(limit, 'limit') > MAX_PAGE)
      throw new ConfigurationError(`limit is ${limit}. Pass at most ${MAX_PAGE}, and ask for the next page.`);
    if (after !== undefined && (typeof after !== 'string' || after === ''))
      throw new ConfigurationError(`after is ${show(after)}. Pass the next of the page before this one.`);
    return answerOrThrow(await this.#calls.list(query, after, limit));
  }

  async read(id: string): Promise<DeadLetterContent> {
    const letter = await this.#find(id);
    return letter ? answerOrThrow(await this.#calls.read(id)) : { status: 'gone' };
  }

  async replay(options?: ReplayOptions): Promise<ReplayReport> {
    const { namespace, handlers } = this.#config;
    const settings = replaySettings(namespace, options);
    handlers.seal();
    const replayer = new LetterReplayer(this.#config, this.#calls, settings);
    const total = answerOrThrow(await this.#calls.count(settings.query));
    return replay(this.#calls, this.#limiter, (letter) => replayer.replay(letter), settings, total);
  }

  async discard(id: string, why: Reasons): Promise<boolean> {
    const reasons = reasonsOf(why);
    const letter = await this.#find(id);
    if (!letter) return false;
    const discard = () => this.#discard(letter, reasons);
    const discarded = await withLetterLock(claimCalls(this.#config, this.#calls), letter, discard);
    if (discarded instanceof StoreFailure)
      throw new StoreError('The event could not be claimed, so its letter was not discarded.', {
        cause: discarded.cause,
      });
    return discarded ?? false;
  }

  /** The letter of this id and namespace: a store may hold the letters of other receivers too. */
  async #find(id: string): Promise<DeadLetter | undefined> {
    // A missing id would be no filter at all.
    const query = queryOf(this.#config.namespace, { id: id ?? '' });
    for await (const letter of listLetters(this.#calls, query)) return letter;
    return undefined;
  }

  /** Handlers run under the claim of the event, so none runs while we hold it. */
  async #discard(letter: DeadLetter, why: Reasons): Promise<boolean | StoreFailure> {
    const store = claimCalls(this.#config, this.#calls);
    const key = keyOfLetter(letter);
    const claim = await store.claim(key, 'discard');
    if (claim instanceof StoreFailure) return claim;
    if (claim.status === 'in_progress') return false;
    if (claim.status === 'completed' && (await this.#removeProcessed(letter, key, claim.fingerprint)))
      return false;
    const discarded = await this.#calls.discard(letter.id, why);
    if (claim.status === 'claimed') await store.release(claim, claim.finished);
    return answerOrThrow(discarded);
  }

  /** An event is completed a moment before its letter is removed. @returns whether this was such a letter, or is gone */
  async #removeProcessed({ id }: DeadLetter, key: string, completed: string): Promise<boolean> {
    const content = answerOrThrow(await this.#calls.read(id));
    if (content.status !== 'found') return content.status === 'gone';
    const { letter, rawBody, signaturePrefix } = content;
    const fingerprint = digestOf(rawBody);
    const isProcessed = completed === fingerprint || completed === signaturePrefix;
    if (!isProcessed && letter.reason !== 'failed' && letter.reason !== 'unfinished') return false;
    answerOrThrow(await this.#calls.remove({ key, fingerprint }));
    return true;
  }
}

type Reasons = Pick<Discarded, 'by' | 'because'>;

function reasonsOf(why: unknown): Reasons {
  const given = plainObject(why as object | undefined, 'The second argument of discard()', 'by and because');
  refuseUnknownOptions(given, ['by', 'because']);
  const { by, because } = given as Record<string, unknown>;
  return { by: whyText('by', by), because: whyText('because', because) };
}

function whyText(name: string, value: unknown): string {
  const isShown = typeof value === 'string' && value.trim() !== '' && value.length <= MAX_TEXT;
  // Postgres rejects a NUL.
  if (isShown && !value.includes('\0')) return value;
  const what = isShown ? 'text with a NUL' : typeof value === 'string' ? 'blank or too long' : show(value);
  throw new ConfigurationError(
    `${name} is ${what}. Say who discards the letter, and why: { by: 'ada', because: 'test data' }.`,
  );
}
