// Caches private keys, and reloads them when a delivery shows that they are outdated.

import { defaultLogger } from '../default-logger.js';
import { ConfigurationError } from '../errors.js';
import { describeError, type Logger, writeLog } from '../logger.js';
import { show } from '../misuse.js';
import { signingKeys } from '../signature.js';
import { withDeadline } from '../time.js';
import { defineOptions, duration, type OptionRule, option } from './define-options.js';
import type { KeyFunction, OutdatedKeys } from './keys.js';
import { logger } from './option-checks.js';

/** Loads the keys from a secret manager, a file or a database. If there are several, the newest comes first. */
export type LoadKeys = () => string | readonly string[] | Promise<string | readonly string[]>;

export interface CachedKeysOptions {
  /** How long loaded keys are used without loading them again: `ms`-style string or milliseconds. @default '5m' */
  readonly ttl?: number | string | undefined;
  /**
   * A delivery that none of the keys signed reloads them at once. If they were loaded within this time, it is answered 503
   * with `Retry-After` instead of 401: it may have a new key, and forged deliveries cannot flood a secret manager.
   * @default '10s'
   */
  readonly refreshOnMismatch?: number | string | undefined;
  /** How long after `ttl` the keys are still used while they cannot be loaded. @default '1h' */
  readonly staleIfError?: number | string | undefined;
  /** Logs when the keys cannot be loaded; `false` for silence. @default pino on standard output */
  readonly logger?: Logger | false | undefined;
}

/** After a load has failed, the next one waits for this long. */
const PAUSE_MS = 1_000;
/** A load that takes longer counts as failed if there are stale keys to use. Its answer is still used when it arrives. */
const SLOW_MS = 1_000;
/** The longest wait for a load that a wrong signature caused: the delivery may be forged. */
const PATIENCE_MS = 2_000;
/** A load that takes longer is abandoned, and another one starts. */
const HUNG_MS = 30_000;

/**
 * A key function that remembers the loaded keys. However many deliveries wait, there is one load at a time.
 *
 * If the keys cannot be loaded, those older than `ttl` plus `staleIfError` are not used: deliveries are answered 503
 * `KEY_UNAVAILABLE`. So is a delivery that none of the keys signed while they cannot be loaded.
 *
 * @param load called without arguments; for several accounts, make one function for each
 * @throws {ConfigurationError} for an unknown or invalid option
 * @example
 * const privateKey = cachedKeys(async () => {
 *   const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: 'webhooks' }));
 *   return SecretString;
 * });
 * app.post('/hooks', receiver({ privateKey }));
 */
export function cachedKeys(load: LoadKeys, options: CachedKeysOptions = {}): KeyFunction {
  if (typeof load !== 'function') {
    // Text is most likely the private key itself, so it is not shown.
    const got = typeof load === 'string' ? 'text' : show(load);
    throw new ConfigurationError(
      `cachedKeys() was given ${got}. Pass a function that loads the keys: cachedKeys(async () => …).`,
    );
  }
  const cache = new KeyCache(load, CACHE_OPTIONS.read(options));
  return Object.assign(() => cache.keys(), { refresh: (askedAt: number) => cache.refresh(askedAt) });
}

const CACHE_OPTIONS = defineOptions({
  ttl: duration('5m'),
  refreshOnMismatch: duration('10s'),
  staleIfError: duration('1h', 0),
  logger: option(undefined, logger),
} satisfies Record<keyof CachedKeysOptions, OptionRule<unknown>>);

type Rules = ReturnType<typeof CACHE_OPTIONS.read>;
type Keys = readonly string[];

class KeyCache {
  readonly #load: LoadKeys;
  readonly #rules: Rules;
  #keys: Keys | undefined;
  /** When the load of the current keys began. All times here are of the monotonic clock. */
  #loadedAt = Number.NEGATIVE_INFINITY;
  #beganAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<Keys> | undefined;
  /** Of the latest load, if it failed. */
  #failure: { readonly cause: unknown } | undefined;

  constructor(load: LoadKeys, rules: Rules) {
    this.#load = load;
    this.#rules = rules;
  }

  keys(): Keys | Promise<Keys> {
    const { ttl, staleIfError } = this.#rules;
    const age = performance.now() - this.#loadedAt;
    if (this.#keys && age < ttl) return this.#keys;
    const stale = age < ttl + staleIfError ? this.#keys : undefined;
    const loading = this.#loaded();
    if (!stale) return loading;
    const left = Math.max(this.#beganAt + SLOW_MS - performance.now(), 0);
    return withDeadline(
      loading.catch(() => stale),
      left,
      () => stale,
    );
  }

  /** A load that began before a delivery requested its keys cannot prove it forged: its key may be newer. */
  async refresh(askedAt: number): Promise<Keys | OutdatedKeys | undefined> {
    const now = performance.now();
    const retryAfterMs = this.#beganAt + this.#rules.refreshOnMismatch - now;
    // Not the start of the latest load: it may have failed, and an abandoned one may have succeeded since.
    const isCurrent = this.#loadedAt >= askedAt;
    // A wrapper around `keys()` may be slower than a load, so the delivery may not have tried these keys.
    if (retryAfterMs > 0 && !this.#loading && !this.#failure)
      return isCurrent ? this.#keys : { keys: undefined, retryAfterMs };
    const loading = this.#loaded();
    const mayBeOutdated = this.#beganAt < askedAt;
    const left = Math.max(this.#beganAt + PATIENCE_MS - now, 0);
    const keys = await withDeadline<Keys | undefined>(loading, left, () => undefined);
    if (!keys) throw new ConfigurationError('The function given to cachedKeys() took too long.');
    return mayBeOutdated ? { keys, retryAfterMs } : keys;
  }

  #loaded(): Promise<Keys> {
    const elapsed = performance.now() - this.#beganAt;
    if (this.#loading && elapsed < HUNG_MS) return this.#loading;
    if (this.#failure && elapsed < PAUSE_MS) return Promise.reject(this.#failure.cause);
    const loading = this.#begin(performance.now());
    this.#loading = loading;
    return loading;
  }

  async #begin(beganAt: number): Promise<Keys> {
    this.#beganAt = beganAt;
    try {
      // Also awaited if it throws synchronously: `#loading` is set only after this call has returned.
      const keys = checked(await (async () => this.#load())());
      if (beganAt >= this.#loadedAt) {
        this.#keys = keys;
        this.#loadedAt = beganAt;
        this.#failure = undefined;
      }
      return keys;
    } catch (cause) {
      if (beganAt === this.#beganAt) this.#failure = { cause };
      const logger = this.#rules.logger ?? defaultLogger();
      writeLog(logger, 'error', { error: describeError(cause) }, 'the private keys could not be loaded');
      throw cause;
    } finally {
      if (beganAt === this.#beganAt) this.#loading = undefined;
    }
  }
}

/** A blank secret must not replace a key. @throws {ConfigurationError} for keys that are unusable, never quoting them */
function checked(loaded: string | readonly string[]): Keys {
  signingKeys(loaded, 'The loaded privateKey');
  return Array.isArray(loaded) ? [...loaded] : [loaded as string];
}
