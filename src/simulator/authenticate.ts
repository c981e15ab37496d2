// The Authorization header -> the account it stands for, or 401 (spec: Authentication, Errors).
import type { KeyOwner, Keyring } from './keyring.js';
import type { Scope, SeededAccount } from './seeds.js';

/** Who asks, and what they may do: a private key may do everything. */
export interface Caller {
  readonly account: SeededAccount;
  readonly scopes: readonly Scope[] | 'all';
}

export class Authenticator {
  readonly #keyring: Keyring;

  constructor(keyring: Keyring) {
    this.#keyring = keyring;
  }

  /**
   * Undefined means 401: missing, malformed, of nobody, or a key of the other mode.
   *
   * @param headers every value of the Authorization header
   */
  authenticate(headers: readonly string[], sandbox: boolean): Caller | undefined {
    const [header, ...more] = headers;
    if (header === undefined || more.length > 0) return undefined;
    // Scheme names are case-insensitive in HTTP; everything behind them is not.
    const [, scheme = '', credential = ''] = /^(basic|bearer) ([^ ]+)$/i.exec(header) ?? [];
    if (scheme.toLowerCase() === 'bearer') return this.#keyring.tokenOf(credential);
    const owner = scheme === '' ? undefined : this.#byPrivateKey(credential);
    return owner?.sandbox === sandbox ? { account: owner.account, scopes: 'all' } : undefined;
  }

  /** The key is the user name, and the password is empty: the text ends with its only colon. */
  #byPrivateKey(credential: string): KeyOwner | undefined {
    const bytes = Buffer.from(credential, 'base64');
    // Node decodes what it can and skips the rest, so the way back is what proves the text.
    if (bytes.toString('base64') !== credential) return undefined;
    const text = bytes.toString('utf8');
    const colon = text.indexOf(':');
    if (colon === -1 || colon !== text.length - 1) return undefined;
    return this.#keyring.ownerOf(text.slice(0, colon));
  }
}

/** Why an authenticated caller may not do this, or undefined. Answered 403. */
export function forbidden({ account, scopes }: Caller, needed: Scope): string | undefined {
  if (!account.active) return 'The account is inactive.';
  if (!account.identity_verified) return "The account's identity is not verified.";
  if (scopes !== 'all' && !scopes.includes(needed)) return `The access token lacks the scope ${needed}.`;
  return undefined;
}
