// The predefined accounts, keys and tokens: each demonstrates one answer of the API.
import { isSandboxKey } from '../../signature.js';

/** The service does not document scope names; these are the simulator's own. */
export type Scope = 'account:read' | 'webhooks:read' | 'webhooks:write';

/** An account of the simulated service. */
export interface SeededAccount {
  readonly id: string;
  readonly name: string;
  readonly active: boolean;
  readonly identity_verified: boolean;
}

export interface SeededKey {
  readonly key: string;
  readonly account: string;
  readonly sandbox: boolean;
  /** What a request with it shows. */
  readonly shows: string;
}

export interface SeededToken {
  readonly token: string;
  readonly account: string;
  readonly scopes: readonly Scope[];
  /** What a request with it shows. */
  readonly shows: string;
}

/** The account whose webhooks get the events. */
export const DEVELOPER = 'acc_sim_dev';

const INACTIVE = 'acc_sim_inactive';
const UNVERIFIED = 'acc_sim_unverified';

/**
 * The seeded accounts, keys and tokens. They are published and work only with a simulator.
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
    { id: INACTIVE, name: 'Inactive', active: false, identity_verified: true },
    { id: UNVERIFIED, name: 'Unverified', active: true, identity_verified: false },
  ],
  keys: [
    key('pri_sim_dev', DEVELOPER, 'everything on /api/v2'),
    key('pri_sandbox_sim_dev', DEVELOPER, 'everything on /sandbox/api/v2, 401 on /api/v2'),
    key('pri_sim_inactive', INACTIVE, '403: inactive account'),
    key('pri_sim_unverified', UNVERIFIED, '403: identity not verified'),
  ],
  tokens: [
    token('sim_token_all', ['account:read', 'webhooks:read', 'webhooks:write'], 'everything'),
    token('sim_token_read', ['account:read', 'webhooks:read'], '403 on writes'),
    token('sim_token_none', [], '403 everywhere'),
  ],
};

function key(text: string, account: string, shows: string): SeededKey {
  return { key: text, account, sandbox: isSandboxKey(text), shows };
}

function token(text: string, scopes: readonly Scope[], shows: string): SeededToken {
  return { token: text, account: DEVELOPER, scopes, shows };
}
