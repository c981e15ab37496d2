// The targets: a gate, which must hold, and an aim, which we hope for.
import {
  CALLERS,
  callersName,
  DISTANCES,
  describe,
  FAST_PEERS,
  isBare,
  OURS,
  oldName,
  PEERS,
  STORE_CONTESTANTS,
} from './contestants.js';
import { type Comparison, ratioOf } from './epoch.js';
import { FLOOR_WAITING, LIMIT, OURS_WAITING, WAITING } from './memory-epoch.js';

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
  return [...nextToPeers(major >= FAST_EXPRESS), ...WAITING_DELIVERIES];
}

function nextToPeers(fast: boolean): Target[] {
  const target = (profile: string, peer: string, what: string): Target => ({
    what: `${what}, ${describe(peer)} = 1`,
    profile,
    contestants: [OURS, peer],
    compare: requests,
    gate: fast ? 0.95 : undefined,
    aim: 1.02,
    atLeast: true,
  });
  return [
    ...PEERS.map((peer) => target('peers', peer, 'requests a second')),
    ...FAST_PEERS.map((peer) => target('repeat', peer, 'the same again and again, a second')),
  ];
}

const waiting = { profile: 'memory', contestants: [OURS_WAITING, FLOOR_WAITING] } as const;
const WAITING_DELIVERIES: readonly Target[] = [
  { what: 'bodies that wait, `limit` × `maxInFlight` = 1', ...waiting, compare: bodies, gate: 1 },
  { what: 'KB for a waiting delivery, beyond those by hand', ...waiting, compare: kilobytesBeyond, aim: 3 },
];

/** Of `npm run bench -- --ab COMMIT`: what a version may cost that is easier to read. */
export const AB_TARGETS: readonly Target[] = [
  againstOld('accepting 1 KB', 'accept', OURS),
  againstOld('with a log line each', 'accept', 'ours-logging'),
  { ...againstOld('on node:http', 'accept', 'ours-http'), gate: 1.1, aim: 1.03 },
  againstOld('rejecting 1 KB', 'reject', OURS),
  againstOld('accepting 16 KB', 'accept-16k', OURS),
  againstOld('accepting 256 KB', 'accept-256k', OURS),
];

function againstOld(what: string, profile: string, contestant: string): Target {
  return {
    what: `${what}, before = 1`,
    profile,
    contestants: [contestant, oldName(contestant)],
    compare: cpu,
    gate: 1.06,
    aim: 1,
  };
}

/** Of `npm run bench:stores`. */
export const STORE_TARGETS: readonly Target[] = [
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

/** Of `npm run bench:stores -- --ab COMMIT`. Memory has no gate: all of it is a few microseconds. */
export const STORE_AB_TARGETS: readonly Target[] = [
  ...callersTargets(),
  ...Object.entries(STORE_CONTESTANTS).flatMap(([profile, contestants]) =>
    contestants
      .filter((name) => profile !== 'callers' && !isBare(name))
      .map(
        (name): Target => ({
          what: `${name}, before = 1`,
          profile,
          contestants: [name, oldName(name)],
          compare: clientAndServer,
          gate: profile === 'memory' ? undefined : 1.05,
          aim: 1,
        }),
      ),
  ),
];

/** What calls that share a statement gain: the rate by the number of callers, and at 64 what an event costs client and server. */
function callersTargets(): Target[] {
  const rate: Comparison = (one, other) => ratioOf('wallUs')(other, one);
  const gates = [0.95, 1.3, 2.5, 4];
  const aims = [1, 2, 5, 8];
  return DISTANCES.flatMap((ms) => {
    const against = (callers: number) => {
      const name = callersName(callers, ms);
      return { profile: 'callers', contestants: [name, oldName(name)] } as const;
    };
    const cost = (who: string, figure: 'clientUs' | 'serverUs'): Target => ({
      ...{ what: `CPU of ${who} for an event, ${callersName(64, ms)}, before = 1`, ...against(64) },
      ...{ compare: ratioOf(figure), gate: 0.4, aim: 0.15 },
    });
    const rates = CALLERS.map(
      (callers, index): Target => ({
        ...{ what: `events a second, ${callersName(callers, ms)}, before = 1`, ...against(callers) },
        ...{ compare: rate, gate: gates[index], aim: aims[index] ?? 1, atLeast: true },
      }),
    );
    return [...rates, cost('Node', 'clientUs'), cost('Postgres', 'serverUs')];
  });
}
