// The accounts of the simulated service, and which private keys and tokens are theirs now.
import { type SigningKey, signingKey } from '../signature.js';
import { DEVELOPER, type Scope, type SeededAccount, type SeededToken, seeds } from './seeds.js';
import { simulatorKey } from './settings.js';

/** Whose key it is, and for which endpoints. */
export interface KeyOwner {
  readonly account: SeededAccount;
  readonly sandbox: boolean;
}

/** The developer's two keys. */
export interface KeyPair {
  readonly privateKey: string;
  readonly sandboxKey: string;
}

export class Keyring {
  readonly #first: KeyPair;
  #current: KeyPair;
  readonly #signingKeys = new Map<string, SigningKey>();

  constructor(keys: KeyPair) {
    this.#first = { privateKey: keys.privateKey, sandboxKey: keys.sandboxKey };
    this.#current = this.#first;
  }

  get current(): KeyPair {
    return this.#current;
  }

  get first(): KeyPair {
    return this.#first;
  }

  /** From now on only the new key authenticates, and it signs. @throws {ConfigurationError} as `startSimulator()` does */
  rotate(keys: Partial<Record<keyof KeyPair, unknown>>): void {
    const { privateKey = this.#current.privateKey, sandboxKey = this.#current.sandboxKey } = keys;
    this.#current = {
      privateKey: simulatorKey('privateKey', privateKey),
      sandboxKey: simulatorKey('sandboxKey', sandboxKey),
    };
  }

  /** What signs events: the private key, or on request the sandbox key. */
  signingKey(sandbox: boolean): SigningKey {
    const text = sandbox ? this.#current.sandboxKey : this.#current.privateKey;
    const key = this.#signingKeys.get(text) ?? signingKey(text);
    this.#signingKeys.set(text, key);
    return key;
  }

  reset(): void {
    this.#current = this.#first;
  }

  /** The owner of a private key, or undefined for a key of nobody. */
  ownerOf(key: string): KeyOwner | undefined {
    if (key === this.#current.privateKey) return { account: accountOf(DEVELOPER), sandbox: false };
    if (key === this.#current.sandboxKey) return { account: accountOf(DEVELOPER), sandbox: true };
    const seed = seeds.keys.find((known) => known.key === key && known.account !== DEVELOPER);
    return seed && { account: accountOf(seed.account), sandbox: seed.sandbox };
  }

  tokenOf(text: string): { account: SeededAccount; scopes: readonly Scope[] } | undefined {
    const token: SeededToken | undefined = seeds.tokens.find((known) => known.token === text);
    return token && { account: accountOf(token.account), scopes: token.scopes };
  }
}

function accountOf(id: string): SeededAccount {
  const account = seeds.accounts.find((known) => known.id === id);
  if (!account) throw new Error(`The seeds name an account that is not there: ${id}`);
  return account;
}
