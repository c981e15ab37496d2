// What has to be reached: a gate, which holds, and an aim, which is hoped for.
import { describe, FAST_PEERS, OURS, PEERS, REFERENCE } from './contestants.js';
import { FLOOR_WAITING, LIMIT, OURS_WAITING, WAITING } from './memory-epoch.js';
import { type Comparison, ratioOf } from './pairing.js';

export interface Target {
  readonly what: string;
  readonly profile: string;
  /** The second is the 1 of the ratio. */
  readonly contestants: readonly [string, string];
  readonly compare: Comparison;
  readonly gate?: number | undefined;
  readonly aim?: number;
  /** Gate and aim are the least that is wanted, and not the most. */
  readonly atLeast?: true;
}

const cpu = ratioOf('cpuNs');
const requests = ratioOf('requestsPerSecond');
const clientAndServer = ratioOf('clientUs', 'serverUs');
const bodies: Comparison = ({ bodyBytes }) => bodyBytes && bodyBytes / (LIMIT * WAITING);
const kilobytesBeyond: Comparison = ({ heldBytes }, { heldBytes: byHand }) =>
  heldBytes && byHand && (heldBytes - byHand) / WAITING / 1_024;

/** Before this major version, every touch of a request of Express cost so much that receivers differ less. */
const FAST_EXPRESS = 22;

/** @param major version of the Node that runs the contestants */
export function targetsOn(major: number): readonly Target[] {
  const fast = major >= FAST_EXPRESS;
  return [
    ...byHand(fast),
    ...ADDITIONS,
    ...besidePeers(fast),
    ...LARGE,
    ...REFUSALS,
    ...WAITING_DELIVERIES,
    ...STORES,
  ];
}

const accept = { profile: 'accept', compare: cpu };

function byHand(fast: boolean): Target[] {
  const wanted = fast ? { gate: 1.08, aim: 0.95 } : { gate: 1.1, aim: 1 };
  return [
    { what: 'accepting 1 KB, by hand = 1', ...accept, contestants: [OURS, REFERENCE], ...wanted },
    {
      what: 'the same 1 KB again and again, by hand = 1',
      profile: 'repeat',
      contestants: [OURS, REFERENCE],
      compare: cpu,
      ...wanted,
    },
    {
      what: 'accepting 1 KB with `store: false`, by hand = 1',
      ...accept,
      contestants: ['ours-no-store', REFERENCE],
      ...(fast ? { gate: 1, aim: 0.9 } : { gate: 1.05, aim: 0.98 }),
    },
    {
      what: 'accepting 1 KB on node:http, by hand = 1',
      ...accept,
      contestants: ['ours-http', 'floor-http-zod'],
      gate: 1.15,
      aim: 1,
    },
  ];
}

/** What one more promise costs. */
const ADDITIONS: readonly Target[] = [
  {
    what: 'with the default store, `store: false` = 1',
    ...accept,
    contestants: [OURS, 'ours-no-store'],
    gate: 1.12,
    aim: 1.05,
  },
  {
    what: 'one log line each, none = 1',
    ...accept,
    contestants: ['ours-logging', OURS],
    gate: 1.15,
    aim: 1.08,
  },
  {
    what: 'observed without an SDK, not observed = 1',
    ...accept,
    contestants: ['ours-otel', OURS],
    gate: 1.03,
    aim: 1,
  },
];

function besidePeers(fast: boolean): Target[] {
  const target = (profile: string, peer: string, what: string): Target => ({
    what: `${what}, ${describe(peer)} = 1`,
    profile,
    contestants: [OURS, peer],
    compare: requests,
    gate: fast ? 1 : undefined,
    aim: 1.15,
    atLeast: true,
  });
  return [
    ...PEERS.map((peer) => target('peers', peer, 'requests a second')),
    ...FAST_PEERS.map((peer) => target('repeat', peer, 'the same again and again, a second')),
  ];
}

const large = { contestants: [OURS, REFERENCE], compare: cpu, gate: 1.1, aim: 1 } as const;
const LARGE: readonly Target[] = [
  { what: 'accepting 16 KB, by hand = 1', profile: 'accept-16k', ...large },
  { what: 'accepting 256 KB, by hand = 1', profile: 'accept-256k', ...large },
];

const cheaper = { contestants: [OURS, 'ours-accepting'], compare: cpu, gate: 1 } as const;
const REFUSALS: readonly Target[] = [
  {
    what: 'rejecting 1 KB, by hand = 1',
    profile: 'reject',
    contestants: [OURS, REFERENCE],
    compare: cpu,
    gate: 1,
    aim: 0.85,
  },
  { what: 'rejecting 1 KB, accepting it = 1', profile: 'reject', ...cheaper },
  { what: 'rejecting 16 KB, accepting it = 1', profile: 'reject-16k', ...cheaper },
  { what: 'rejecting 256 KB, accepting it = 1', profile: 'reject-256k', ...cheaper },
];

const waiting = { profile: 'memory', contestants: [OURS_WAITING, FLOOR_WAITING] } as const;
const WAITING_DELIVERIES: readonly Target[] = [
  { what: 'bodies that wait, `limit` × `maxInFlight` = 1', ...waiting, compare: bodies, gate: 1 },
  { what: 'KB for a waiting delivery, beyond those by hand', ...waiting, compare: kilobytesBeyond, aim: 3 },
];

/** Of `npm run bench:stores`. */
const STORES: readonly Target[] = [
  ['redis', 'redis', 'SET'],
  ['redis', 'ioredis', 'SET'],
  ['postgres', 'pg', 'INSERT'],
].map(([profile = '', client, command]) => ({
  what: `claim + complete with \`${client}\`, a bare ${command} = 1`,
  profile,
  contestants: [`${client}: claim + complete`, `${client}: bare ${command}`],
  compare: clientAndServer,
  gate: 2.5,
  aim: 2.1,
}));
