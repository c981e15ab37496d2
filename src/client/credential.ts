// The client's credential: a private key or an access token, its header, and its redaction.
import { ConfigurationError } from '../errors.js';
import { secretFault } from '../misuse.js';
import { keyFault } from '../signature.js';

/**
 * Returns the access token to send. It is called once for each call of the service, and once more after a 401, with
 * `refresh: true`: do not return a cached token then, because it would be refused again.
 */
export type AccessTokenSource = (request: {
  readonly refresh: boolean;
  readonly signal: AbortSignal;
}) => string | Promise<string>;

export interface Authorization {
  readonly header: string;
  readonly secret: string;
}

export interface Credential {
  /** Whether `authorize` may return another token after a 401. */
  readonly refreshable: boolean;
  readonly authorize: (request: Parameters<AccessTokenSource>[0]) => Authorization | Promise<Authorization>;
}

const TOKEN = /^[!-~]+$/;
const NO_PREFIX = /^/;

/** @throws {ConfigurationError} for a key that cannot be sent; the message never quotes it */
export function keyCredential(privateKey: unknown, option: string): Credential {
  const fault = keyFault(privateKey);
  if (fault || typeof privateKey !== 'string') {
    throw new ConfigurationError(
      `${option} ${fault ?? 'is not a string. Copy the private key from the dashboard.'}`,
    );
  }
  if (privateKey.includes(':')) {
    throw new ConfigurationError(
      `${option} has a colon, which Basic authentication does not allow in a user name. Pass the private key alone, not encoded.`,
    );
  }
  const header = `Basic ${Buffer.from(`${privateKey}:`, 'utf8').toString('base64')}`;
  return { refreshable: false, authorize: () => ({ header, secret: privateKey }) };
}

/** @throws {ConfigurationError} for a token that cannot be sent; the message never quotes it */
export function tokenCredential(accessToken: unknown): Credential {
  if (typeof accessToken === 'function') {
    const source = accessToken as AccessTokenSource;
    return {
      refreshable: true,
      authorize: async (request) => bearer(await source(request), 'The token that accessToken() returned'),
    };
  }
  const authorization = bearer(accessToken, 'accessToken');
  return { refreshable: false, authorize: () => authorization };
}

function bearer(token: unknown, what: string): Authorization {
  if (typeof token !== 'string') {
    throw new ConfigurationError(
      `${what} is ${token === null ? 'null' : `of type ${typeof token}`}. Pass the token as a string.`,
    );
  }
  if (!TOKEN.test(token)) {
    throw new ConfigurationError(
      `${what} ${token === '' ? 'is empty' : 'has a space, a line break or a character outside ASCII'}. Pass the token alone, without "Bearer".`,
    );
  }
  const fault = secretFault(token, NO_PREFIX, 'Pass the token itself.');
  if (fault) throw new ConfigurationError(`${what} ${fault}`);
  return { header: `Bearer ${token}`, secret: token };
}

const MARK = '[redacted]';

export type Redact = (text: string) => string;

/** Removes every spelling of the credential that a server may echo. */
export function redactor({ secret, header }: Authorization): Redact {
  const sent = header.slice(header.indexOf(' ') + 1);
  const plain = [secret, sent, Buffer.from(secret).toString('base64')].map((text) => text.replace(/=+$/, ''));
  const spellings = plain.flatMap((text) => [
    text,
    encodeURIComponent(text),
    text.replaceAll('+', '-').replaceAll('/', '_'),
    JSON.stringify(text).slice(1, -1),
  ]);
  // The longest first: one spelling may begin with another, and its rest must not remain.
  const parts = spellings.filter((text) => text !== '').sort((one, other) => other.length - one.length);
  return (text) => parts.reduce((clean, part) => clean.replaceAll(part, MARK), text);
}

/** Parses JSON, and redacts every text and every name in it. */
export function parseRedacted(json: string, redact: Redact): unknown {
  return JSON.parse(json, (_name, value: unknown) => {
    if (typeof value === 'string') return redact(value);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [redact(name), field]));
  });
}
