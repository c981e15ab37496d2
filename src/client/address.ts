// Where the service is: its address and the path of its API, refused unless the credential is safe there.
import { ConfigurationError } from '../errors.js';

/** @throws {ConfigurationError} */
export function resolveApiPath(path: unknown): string {
  const text = typeof path === 'string' ? path.replace(/\/+$/, '') : path;
  if (typeof text === 'string' && /^(\/[\w.~-]+)*$/.test(text) && !/\/\.\.?(\/|$)/.test(text)) return text;
  throw new ConfigurationError('apiPath is no path: give one like "/api/v2", beginning with a slash.');
}

/**
 * The address is never quoted: people swap it with the key, and addresses hold passwords.
 *
 * @throws {ConfigurationError}
 */
export function resolveBaseUrl(given: unknown, apiPath: string): string {
  const value = given ?? process.env.SERVICE_API_URL;
  if (value === undefined || value === '') {
    throw new ConfigurationError(
      'baseUrl is missing: give the address of the service, or set SERVICE_API_URL.',
    );
  }
  const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigurationError(
      'baseUrl is not an absolute https: address: give one like "https://api.example.com".',
    );
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new ConfigurationError(
      'baseUrl has a user name, a query or a fragment in it: give the address alone.',
    );
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new ConfigurationError(
      'baseUrl is http: to another machine, where the credential could be read on the way: use https:.',
    );
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (apiPath !== '' && path.endsWith(apiPath)) {
    throw new ConfigurationError(
      `baseUrl ends in ${apiPath}, which is the option apiPath: leave it out of baseUrl.`,
    );
  }
  return url.origin + path;
}

/** Whether a host name of a parsed URL can only be this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
