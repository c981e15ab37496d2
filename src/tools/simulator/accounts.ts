// The accounts of the simulated service and their current credentials (spec: Authentication, Errors).
import { ConfigurationError } from '../../errors.js';
import { keyFault, type SigningKey, signingKey } from '../../signature.js';
import { DEVELOPER, type Scope, type SeededAccount, seeds } from './seeds.js';

export interface KeyPair {
  readonly privateKey: string;
  readonly sandboxKey: string;
}

/** The authenticated account, and its scopes: a private key has all. */
export interface Caller {
  readonly account: SeededAccount;
  readonly scopes: readonly Scope[] | 'all';
}

const KEY_PREFIX = { privateKey: 'pri_sim_', sandboxKey: 'pri_sandbox_sim_' } as const;

export class Accounts {
  /** The keys that the simulator was started with. */
  readonly initial: KeyPair;
  /** The keys that authenticate and sign now. */
  current: KeyPair;
  readonly #sandboxKeySigns: boolean;

  constructor({ privateKey, sandboxKey, sandboxSigning }: KeyPair & { readonly sandboxSigning: string }) {
    this.initial = { privateKey, sandboxKey };
    this.current = this.initial;
    this.#sandboxKeySigns = sandboxSigning === 'sandbox-key';
  }

  /** From now on only the new keys authenticate and sign. @throws {ConfigurationError} for an invalid key */
  rotate(keys: Partial<Record<keyof KeyPair, unknown>>): void {
    const { privateKey = this.current.privateKey, sandboxKey = this.current.sandboxKey } = keys;
    this.current = {
      privateKey: simulatorKey('privateKey', privateKey),
      sandboxKey: simulatorKey('sandboxKey', sandboxKey),
    };
  }

  signingKey(event: { readonly sandbox: boolean }): SigningKey {
    const { privateKey, sandboxKey } = this.current;
    return signingKey(this.signsWithSandboxKey(event) ? sandboxKey : privateKey);
  }

  signsWithSandboxKey({ sandbox }: { readonly sandbox: boolean }): boolean {
    return sandbox && this.#sandboxKeySigns;
  }

  /** Undefined for 401: the credential is missing, malformed, unknown, or a key for the other mode. */
  authenticate([authorization = '', ...more]: readonly string[], sandbox: boolean): Caller | undefined {
    if (more.length > 0) return undefined;
    // Scheme names are case-insensitive in HTTP; the credential is not.
    const [, scheme = '', credential = ''] = /^(basic|bearer) ([^ ]+)$/i.exec(authorization) ?? [];
    if (scheme.toLowerCase() === 'bearer') {
      const known = seeds.tokens.find(({ token }) => token === credential);
      return known && callerOf(known.account, known.scopes);
    }
    return callerOf(this.#ownerOf(privateKeyIn(credential), sandbox), 'all');
  }

  #ownerOf(key: string | undefined, sandbox: boolean): string | undefined {
    const { privateKey, sandboxKey } = this.current;
    if (key === (sandbox ? sandboxKey : privateKey)) return DEVELOPER;
    const seed = seeds.keys.find((known) => known.key === key && known.sandbox === sandbox);
    // The developer's seeded keys may have been replaced.
    return seed?.account === DEVELOPER ? undefined : seed?.account;
  }
}

function callerOf(id: string | undefined, scopes: Caller['scopes']): Caller | undefined {
  const account = seeds.accounts.find((known) => known.id === id);
  return account && { account, scopes };
}

export function forbidden({ account, scopes }: Caller, needed: Scope): string | undefined {
  if (!account.active) return 'The account is inactive.';
  if (!account.identity_verified) return "The account's identity is not verified.";
  if (scopes !== 'all' && !scopes.includes(needed)) return `The access token lacks the scope ${needed}.`;
  return undefined;
}

/**
 * Accepts only simulator keys: a real key must not end up in a tool that prints and stores keys.
 *
 * @throws {ConfigurationError} that never quotes the key
 */
export function simulatorKey(option: keyof KeyPair, key: unknown): string {
  const prefix = KEY_PREFIX[option];
  const fault = keyFault(key, `Pass a key that begins with "${prefix}".`);
  if (fault) throw new ConfigurationError(`${option} ${fault}`);
  const text = String(key);
  if (!text.startsWith(prefix) || text === prefix) {
    throw new ConfigurationError(
      `${option} does not begin with "${prefix}", so it may be a real key. Pass a simulator key.`,
    );
  }
  if (!/^[!-9;-~]+$/.test(text)) {
    throw new ConfigurationError(`${option} contains a space, a colon or a non-ASCII character. Remove it.`);
  }
  if (seeds.keys.some((seed) => seed.key === text && seed.account !== DEVELOPER)) {
    throw new ConfigurationError(`${option} is the seeded key of another account. Pass another key.`);
  }
  return text;
}

/** Basic credentials: the user name is the key, and the password is empty, so the text ends with its only colon. */
function privateKeyIn(credential: string): string | undefined {
  const bytes = Buffer.from(credential, 'base64');
  // Node silently skips invalid base64, so compare with the encoded bytes.
  if (bytes.toString('base64') !== credential) return undefined;
  const text = bytes.toString('utf8');
  return text.indexOf(':') === text.length - 1 ? text.slice(0, -1) : undefined;
}
