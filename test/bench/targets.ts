// What has to be reached: a gate, which holds, and an aim, which is hoped for.
import { OURS, PEERS, REFERENCE } from './contestants.js';
import type { Figure, Measurement } from './measure.js';
import type { Memory } from './memory.js';

export interface Results {
  readonly measurements: readonly Measurement[];
  readonly memory: Memory | undefined;
  /** Major version of the Node that ran the contestants. */
  readonly major: number;
}

interface Target {
  readonly what: string;
  readonly gate: number | undefined;
  readonly aim: number | undefined;
  /** Not at most, but at least. */
  readonly atLeast?: boolean;
  readonly value: (results: Results) => number | undefined;
}

export interface Judged {
  readonly what: string;
  readonly value: number;
  readonly gate: string;
  readonly aim: string;
  readonly missed: boolean;
}

/** Before this major version, touching the requests of Express cost so much that receivers differ less. */
const FAST_EXPRESS = 22;

function figure(results: Results, profile: string, name: string): Figure | undefined {
  return results.measurements.find((one) => one.profile.name === profile)?.figures.get(name);
}

/** CPU time of one over that of another, best to best. */
function cpu(profile: string, one: string, other: string, otherProfile = profile): Target['value'] {
  return (results) => {
    const [upper, lower] = [figure(results, profile, one), figure(results, otherProfile, other)];
    return upper && lower && upper.ns / lower.ns;
  };
}

function beside(peers: readonly string[]): Target['value'] {
  return (results) => {
    const ours = figure(results, 'peers', OURS)?.requestsPerSecond;
    const theirs = peers.map((name) => figure(results, 'peers', name)?.requestsPerSecond ?? 0);
    return ours && Math.max(...theirs) > 0 ? ours / Math.max(...theirs) : undefined;
  };
}

function targetsOn(major: number): Target[] {
  const fast = major >= FAST_EXPRESS;
  const accept = fast ? { gate: 0.95, aim: 0.85 } : { gate: 1, aim: 0.92 };
  const large = { gate: 0.95, aim: 0.75 };
  const cheaper = { gate: 1, aim: 1 };
  const open = { gate: undefined, aim: undefined };
  return [
    { what: 'accepting 1 KB, by hand = 1', ...accept, value: cpu('accept', OURS, REFERENCE) },
    { what: 'accepting 16 KB', ...large, value: cpu('accept-16k', OURS, REFERENCE) },
    { what: 'accepting 256 KB', ...large, value: cpu('accept-256k', OURS, REFERENCE) },
    // What it is worth not to walk the metadata; nothing was asked of it.
    { what: 'accepting 16 KB, z.record = 1', ...open, value: cpu('accept-16k', OURS, 'floor-record') },
    { what: 'accepting 256 KB, z.record = 1', ...open, value: cpu('accept-256k', OURS, 'floor-record') },
    {
      what: 'rejecting 1 KB',
      gate: fast ? 1 : undefined,
      aim: 0.85,
      value: cpu('reject', OURS, REFERENCE),
    },
    { what: 'rejecting 1 KB, accepting it = 1', ...cheaper, value: cpu('reject', OURS, OURS, 'accept') },
    {
      what: 'rejecting 16 KB, accepting it = 1',
      ...cheaper,
      value: cpu('reject-16k', OURS, OURS, 'accept-16k'),
    },
    {
      what: 'rejecting 256 KB, accepting it = 1',
      ...cheaper,
      value: cpu('reject-256k', OURS, OURS, 'accept-256k'),
    },
    {
      what: 'requests a second, fastest peer = 1',
      gate: fast ? 1 : undefined,
      aim: 1.15,
      atLeast: true,
      value: beside(PEERS),
    },
    {
      what: 'requests a second, the peer that validates = 1',
      gate: 1,
      aim: 1.15,
      atLeast: true,
      value: beside(['polar']),
    },
    {
      what: 'on node:http, by hand = 1',
      gate: 1.15,
      aim: 1,
      value: cpu('accept', 'ours-http', 'floor-http-zod'),
    },
    { what: 'with a store, without = 1', gate: 1.1, aim: 1.05, value: cpu('accept', OURS, 'ours-no-store') },
    { what: 'observed, not observed = 1', gate: 1.03, aim: 1, value: cpu('accept', 'ours-otel', OURS) },
    {
      what: 'bodies that wait, `limit` × `maxInFlight` = 1',
      gate: 1,
      aim: 1,
      value: ({ memory }) => memory && memory.buffers / memory.allowed,
    },
    {
      what: 'KB for a delivery that waits, beyond those by hand',
      gate: undefined,
      aim: 4,
      value: ({ memory }) => memory && memory.overhead / 1_024,
    },
  ];
}

/** Every target that was measured. */
export function judge(results: Results): Judged[] {
  return targetsOn(results.major).flatMap(({ what, gate, aim, atLeast = false, value }) => {
    const measured = value(results);
    if (measured === undefined) return [];
    // As it is shown, so that nobody reads 0.95 beside a missed 0.95.
    const rounded = Math.round(measured * 100) / 100;
    const met = (bound: number) => (atLeast ? rounded >= bound : rounded <= bound);
    const say = (bound: number | undefined) =>
      bound === undefined
        ? ''
        : `${atLeast ? '≥' : '≤'} ${bound.toFixed(2)} ${met(bound) ? 'met' : 'missed'}`;
    return [
      { what, value: rounded, gate: say(gate), aim: say(aim), missed: gate !== undefined && !met(gate) },
    ];
  });
}
