// The first lines of `simulate`: where everything is, and the keys and tokens to use.
import { DEVELOPER, seeds } from '../simulator/seeds.js';
import type { Key } from './keyboard.js';
import { type Paint, table } from './print.js';

export interface Facts {
  readonly baseUrl: string;
  readonly dashboardUrl: string;
  readonly privateKey: string;
  readonly sandboxKey: string;
  readonly forwards: readonly string[];
  readonly demo: string | undefined;
}

interface Manner {
  readonly json: boolean;
  readonly keys: readonly Key[];
  readonly paint: Paint;
}

export function announcement(facts: Facts, { json, keys, paint }: Manner): string {
  if (json) return JSON.stringify(ready(facts));
  const { baseUrl, dashboardUrl, forwards, demo } = facts;
  const places = [
    ['page', dashboardUrl],
    ['API base URL', `${baseUrl}`],
    ...forwards.map((url) => ['delivers to', url]),
    ...(demo === undefined ? [] : [['demo endpoint', demo]]),
  ];
  const credentials = [...keysOf(facts), ...tokensOf()];
  return [
    paint('bold', 'The service runs on this machine.'),
    '',
    table(places),
    '',
    table(credentials),
    '',
    ...(keys.length > 0
      ? [paint('dim', keys.map(({ letter, about }) => `${letter}  ${about}`).join('\n')), '']
      : []),
  ].join('\n');
}

/** The published ones; those of the developer's account may be the user's own. */
function keysOf({ privateKey, sandboxKey }: Facts): [string, string, string][] {
  return seeds.keys.map(({ key, account, sandbox, shows }, index) => {
    const own = sandbox ? sandboxKey : privateKey;
    const isDeveloper = account === DEVELOPER;
    return ['key', isDeveloper ? own : key, index === 0 ? `${shows}; signs every delivery` : shows];
  });
}

function tokensOf(): [string, string, string][] {
  return seeds.tokens.map(({ token, shows }) => ['token', token, shows]);
}

function ready(facts: Facts): object {
  const { baseUrl, dashboardUrl, privateKey, sandboxKey, forwards, demo = null } = facts;
  return {
    ...{ type: 'ready', page: dashboardUrl, base_url: baseUrl, private_key: privateKey },
    ...{ sandbox_key: sandboxKey, forwards, demo },
    keys: keysOf(facts).map(([, key, shows]) => ({ key, shows })),
    tokens: tokensOf().map(([, token, shows]) => ({ token, shows })),
  };
}
