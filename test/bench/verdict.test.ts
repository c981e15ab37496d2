// Gates and aims: at their edges, when somebody was dropped, and on both kinds of Node.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { contestantOf, PEERS } from './contestants.js';
import type { Epoch, Sample } from './epoch.js';
import { profiles } from './profiles.js';
import { Series } from './series.js';
import { STORE_CONTESTANTS } from './store-names.js';
import { targetsOn } from './targets.js';
import { compare, isMissed, judge } from './verdict.js';
import { missedGates, verdictTable } from './verdict-table.js';

const interval = (low: number, high: number) => ({ median: (low + high) / 2, low, high });

describe('a bound that is the most', () => {
  test.each([
    [0.9, 1.0, 'met'],
    [0.99, 1.01, 'within the interval'],
    [1.0, 1.01, 'within the interval'],
    [1.01, 1.02, 'missed'],
  ])('of 1 is, by %d to %d, %s', (low, high, verdict) => {
    expect(compare(interval(low, high), 1)).toBe(verdict);
  });
});

describe('a bound that is the least', () => {
  test.each([
    [1.0, 1.1, 'met'],
    [0.99, 1.0, 'within the interval'],
    [0.98, 0.99, 'missed'],
  ])('of 1 is, by %d to %d, %s', (low, high, verdict) => {
    expect(compare(interval(low, high), 1, true)).toBe(verdict);
  });
});

describe('a target', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'payment-webhooks-verdict-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** A series of one epoch with one round. */
  function seriesOf(name: string, round: Record<string, Sample>, dropped: Epoch['dropped'] = {}): Series {
    const contestants = [...Object.keys(round), ...Object.keys(dropped)];
    const measure = () => Promise.reject(new Error('Nothing is to be measured.'));
    const series = new Series(
      { name, title: name, contestants, key: {}, expectedSeconds: 1, measure },
      folder,
    );
    series.add({ seconds: 1, rounds: [round], dropped });
    return series;
  }

  const accept = (cpuNs: number) =>
    seriesOf('accept', { ours: { cpuNs }, 'floor-express5': { cpuNs: 1_000 } });

  test.each([
    [1_084, 24, 'met'],
    [1_086, 24, 'missed'],
    [1_086, 20, 'met'],
    [1_104, 20, 'met'],
    [1_106, 20, 'missed'],
  ])('is judged as it is shown: %d ns for 1,000 by hand on Node %d has %s its gate', (cpuNs, major, gate) => {
    const [judged, ...others] = judge([accept(cpuNs)], major);
    expect(others).toEqual([]);
    expect(judged).toMatchObject({ target: { what: 'accepting 1 KB, by hand = 1' }, gate });
    expect(judged && isMissed(judged)).toBe(gate === 'missed');
  });

  test('has gate and aim beside it in the table', () => {
    expect(
      verdictTable(judge([accept(1_200)], 24))
        .split('\n')
        .at(-1),
    ).toMatch(
      /^\| accepting 1 KB, by hand = 1 \| +1\.20 \| +1\.20 – 1\.20 \| ≤ 1\.08 missed \| ≤ 0\.95 missed \|$/,
    );
    expect(missedGates(judge([accept(1_200)], 24))).toEqual([
      'Gate missed: accepting 1 KB, by hand = 1: 1.20 – 1.20 is beyond ≤ 1.08',
    ]);
  });

  test('is missed when a contestant of it was dropped', () => {
    const series = seriesOf('accept', { 'floor-express5': { cpuNs: 1 } }, { ours: 'it answered nothing' });
    expect(missedGates(judge([series], 24))).toEqual([
      'Gate missed: accepting 1 KB, by hand = 1: was not measured, and has to be ≤ 1.08',
    ]);
  });

  test('is left out when a contestant of it did not take part', () => {
    expect(judge([seriesOf('accept', { 'floor-express5': { cpuNs: 1 } })], 24)).toEqual([]);
  });

  test('of requests a second is held against each peer, and gated on new versions of Node only', () => {
    const requests = (requestsPerSecond: number): Sample => ({ requestsPerSecond });
    const slow = { ...Object.fromEntries(PEERS.map((peer) => [peer, requests(100)])), svix: requests(120) };
    const peers = seriesOf('peers', { ours: requests(110), ...slow });
    expect(judge([peers], 24)).toHaveLength(PEERS.length);
    expect(missedGates(judge([peers], 24))).toEqual([
      'Gate missed: requests a second, svix, no schema = 1: 0.92 – 0.92 is beyond ≥ 1.00',
    ]);
    expect(missedGates(judge([peers], 20))).toEqual([]);
  });

  test('of memory compares bodies with what is allowed, and the rest with what is held by hand', () => {
    const memory = seriesOf('memory', {
      'ours-waiting': { bodyBytes: 163_840_000, heldBytes: 200_000_000 },
      'floor-waiting': { bodyBytes: 163_840_000, heldBytes: 189_760_000 },
    });
    expect(judge([memory], 24)).toMatchObject([
      { estimate: { median: 1 }, gate: 'met' },
      { estimate: { median: 1 }, aim: 'met', gate: undefined },
    ]);
  });

  test('of a store counts the CPU of client and server', () => {
    const redis = seriesOf('redis', {
      'redis: claim + complete': { clientUs: 20, serverUs: 6 },
      'redis: bare SET': { clientUs: 8, serverUs: 2 },
    });
    expect(judge([redis], 20)).toMatchObject([{ estimate: { median: 2.6 }, gate: 'missed', aim: 'missed' }]);
  });
});

test.each([20, 24])('both contestants of every target on Node %d take part in its profile', (major) => {
  const taking: Record<string, readonly string[]> = {
    ...Object.fromEntries(profiles.map(({ name, contestants }) => [name, contestants])),
    ...STORE_CONTESTANTS,
    memory: ['ours-waiting', 'floor-waiting'],
  };
  for (const { profile, contestants } of targetsOn(major))
    expect(taking[profile]).toEqual(expect.arrayContaining([...contestants]));
});

test('every contestant of a profile can be served', () => {
  const files = readdirSync(join(__dirname, 'contestants'));
  for (const name of profiles.flatMap(({ contestants }) => contestants))
    expect(files).toContain(`${contestantOf(name).name}.js`);
});
