// The address of the service and the path of its API, refused unless the credential is safe there.
import { ConfigurationError } from '../errors.js';

/** @throws {ConfigurationError} */
export function resolveApiPath(path: unknown): string {
  const text = typeof path === 'string' ? path.replace(/\/+$/, '') : path;
  if (typeof text === 'string' && /^(\/[\w.~-]+)*$/.test(text) && !/\/\.\.?(\/|$)/.test(text)) return text;
  throw new ConfigurationError(
    'apiPath is not a path. Give one that begins with a slash, such as "/api/v2".',
  );
}

/**
 * The messages never quote the address: people swap it with the key, and addresses hold passwords.
 *
 * @throws {ConfigurationError}
 */
export function resolveBaseUrl(given: unknown, apiPath: string): string {
  const value = given ?? process.env.SERVICE_API_URL;
  if (value === undefined || value === '') {
    throw new ConfigurationError(
      'baseUrl is missing. Give the address of the service, or set SERVICE_API_URL.',
    );
  }
  const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigurationError(
      'baseUrl is not an absolute https: URL. Give one such as "https://api.example.com".',
    );
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new ConfigurationError('baseUrl has a user name, a query or a fragment. Give the address alone.');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new ConfigurationError(
      'baseUrl is http: to another machine, so others could read the credential on its way. Use https:.',
    );
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (apiPath !== '' && path.endsWith(apiPath)) {
    throw new ConfigurationError(`baseUrl ends in ${apiPath}. Leave it out: the option apiPath adds it.`);
  }
  return url.origin + path;
}

/** Whether a host name of a parsed URL can only be this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
