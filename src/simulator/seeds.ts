// The accounts, keys and tokens that are there from the start: each shows one answer of the authentication table.

/** Scope names are not documented; these are the simulator's own. */
export type Scope = 'account:read' | 'webhooks:read' | 'webhooks:write';

/** An account of the simulated service. */
export interface SeededAccount {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly identity_verified: boolean;
}

/** A private key that is known from the start. */
export interface SeededKey {
  readonly key: string;
  readonly account: string;
  readonly sandbox: boolean;
  /** What a request with it shows. */
  readonly shows: string;
}

/** An OAuth access token that is known from the start. */
export interface SeededToken {
  readonly token: string;
  readonly account: string;
  readonly scopes: readonly Scope[];
  /** What a request with it shows. */
  readonly shows: string;
}

const SCOPES: readonly Scope[] = Object.freeze(['account:read', 'webhooks:read', 'webhooks:write']);

/** The account whose webhooks are notified. */
export const DEVELOPER = 'acc_sim_dev';

/**
 * The seeded accounts, keys and tokens. They are published and open nothing but a simulator.
 *
 * @example
 * for (const { key, shows } of seeds.keys) console.log(key, shows);
 */
export const seeds: {
  readonly accounts: readonly SeededAccount[];
  readonly keys: readonly SeededKey[];
  readonly tokens: readonly SeededToken[];
} = {
  accounts: [
    { id: DEVELOPER, name: 'Developer', active: true, identity_verified: true },
    { id: 'acc_sim_inactive', name: 'Inactive', active: false, identity_verified: true },
    { id: 'acc_sim_unverified', name: 'Unverified', active: true, identity_verified: false },
  ],
  keys: [
    { key: 'pri_sim_dev', account: DEVELOPER, sandbox: false, shows: 'everything on /api/v2' },
    {
      key: 'pri_sandbox_sim_dev',
      account: DEVELOPER,
      sandbox: true,
      shows: 'everything on /sandbox/api/v2, 401 on /api/v2',
    },
    { key: 'pri_sim_inactive', account: 'acc_sim_inactive', sandbox: false, shows: '403: inactive account' },
    {
      key: 'pri_sim_unverified',
      account: 'acc_sim_unverified',
      sandbox: false,
      shows: '403: identity not verified',
    },
  ],
  tokens: [
    { token: 'sim_token_all', account: DEVELOPER, scopes: SCOPES, shows: 'everything' },
    {
      token: 'sim_token_read',
      account: DEVELOPER,
      scopes: ['account:read', 'webhooks:read'],
      shows: '403 on writes',
    },
    { token: 'sim_token_none', account: DEVELOPER, scopes: [], shows: '403 everywhere' },
  ],
};
