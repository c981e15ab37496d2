// The options of the client: their defaults and checks.
import { ConfigurationError } from '../errors.js';
import { refuseUnknownOptions, show } from '../misuse.js';
import { anything, defineOptions, integerFrom, type OptionRule, option } from '../options/define-options.js';
import { isSandboxKey, keysIn } from '../signature.js';
import { MAX_TIMER_MS } from '../time.js';
import { type Codec, codec } from './codec.js';
import { type AccessTokenSource, type Credential, keyCredential, tokenCredential } from './credential.js';

/** What is used of a fetch: the global one fits, and those of node-fetch, undici and cross-fetch. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly signal: AbortSignal;
    readonly redirect: 'manual';
  },
) => Promise<FetchResponse>;

export interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /** Bytes with an async iterator, such as a stream of the web or of Node. Without one, `text()` is called. */
  readonly body?: unknown;
  text(): Promise<string>;
}

export interface ServiceClientOptions {
  /** Address of the service, without `/api/v2`. @default process.env.SERVICE_API_URL */
  readonly baseUrl?: string | URL | undefined;
  /** Sent as HTTP Basic. @default process.env.SERVICE_PRIVATE_KEY, the first key if it holds several */
  readonly privateKey?: string | undefined;
  /** An OAuth access token, or a function that returns one; instead of a private key. */
  readonly accessToken?: string | AccessTokenSource | undefined;
  /** The path between the address and the endpoints. @default '/api/v2' */
  readonly apiPath?: string | undefined;
  /** Milliseconds for one attempt, until the last byte of the answer; 0: none. @default 10_000 */
  readonly timeout?: number | undefined;
  /** How often GET, PUT and DELETE are retried after 429, 502, 503, 504, a timeout or a network failure. @default 2 */
  readonly retries?: number | undefined;
  /** Maximum size of an answer in bytes. @default 1_048_576 */
  readonly maxResponseBytes?: number | undefined;
  /** It has to resolve with a Response whatever the status is. @default globalThis.fetch */
  readonly fetch?: Fetch | undefined;
  /** How bodies are written and read. Functions that you leave out are those of the default codec. */
  readonly codec?: Partial<Codec> | undefined;
}

/** Options of one call: the last argument of every method. */
export interface RequestOptions {
  /** Ends the call at once, also between two attempts. The call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt, instead of the client's `timeout`; 0: none. */
  readonly timeout?: number | undefined;
}

export interface ResolvedOptions {
  /** Address and `apiPath`, without a slash at the end. */
  readonly root: string;
  readonly credential: Credential;
  readonly timeout: number;
  readonly retries: number;
  readonly maxResponseBytes: number;
  readonly fetch: Fetch;
  readonly codec: Codec;
}

/** Milliseconds that a timer can wait; 0: none. */
export const checkTimeout = integerFrom(0, MAX_TIMER_MS);

/** The compiler checks that it names every option. */
export const CLIENT_OPTIONS = defineOptions({
  baseUrl: anything(),
  privateKey: anything(),
  accessToken: anything(),
  apiPath: option('/api/v2', resolveApiPath),
  timeout: option(10_000, checkTimeout),
  retries: option(2, integerFrom(0, 10)),
  maxResponseBytes: option(1_048_576, integerFrom(1)),
  fetch: option(undefined, resolveFetch),
  codec: option({}, (value) => resolveCodec(value as Partial<Codec>)),
} satisfies Record<keyof ServiceClientOptions, OptionRule<unknown>>);

/** @throws {ConfigurationError} */
export function resolveOptions(options: ServiceClientOptions): ResolvedOptions {
  const { baseUrl, privateKey: _, accessToken: __, apiPath, ...others } = CLIENT_OPTIONS.read(options);
  return {
    ...others,
    root: resolveBaseUrl(baseUrl, apiPath) + apiPath,
    credential: resolveCredential(options, apiPath),
  };
}

function resolveCredential(options: ServiceClientOptions, apiPath: string): Credential {
  const { privateKey, accessToken } = options;
  if (privateKey !== undefined && accessToken !== undefined) {
    throw new ConfigurationError('privateKey and accessToken are both given. Pass only one of them.');
  }
  if (accessToken !== undefined) return tokenCredential(accessToken);
  const { SERVICE_PRIVATE_KEY } = process.env;
  // While keys are rotated it may hold two for the receiver, the newest first.
  const key = privateKey ?? (SERVICE_PRIVATE_KEY === undefined ? undefined : keysIn(SERVICE_PRIVATE_KEY)[0]);
  if (key === undefined) {
    throw new ConfigurationError(
      'privateKey and accessToken are both missing. Pass one of them, or set SERVICE_PRIVATE_KEY.',
    );
  }
  const option = privateKey === undefined ? 'SERVICE_PRIVATE_KEY' : 'privateKey';
  const credential = keyCredential(key, option);
  if (isSandboxKey(key) && apiPath === '/api/v2') {
    throw new ConfigurationError(
      `${option} is a sandbox key, which API v2 refuses. Pass a live key, or the apiPath of the sandbox endpoints.`,
    );
  }
  return credential;
}

function resolveFetch(given: unknown): Fetch {
  if (given === undefined) return globalFetch;
  if (typeof given === 'function') return given as Fetch;
  throw new ConfigurationError(`fetch is ${show(given)}. Pass a function such as the global fetch.`);
}

/** Looked up for each call, so that a global fetch that is replaced or instrumented later is used. */
const globalFetch: Fetch = (url, init) => {
  if (typeof globalThis.fetch === 'function') return globalThis.fetch(url, init);
  throw new ConfigurationError(
    'There is no global fetch: Jest with jsdom has none. Pass the option fetch, or run these tests in the environment node.',
  );
};

function resolveCodec(given: Partial<Codec>): Codec {
  refuseUnknownOptions(given, Object.keys(codec));
  for (const [name, part] of Object.entries(given)) {
    if (part !== undefined && typeof part !== 'function') {
      throw new ConfigurationError(`codec.${name} is ${show(part)}. Pass a function.`);
    }
  }
  const parts = Object.entries(given).filter(([, part]) => part !== undefined);
  return { ...codec, ...Object.fromEntries(parts) };
}

function resolveApiPath(path: unknown): string {
  const text = typeof path === 'string' ? path.replace(/\/+$/, '') : path;
  if (typeof text === 'string' && /^(\/[\w.~-]+)*$/.test(text) && !/\/\.\.?(\/|$)/.test(text)) return text;
  throw new ConfigurationError(
    'apiPath is not a path. Pass one that begins with a slash, such as "/api/v2".',
  );
}

/** The messages never quote the address: it may be the key by mistake, or contain a password. */
function resolveBaseUrl(given: unknown, apiPath: string): string {
  const value = given ?? process.env.SERVICE_API_URL;
  if (value === undefined || value === '') {
    throw new ConfigurationError(
      'baseUrl is missing. Pass the address of the service, or set SERVICE_API_URL.',
    );
  }
  const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigurationError(
      'baseUrl is not an absolute https: URL. Pass one such as "https://api.example.com".',
    );
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new ConfigurationError('baseUrl has a user name, a query or a fragment. Pass the address alone.');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new ConfigurationError(
      'baseUrl is http: to another machine, so others could read the credential in transit. Use https:.',
    );
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (apiPath !== '' && path.endsWith(apiPath)) {
    throw new ConfigurationError(`baseUrl ends in ${apiPath}. Remove that part: the option apiPath adds it.`);
  }
  return url.origin + path;
}

/** Whether the host name of a parsed URL always means this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
