// Counts, lists, reads, replays and discards dead letters for an operator.

import type {
  DeadLetter,
  DeadLetterContent,
  DeadLetterPage,
  DeadLetterPageRequest,
  Discarded,
} from '../claims/dead-letter-store.js';
import { digestOf } from '../claims/fingerprint.js';
import { StoreFailure } from '../claims/timed-calls.js';
import { ConfigurationError, refuseUnknownOptions, StoreError, show } from '../errors.js';
import { byName, wholeNumber } from '../options/option-checks.js';
import type { Configuration } from '../options/options.js';
import type { InFlightLimiter } from '../telemetry/in-flight-limiter.js';
import { answerOrThrow, type DeadLetterCalls, listLetters, MAX_PAGE } from './dead-letter-calls.js';
import { type DeadLetterFilter, type LetterQuery, queryOf } from './dead-letter-filter.js';
import { type DeadLetterCount, sumOf } from './letter-queries.js';
import { claimCalls, keyOfLetter, LetterReplayer, withLetterLock } from './letter-replayer.js';
import { type ReplayOptions, type ReplayReport, replay, replaySettings } from './replay.js';

const MAX_TEXT = 1_000;
/** Further names are counted together, for each reason. */
const MAX_NAMES = 1_000;

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
    const groups = await this.#calls.countGroups(query, MAX_NAMES);
    return sumOf(answerOrThrow(groups));
  }

  async page(
    filter?: DeadLetterFilter,
    { limit = MAX_PAGE, after }: Partial<DeadLetterPageRequest> = {},
  ): Promise<DeadLetterPage> {
    const query = queryOf(this.#c.namespace, filter);
    if (wholeNumber('limit', limit, 1) > MAX_PAGE)
      throw new ConfigurationError(`limit is ${limit}. Give at most ${MAX_PAGE}, and ask for the next page.`);
    if (after !== undefined && (typeof after !== 'string' || after === ''))
      throw new ConfigurationError(`after is ${show(after)}. Give the next of the page before this one.`);
    return answerOrThrow(await this.#calls.list(query, after, limit));
  }

  async read(id: string): Promise<DeadLetterContent> {
    const query = queryOf(this.#c.namespace, { id: id ?? '' });
    const letter = await firstLetter(this.#calls, query);
    return letter ? answerOrThrow(await this.#calls.read(id)) : { status: 'gone' };
  }

  async replay(options?: ReplayOptions): Promise<ReplayReport> {
    const { namespace, handlers } = this.#c;
    const settings = replaySettings(namespace, options);
    handlers.seal();
    const replayer = new LetterReplayer(this.#c, this.#calls, settings);
    const replayLetter = (letter: DeadLetter) => replayer.replay(letter);
    return replay({ calls: this.#calls, limiter: this.#limiter, replayLetter }, settings);
  }

  async discard(id: string, why: Pick<Discarded, 'by' | 'because'>): Promise<boolean> {
    // A missing id would be no filter at all.
    const query = queryOf(this.#c.namespace, { id: id ?? '' });
    const { by, because } = reasonsOf(why);
    const letter = await firstLetter(this.#calls, query);
    if (!letter) return false;
    const discarded = await withLetterLock(claimCalls(this.#c, this.#calls), letter, () =>
      this.#discard(letter, { by, because }),
    );
    if (discarded instanceof StoreFailure)
      throw new StoreError('The event could not be claimed, so its letter was not discarded.', {
        cause: discarded.cause,
      });
    return discarded ?? false;
  }

  /** Handlers run under the claim of the event, so none runs while we have it. */
  async #discard(
    letter: DeadLetter,
    why: Pick<Discarded, 'by' | 'because'>,
  ): Promise<boolean | StoreFailure> {
    const store = claimCalls(this.#c, this.#calls);
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

  /** An event is completed a moment before its letter is removed. @returns whether the letter was of that event, or is gone */
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

/** A store may hold the letters of other receivers too. */
async function firstLetter(calls: DeadLetterCalls, query: LetterQuery): Promise<DeadLetter | undefined> {
  for await (const letter of listLetters(calls, query)) return letter;
  return undefined;
}

function reasonsOf(why: unknown): Pick<Discarded, 'by' | 'because'> {
  const given = byName('The second argument of discard()', why as object | undefined, 'by and because');
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
