// Replays one dead letter: decodes and processes it again, with the current handlers and schemas.

import { DigestFingerprint } from '../claims/fingerprint.js';
import { Lease } from '../claims/lease.js';
import { StoreCalls } from '../claims/store-calls.js';
import { StoreFailure } from '../claims/timed-calls.js';
import type { DeadLetter } from '../contracts/dead-letter-store.js';
import { type IdempotencyStore, keyOf } from '../contracts/idempotency-store.js';
import { Delivery, type Result } from '../deliveries/delivery.js';
import { DeliveryLog } from '../deliveries/delivery-log.js';
import { type ErrorCode, internalError, Rejection, storeUnavailable } from '../errors.js';
import type { Decoded } from '../events/envelope.js';
import { type LogLevel, shorten, writeLog } from '../logger.js';
import type { Configuration } from '../options/options.js';
import { decodeEvent } from '../receiver/decode-event.js';
import { processEvent } from '../receiver/process-event.js';
import type { SigningKey } from '../signature.js';
import { withDeadline } from '../time.js';
import { answerOrThrow, type DeadLetterCalls } from './dead-letter-calls.js';
import { Letter, type LetterRules } from './letter.js';
import type { ReplayEnd, ReplayedLetter, ReplaySettings } from './replay.js';

interface ReplayerSettings extends Pick<ReplaySettings, 'keys' | 'dryRun'> {
  /** For redrive: skips a letter that was tried since it was listed, or whose event only another version knows. */
  readonly asListed?: boolean;
}

export class LetterReplayer {
  readonly #config: Configuration;
  readonly #rules: LetterRules;
  readonly #calls: DeadLetterCalls;
  readonly #settings: ReplayerSettings;
  readonly #log = new DeliveryLog();

  constructor(config: Configuration, calls: DeadLetterCalls, settings: ReplayerSettings) {
    this.#config = config;
    this.#rules = { ...config, store: calls.store };
    this.#calls = calls;
    this.#settings = settings;
  }

  /** @throws {StoreError} when the store of letters is down */
  async replay(letter: DeadLetter): Promise<ReplayedLetter> {
    const { asListed, dryRun, keys: accepted } = this.#settings;
    if (letter.reason === 'conflict') return ended('conflicts');
    const content = answerOrThrow(await this.#calls.read(letter.id));
    if (content.status === 'unreadable') this.#logLetter('error', letter, UNREADABLE);
    if (content.status !== 'found') return ended(content.status);
    if (asListed && content.letter.attempts !== letter.attempts) return ended('inProgress');
    const { headers, rawBody, keyIndex } = content;
    const delivery = new Delivery(headers, this.#calls.caller.log);
    const keys = await this.#keysFor(headers);
    // The same bytes may have been signed with another key since.
    const known = keys instanceof Rejection ? [] : keys;
    const fingerprint = new DigestFingerprint(rawBody, content.signaturePrefix, known);
    delivery.proven({ rawBody, keyIndex, keyId: content.letter.keyId, fingerprint });
    if (accepted !== 'any') {
      if (keys instanceof Rejection) {
        this.#log.replayed(delivery, keys);
        return ended('failed');
      }
      if (!keys.some(({ id }) => id === content.letter.keyId)) {
        if (!dryRun) this.#logLetter('warn', letter, KEY_NOT_CONFIGURED);
        return ended('keyNotConfigured');
      }
    }
    if (dryRun) return this.#preview(delivery, content.letter);
    return this.#run(delivery, content.letter);
  }

  /** What a replay would do, as far as decoding tells. */
  async #preview(delivery: Delivery, letter: DeadLetter): Promise<ReplayedLetter> {
    const decoded = await decodeEvent(delivery.rawBody, letter, this.#config);
    if (decoded instanceof Rejection) return ended('unreadable');
    const { handlers } = this.#config.handlers.match(decoded);
    return {
      end: handlers.length > 0 ? 'processed' : UNHANDLED[decoded.status],
      issues: decoded.issues ?? [],
    };
  }

  async #run(delivery: Delivery, letter: DeadLetter): Promise<ReplayedLetter> {
    const kept = new Letter(delivery, this.#rules, letter);
    delivery.letter = kept;
    const result = await this.#decodeAndProcess(delivery, letter).catch((cause) =>
      internalError('The replay itself failed.', cause),
    );
    if (kept.gone && result === 'ignored') return ended('gone');
    this.#log.replayed(delivery, result === LEFT ? 'ignored' : result);
    const { decoded, issues = [] } = delivery;
    if (result === LEFT) return { end: UNHANDLED[decoded?.status ?? 'unknown'], issues, left: true };
    return { end: kept.gone ? 'gone' : endOf(delivery, result), issues };
  }

  async #decodeAndProcess(delivery: Delivery, letter: DeadLetter): Promise<Result | typeof LEFT> {
    // An event that was kept as sandbox never becomes live.
    const decoded = await decodeEvent(delivery.rawBody, letter, this.#config);
    if (decoded instanceof Rejection) return decoded;
    delivery.decoded = decoded;
    return this.#isForOtherVersion(decoded, letter) ? LEFT : this.#exclusively(letter, delivery);
  }

  /**
   * During a rolling deployment only the new version may know the event. If redrive in the old one changed the reason, no
   * version would retry the letter again.
   */
  #isForOtherVersion(decoded: Decoded, { reason }: DeadLetter): boolean {
    return (
      this.#settings.asListed === true &&
      (reason === 'failed' || reason === 'unfinished') &&
      ['stillUnknown', 'stillInvalid'].includes(UNHANDLED[decoded.status]) &&
      this.#config.handlers.match(decoded).handlers.length === 0
    );
  }

  /**
   * A discard claims the key that the letter was kept under. If its event could not be read then, that is not the key of the
   * event, so both lock the letter.
   */
  async #exclusively(letter: DeadLetter, delivery: Delivery): Promise<Result> {
    const { namespace, store } = this.#config;
    if (!store || keyOfLetter(letter) === keyOf(namespace, delivery.event)) return this.#process(delivery);
    const calls = new StoreCalls(store, delivery, this.#config);
    const result = await withLetterLock(calls, letter, () => this.#process(delivery));
    return result instanceof StoreFailure
      ? storeUnavailable(result)
      : (result ?? new Rejection('IN_PROGRESS'));
  }

  /** No sender waits, so handlers may outlast `timeout`, while their claim is renewed. */
  #process(delivery: Delivery): Promise<Result> {
    return new Promise((resolve, reject) => {
      let giveUp: NodeJS.Timeout | undefined;
      const waitFor = (early: Result) => {
        giveUp = setTimeout(() => resolve(early), this.#config.maxHandlerTime);
      };
      const processing = processEvent(delivery, this.#config, waitFor);
      processing.then(resolve, reject).finally(() => clearTimeout(giveUp));
    });
  }

  /** A key function gets the headers that were kept. */
  #keysFor(headers: Delivery['headers']): Promise<readonly SigningKey[] | Rejection> {
    const keys: Promise<readonly SigningKey[] | Rejection> = this.#loadKeys(headers).catch(
      (cause) => new Rejection('KEY_UNAVAILABLE', { hint: KEYS_FAILED, cause }),
    );
    const tooLate = () => new Rejection('KEY_UNAVAILABLE', { hint: 'The key function took too long.' });
    return withDeadline(keys, this.#config.storeTimeout, tooLate);
  }

  /** Cached keys are reloaded first, because one of them may have been revoked. */
  async #loadKeys(headers: Delivery['headers']): Promise<readonly SigningKey[]> {
    const { keys } = this.#config;
    if (typeof keys !== 'function') return keys;
    const fresh = await keys.refresh?.(Number.NEGATIVE_INFINITY);
    return fresh && fresh.keys.length > 0 ? fresh.keys : keys(headers);
  }

  #logLetter(level: LogLevel, { id, eventName }: DeadLetter, message: string): void {
    const fields = { deadLetterId: shorten(id), eventName: shorten(eventName) };
    writeLog(this.#calls.caller.log, level, fields, message);
  }
}

/** The key of a letter's event, as far as the event could be read when it was kept. */
export function keyOfLetter({ namespace, eventId, eventName, sandbox }: DeadLetter): string {
  return keyOf(namespace, { id: eventId, event_name: eventName, sandbox });
}

/** Calls for work on letters without a delivery: there is nothing to abort. */
export function claimCalls(config: Configuration, { caller: { log } }: DeadLetterCalls): StoreCalls {
  return new StoreCalls(config.store as IdempotencyStore<object>, { log }, config);
}

/** @returns undefined while another caller works on the letter */
export function withLetterLock<Value>(
  calls: StoreCalls,
  { namespace, id }: DeadLetter,
  work: () => Promise<Value>,
): Promise<Value | undefined | StoreFailure> {
  return withLock(calls, `${namespace}:letter:${id}`, work);
}

/** @returns undefined while another caller has the lock */
export async function withLock<Value>(
  calls: StoreCalls,
  key: string,
  work: () => Promise<Value>,
): Promise<Value | undefined | StoreFailure> {
  const lock = await calls.lock(key);
  if (!lock || lock instanceof StoreFailure) return lock;
  const lease = new Lease(calls, lock);
  lease.start();
  try {
    return await work();
  } finally {
    lease.stop();
    await calls.unlock(lock);
  }
}

const LEFT = Symbol('left to another version');
const UNREADABLE =
  'a dead letter is not what was kept, so it was not replayed: look at who can write to its store';
const KEY_NOT_CONFIGURED =
  "a dead letter was not replayed, because its private key is not configured: after a rotation replay it with keys: 'any', after a leak discard it";
const KEYS_FAILED =
  'The key function failed. A replay passes it only the headers that were kept: list those that it reads in the option keepHeaders.';

/** How a replay ends if no handler runs. */
const UNHANDLED = {
  declared: 'ignored',
  unknown: 'stillUnknown',
  invalid: 'stillInvalid',
  undecided: 'failed',
  drifted: 'stillInvalid',
  ignored: 'ignored',
} as const satisfies Record<Decoded['status'], ReplayEnd>;

const ENDS: ReadonlyMap<ErrorCode, ReplayEnd> = new Map([
  ['IN_PROGRESS', 'inProgress'],
  ['CLAIM_LOST', 'inProgress'],
  ['RETRY_LATER', 'later'],
]);

function endOf({ attempt, conflict, decoded, verdict }: Delivery, result: Result): ReplayEnd {
  if (!decoded) return 'unreadable';
  switch (result) {
    case 'processed':
      return 'processed';
    case 'duplicate':
      return conflict ? 'conflicts' : 'duplicates';
    case 'ignored':
      // If it was claimed, an `onInvalid` handler has processed it.
      return attempt === undefined ? 'ignored' : 'processed';
    case 'kept':
      return verdict ? 'rejected' : UNHANDLED[decoded.status];
    default:
      return ENDS.get(result.code) ?? 'failed';
  }
}

function ended(end: ReplayEnd): ReplayedLetter {
  return { end, issues: [] };
}
