// Where private keys come from: an option, the environment, or a function per delivery.

import type { IncomingHttpHeaders } from 'node:http';
import { ConfigurationError } from '../errors.js';
import { isThenable } from '../misuse.js';
import { keysIn, type PrivateKey, type SigningKey, signingKey, signingKeys } from '../signature.js';

/** Called for each delivery with a well-formed signature: for secret managers, and for several accounts. */
export interface KeyFunction {
  (delivery: {
    readonly headers: IncomingHttpHeaders;
  }): string | readonly string[] | Promise<string | readonly string[]>;
  /**
   * Called for a delivery that none of the keys signed, with the time (`performance.now()`) at which its keys were
   * requested. Undefined if there are no newer keys. `cachedKeys()` has it.
   */
  readonly refresh?: (askedAt: number) => Promise<string | readonly string[] | OutdatedKeys | undefined>;
}

/** Newer keys may exist already, but cannot be loaded yet. A delivery that none of these signed is retried. */
export interface OutdatedKeys {
  readonly keys: string | readonly string[] | undefined;
  readonly retryAfterMs: number;
}

/** The keys that may have signed a delivery with these headers. May throw or reject if it calls a function of the user. */
export interface KeysOf {
  (headers: IncomingHttpHeaders): readonly SigningKey[] | Promise<readonly SigningKey[]>;
  readonly refresh?: (askedAt: number) => Promise<FreshKeys>;
}

export interface FreshKeys {
  readonly keys: readonly SigningKey[];
  /** Set if newer keys may exist. */
  readonly retryAfterMs: number | undefined;
}

export const KEY_VARIABLE = 'SERVICE_PRIVATE_KEY';

/** How many key objects are cached. With more accounts, some are created again. */
const MAX_CACHED = 1_000;

/**
 * The keys, if they are the same for every delivery, or the function that loads them.
 *
 * @param isGiven whether the option is present, even as undefined: the app may read it from a variable that is not set
 * @throws {ConfigurationError} if there is no key, or one that anyone could guess
 */
export function resolveKeys(
  source: string | readonly string[] | KeyFunction | undefined,
  isGiven = false,
): readonly SigningKey[] | KeysOf {
  if (typeof source === 'function') return fromFunction(source);
  if (source !== undefined) return signingKeys(source);
  const fromEnvironment = process.env[KEY_VARIABLE];
  if (fromEnvironment === undefined) {
    throw new ConfigurationError(
      isGiven
        ? `privateKey was given as undefined, and the environment variable ${KEY_VARIABLE} is not set. Pass a string, an array, or a function.`
        : `No private key. Set the environment variable ${KEY_VARIABLE}, or pass the option privateKey: a string, an array, or a function.`,
    );
  }
  const keys = keysIn(fromEnvironment);
  const which = (index: number) => (keys.length > 1 ? `Key ${index + 1} in the` : 'The');
  return keys.map((key, index) => signingKey(key, `${which(index)} environment variable ${KEY_VARIABLE}`));
}

function fromFunction(source: KeyFunction): KeysOf {
  const known = new Map<string, SigningKey>();
  const toKey = (given: PrivateKey) => signingKey(given, 'The key function returned a key that');
  const remember = (given: PrivateKey): SigningKey => {
    // The owner of bytes can change them, so only text is remembered.
    if (typeof given !== 'string') return toKey(given);
    const key = known.get(given) ?? toKey(given);
    if (known.size >= MAX_CACHED) known.clear();
    known.set(given, key);
    return key;
  };
  const convert = (answer: PrivateKey | readonly PrivateKey[]): readonly SigningKey[] => {
    const list = typeof answer === 'string' || ArrayBuffer.isView(answer) ? [answer] : answer;
    if (!Array.isArray(list) || list.length === 0)
      throw new ConfigurationError('The key function returned no key.');
    return list.map(remember);
  };
  const keysOf: KeysOf = (headers) => {
    const answer = source({ headers });
    return isThenable(answer) ? Promise.resolve(answer).then(convert) : convert(answer);
  };
  const refresh = source.refresh?.bind(source);
  if (!refresh) return keysOf;
  return Object.assign(keysOf, {
    refresh: async (askedAt: number): Promise<FreshKeys> => {
      const newer = await refresh(askedAt);
      const { keys, retryAfterMs } =
        typeof newer === 'object' && newer !== null && 'retryAfterMs' in newer
          ? newer
          : { keys: newer, retryAfterMs: undefined };
      return { keys: keys === undefined ? [] : convert(keys), retryAfterMs };
    },
  });
}
