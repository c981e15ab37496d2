// Takes one dead letter through decode, dedupe and dispatch again, with the handlers and schemas of today.
import { withDeadline } from '../delivery/deadline.js';
import { Delivery, type Result } from '../delivery/delivery.js';
import { DeliveryLog } from '../delivery/delivery-log.js';
import { KeptFingerprint } from '../delivery/fingerprint.js';
import { Rejection } from '../delivery/rejection.js';
import type { Issue } from '../errors.js';
import type { Decoded } from '../events/envelope.js';
import { shorten, writeLog } from '../logger.js';
import type { Configuration } from '../options/options.js';
import { decodeEvent } from '../receiver/decode-event.js';
import { type DecodedDelivery, processEvent } from '../receiver/process-event.js';
import type { SigningKey } from '../signature.js';
import { StoreFailure } from '../stores/timed-calls.js';
import type { DeadLetterCalls } from './dead-letter-calls.js';
import type { DeadLetter, DeadLetterContent } from './dead-letter-store.js';
import { Letter, type LetterRules } from './letter.js';
import { storeError } from './list-letters.js';
import type { ReplayEnd } from './replay-report.js';

type Found = Extract<DeadLetterContent, { status: 'found' }>;

/** How the replay of one letter ended. */
export interface ReplayedLetter {
  readonly end: ReplayEnd;
  /** Where its payload does not fit. */
  readonly issues: readonly Issue[];
}

/** The receiver checked that key and event have the same mode before it kept the event. */
const ALREADY_CHECKED = { sandbox: false } as const;

export class LetterReplayer {
  readonly #c: Configuration;
  readonly #rules: LetterRules;
  readonly #calls: DeadLetterCalls;
  readonly #log = new DeliveryLog();

  constructor(c: Configuration, calls: DeadLetterCalls) {
    this.#c = c;
    this.#rules = { ...c, store: calls.store };
    this.#calls = calls;
  }

  /** @throws {StoreError} when the store of letters is down */
  async replay(letter: DeadLetter, dryRun: boolean): Promise<ReplayedLetter> {
    if (letter.reason === 'conflict') return ended('conflicts');
    const content = await this.#calls.read(letter.id);
    if (content instanceof StoreFailure) throw storeError(content);
    if (content.status === 'unreadable') this.#noteUnreadable(letter);
    if (content.status !== 'found') return ended(content.status);
    const delivery = new Delivery(content.headers, this.#calls.caller.log);
    delivery.rawBody = content.rawBody;
    delivery.keyIndex = content.keyIndex;
    delivery.keyId = content.letter.keyId;
    return dryRun ? this.#look(delivery) : this.#run(delivery, content);
  }

  /** What would happen, as far as the event itself tells. */
  async #look(delivery: Delivery): Promise<ReplayedLetter> {
    const decoded = await decodeEvent(delivery.rawBody, ALREADY_CHECKED, this.#c);
    if (decoded instanceof Rejection) return ended('unreadable');
    const { handlers } = this.#c.handlers.match(decoded);
    return {
      end: handlers.length > 0 ? 'processed' : UNHANDLED[decoded.status],
      issues: decoded.issues ?? [],
    };
  }

  async #run(
    delivery: Delivery,
    { letter, headers, rawBody, signaturePrefix }: Found,
  ): Promise<ReplayedLetter> {
    const own = new Letter(delivery, this.#rules, letter);
    delivery.letter = own;
    // Earlier versions kept the whole signature among the headers.
    const signature = signaturePrefix ?? headers[this.#c.signatureHeader] ?? '';
    delivery.fingerprint = new KeptFingerprint(signature, rawBody, await this.#keysFor(delivery));
    const decoded = await decodeEvent(rawBody, ALREADY_CHECKED, this.#c);
    const result =
      decoded instanceof Rejection ? decoded : await this.#process({ delivery, decoded, letter: own });
    if (result === 'duplicate' && !delivery.conflict) await own.removeNow();
    this.#log.replayed(delivery, result);
    return { end: endOf(delivery, result), issues: delivery.issues ?? [] };
  }

  /** Nobody waits for an answer, so handlers that outlast `timeout` are waited for while their claim is renewed. */
  async #process(given: DecodedDelivery): Promise<Result> {
    given.delivery.decoded = given.decoded;
    let giveUp: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Result>((resolve, reject) => {
        const waitFor = (early: Result) => {
          giveUp = setTimeout(() => resolve(early), this.#c.maxHandlerTime);
        };
        processEvent(given, this.#c, waitFor).then(resolve, reject);
      });
    } finally {
      clearTimeout(giveUp);
    }
  }

  /** For the comparison with a run of the same bytes, which may have been signed with another key since. */
  async #keysFor({ headers }: Delivery): Promise<readonly SigningKey[]> {
    try {
      return await withDeadline(Promise.resolve(this.#c.keys(headers)), this.#c.storeTimeout, () => []);
    } catch {
      return [];
    }
  }

  #noteUnreadable({ id, eventName }: DeadLetter): void {
    const fields = { deadLetterId: shorten(id), eventName: shorten(eventName) };
    const message =
      'a dead letter is not what was kept, so it was not replayed: look at who can write to its store';
    writeLog(this.#calls.caller.log, 'error', fields, message);
  }
}

/** Of an event that no handler wants. */
const UNHANDLED = {
  declared: 'ignored',
  unknown: 'stillUnknown',
  invalid: 'stillInvalid',
  undecided: 'failed',
  ignored: 'ignored',
} as const satisfies Record<Decoded['status'], ReplayEnd>;

function endOf({ attempt, conflict, decoded }: Delivery, result: Result): ReplayEnd {
  if (!decoded) return 'unreadable';
  switch (result) {
    case 'processed':
      return 'processed';
    case 'duplicate':
      return conflict ? 'conflicts' : 'duplicates';
    case 'ignored':
      // With a claim an `onInvalid` handler has dealt with it.
      return attempt === undefined ? 'ignored' : 'processed';
    case 'kept':
      return UNHANDLED[decoded.status];
    default:
      return result.code === 'IN_PROGRESS' || result.code === 'CLAIM_LOST' ? 'inProgress' : 'failed';
  }
}

function ended(end: ReplayEnd): ReplayedLetter {
  return { end, issues: [] };
}
