// What of a dead letter is sealed, and what each part is tied to, so that no part fits another letter.

import type { NewDeadLetter, ProcessedEvent } from '../claims/dead-letter-store.js';
import type { Issue } from '../errors.js';
import type { Seal } from './seal.js';

/** What stays readable and never changes while there is a letter. */
export type LetterIdentity = Pick<
  NewDeadLetter,
  'id' | 'key' | 'fingerprint' | 'namespace' | 'eventName' | 'eventId' | 'sandbox'
>;

export interface SealedParts {
  /** The bytes of the event. */
  readonly body: Uint8Array;
  /** Headers, and what is known of the key that signed, as JSON. */
  readonly head: Uint8Array;
  /** Paths in the payload can hold what a customer wrote, such as a name in `metadata`. */
  readonly issues: Uint8Array;
}

type Head = Pick<NewDeadLetter, 'headers' | 'keyIndex' | 'keyId' | 'signaturePrefix'>;

export type OpenedParts = Head & Pick<NewDeadLetter, 'rawBody' | 'issues'>;

/**
 * The bytes are tied to everything that identifies the letter. Headers and issues change with an attempt, when only the
 * store knows which id the letter has, so they are tied to key and fingerprint, which the bytes tie to the id. Reason,
 * code, attempts and times change by themselves and stay readable, for queries: who can write to the store can change
 * those, delete a letter, or bring an old one back. No attempt at that makes an event of other bytes or another name.
 */
export class LetterSeal {
  readonly #seal: Seal;

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  close(letter: LetterIdentity & OpenedParts): SealedParts {
    const { headers, keyIndex, keyId, signaturePrefix } = letter;
    const head = JSON.stringify({ headers, keyIndex, keyId, signaturePrefix });
    return {
      body: this.#seal.seal(letter.rawBody, ofLetter(letter)),
      head: this.#seal.seal(Buffer.from(head), ofEvent('head', letter)),
      issues: this.closeIssues(letter.issues, letter),
    };
  }

  closeIssues(issues: readonly Issue[], event: ProcessedEvent): Buffer {
    return this.#seal.seal(Buffer.from(JSON.stringify(issues)), ofEvent('issues', event));
  }

  /** Undefined when any part, or what it is tied to, is not as it was sealed. */
  open(letter: LetterIdentity, parts: SealedParts): OpenedParts | undefined {
    const rawBody = this.#seal.open(parts.body, ofLetter(letter));
    const head = this.openHead(parts.head, letter);
    const issues = this.openIssues(parts.issues, letter);
    return rawBody && head && issues ? { rawBody, ...head, issues } : undefined;
  }

  openHead(sealed: Uint8Array, event: ProcessedEvent): Head | undefined {
    const bytes = this.#seal.open(sealed, ofEvent('head', event));
    const { headers, keyIndex, keyId, signaturePrefix } = (bytes && parse(bytes)) ?? {};
    if (typeof headers !== 'object' || headers === null || !Number.isSafeInteger(keyIndex)) return undefined;
    return {
      headers: headers as Readonly<Record<string, string>>,
      keyIndex: keyIndex as number,
      keyId: typeof keyId === 'string' ? keyId : undefined,
      signaturePrefix: typeof signaturePrefix === 'string' ? signaturePrefix : undefined,
    };
  }

  openIssues(sealed: Uint8Array, event: ProcessedEvent): readonly Issue[] | undefined {
    const bytes = this.#seal.open(sealed, ofEvent('issues', event));
    const issues: unknown = bytes && parse(bytes);
    return Array.isArray(issues) ? issues : undefined;
  }
}

function ofLetter(letter: LetterIdentity): string[] {
  const { id, key, fingerprint, namespace, eventName, eventId, sandbox } = letter;
  return ['body', id, key, fingerprint, namespace, eventName, eventId, String(sandbox)];
}

function ofEvent(part: 'head' | 'issues', { key, fingerprint }: ProcessedEvent): string[] {
  return [part, key, fingerprint];
}

/** What is stored without encryption may have been changed to anything. */
function parse(bytes: Buffer): Partial<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(bytes.toString()) ?? undefined;
  } catch {
    return undefined;
  }
}
