// The credential of the client: a private key or an access token, and the Authorization header for it.
import { ConfigurationError } from '../errors.js';
import { keyFault } from '../signature.js';

/**
 * Returns the access token to send. Called once for every call of the service, and once more after a 401, with
 * `refresh` true: then a token from your own cache would be refused again.
 */
export type AccessTokenSource = (request: {
  readonly refresh: boolean;
  readonly signal: AbortSignal;
}) => string | Promise<string>;

export interface Authorization {
  /** The value of the Authorization header. */
  readonly header: string;
  /** The key or token in it. */
  readonly secret: string;
}

export interface Credential {
  /** Whether a second call of `authorize` after a 401 may give another token. */
  readonly refreshable: boolean;
  readonly authorize: (request: Parameters<AccessTokenSource>[0]) => Authorization | Promise<Authorization>;
}

const TOKEN = /^[!-~]+$/;

/** @throws {ConfigurationError} for a key that cannot be sent; the message never quotes it */
export function keyCredential(privateKey: unknown, option: string): Credential {
  const fault = keyFault(privateKey);
  if (fault || typeof privateKey !== 'string') {
    throw new ConfigurationError(
      `${option} ${fault ?? 'is not text. Copy the private key from the dashboard.'}`,
    );
  }
  if (privateKey.includes(':')) {
    throw new ConfigurationError(
      `${option} has a colon, which ends the user name in Basic authentication. Give the private key alone, not encoded.`,
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
      `${what} is ${token === null ? 'null' : `of type ${typeof token}`}. Give the token as text.`,
    );
  }
  if (!TOKEN.test(token)) {
    throw new ConfigurationError(
      `${what} ${token === '' ? 'is empty' : 'has a space, a line break or a character outside ASCII'}. Give the token alone, without "Bearer".`,
    );
  }
  return { header: `Bearer ${token}`, secret: token };
}
