// The client's credential: a private key or an access token, and its Authorization header.
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

const MARK = '[redacted]';

/** Removes a credential from text, or in place from every text and name in a value of `JSON.parse`. */
export type Redact = <Value>(value: Value) => Value;

/** Knows every spelling of the credential that a server may echo. */
export function redactor({ secret, header }: Authorization): Redact {
  const sent = header.slice(header.indexOf(' ') + 1);
  const plain = [secret, sent, Buffer.from(secret).toString('base64')].map((text) => text.replace(/=+$/, ''));
  const spellings = plain.flatMap((text) => [
    text,
    encodeURIComponent(text),
    text.replaceAll('+', '-').replaceAll('/', '_'),
    JSON.stringify(text).slice(1, -1),
  ]);
  // The longest first: one spelling may begin with another, and the rest of it must not remain.
  const parts = spellings.filter((text) => text !== '').sort((one, other) => other.length - one.length);
  const redactText = (text: string) => parts.reduce((clean, part) => clean.replaceAll(part, MARK), text);
  return <Value>(value: Value) => mapTexts(value, redactText) as Value;
}

/** A loop: the value may be too deep to recurse. */
function mapTexts(value: unknown, map: (text: string) => string): unknown {
  const root = { value };
  const waiting: Record<string, unknown>[] = [root];
  for (let holder = waiting.pop(); holder; holder = waiting.pop()) {
    for (const [name, entry] of Object.entries(holder)) {
      const newName = holder === root || Array.isArray(holder) ? name : map(name);
      const mapped = typeof entry === 'string' ? map(entry) : entry;
      if (newName !== name) delete holder[name];
      if (newName !== name || mapped !== entry) define(holder, newName, mapped);
      if (typeof mapped === 'object' && mapped !== null) waiting.push(mapped as Record<string, unknown>);
    }
  }
  return root.value;
}

/** Assignment would call the setter of a field named `__proto__`. */
function define(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, writable: true, configurable: true });
}
