// Each recorded history is sound, and each edit that a broken receiver, store or replay could have caused is found.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { node, ROOT } from '../../setup/shell.js';
import { checkHistory, ranAtOnce } from './check-history.js';
import {
  type AttemptRecord,
  type History,
  type HistoryRecord,
  type LateRecord,
  type RunRecord,
  readHistory,
  recordsOf,
  writeHistory,
} from './history.js';

const FOLDER = join(ROOT, 'test/lab/faults/histories');
const FILES = readdirSync(FOLDER).sort();
const histories = FILES.map((name) => ({ name, ...readHistory(join(FOLDER, name)) }));
const scratch = mkdtempSync(join(tmpdir(), 'histories-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

type Edit = (history: History) => readonly HistoryRecord[];
type Type = HistoryRecord['type'];
type Of<Kind extends Type> = Extract<HistoryRecord, { readonly type: Kind }>;

function firstOf<Kind extends Type>(
  history: History,
  type: Kind,
  fits: (record: Of<Kind>) => boolean = () => true,
): Of<Kind> {
  const found = recordsOf(history, type).find(fits);
  if (!found) throw new Error(`The history has no such ${type}.`);
  return found;
}

const firstRow = (history: History) => firstOf(history, 'row', ({ replay }) => !replay);
const firstSuccess = (history: History) =>
  firstOf(history, 'attempt', ({ status, forged, replay }) => status === 200 && !forged && !replay);
const job = (history: History) => firstOf(history, 'job');
const conflict = (history: History) => firstOf(history, 'letter', ({ reason }) => reason === 'conflict');
const calmly = ({ records }: History) => records.filter(({ type }) => type !== 'fault');

/** Without those of the first event. */
const without =
  (type: 'row' | 'letter' | 'job' | 'claim'): Edit =>
  (history) => {
    const { event } = firstOf(history, type);
    return history.records.filter((one) => one.type !== type || one.event !== event);
  };
const adding =
  (make: (history: History) => HistoryRecord): Edit =>
  (history) => [...history.records, make(history)];
/** Changes the record that `find` finds. */
const changing =
  (find: (history: History) => HistoryRecord, change: object): Edit =>
  (history) => {
    const found = find(history);
    return history.records.map((one) => (one === found ? ({ ...one, ...change } as HistoryRecord) : one));
  };
const changingRuns =
  (change: Partial<RunRecord>): Edit =>
  ({ records }) =>
    records.map((one) => (one.type === 'run' ? { ...one, ...change } : one));
/** Refuses every attempt that has this in common with the one that `find` finds. */
const refusing =
  (field: 'copy' | 'event', find: (history: History) => AttemptRecord): Edit =>
  (history) => {
    const { [field]: value } = find(history);
    const refused = { status: 503, body: '{"message":"No."}' };
    return history.records.map((one) =>
      one.type === 'attempt' && one[field] === value ? { ...one, ...refused } : one,
    );
  };
const NEVER = 9e12;
/** Of the first success, so many times when all should be calm. */
const inCalm =
  (times: number, change: object): Edit =>
  (history) => {
    const at = (history.campaign.calmSince ?? 0) + 1;
    const attempt = { ...firstSuccess(history), at, answeredAt: at, ...change };
    return [...history.records, ...Array.from({ length: times }, () => attempt)];
  };

/** What is done to a history, and what has to be found then. */
type Edits = Readonly<Record<string, readonly [edit: Edit, finds: string]>>;

const EDITS: Edits = {
  'an event that was lost': [without('row'), 'have no row'],
  'an effect that was doubled': [
    (history) => [...calmly(history), ...[-1, -2].map((worker) => ({ ...firstRow(history), worker }))],
    'ran twice, and no fault explains it',
  ],
  'a row that was forged': [
    adding((history) => ({ ...firstRow(history), event: 'forged' })),
    'belong to no genuine event',
  ],
  'an answer with what a handler said': [
    changing(firstSuccess, { body: '{"message":"the card of Ada Example"}' }),
    'not in the table of answers',
  ],
  'a worker that ended by itself': [
    adding(() => ({ type: 'finding', what: 'a worker ended with exit code 99' })),
    'a worker ended with exit code 99',
  ],
};

/** Of deliveries and dead letters, whose handlers run before the answer. */
const RUN_EDITS: Edits = {
  'a 2xx before the end of the handler': [changingRuns({ ended: NEVER }), 'before a handler had ended'],
  'an event whose handler failed': [changingRuns({ done: false }), 'before a handler had ended'],
  'two runs at the same time': [
    (history) => {
      const run = firstOf(history, 'run', ({ ended }) => ended !== null);
      return [...calmly(history), { ...run, began: run.began + 0.1 }];
    },
    'two runs at the same time',
  ],
};

const DELIVERY_EDITS: Edits = {
  'a delivery without a 2xx': [refusing('copy', firstSuccess), 'never got a 2xx'],
  'a forgery that was accepted': [
    adding((history) => ({ ...firstSuccess(history), event: 'forged', copy: -1, forged: true })),
    'forgeries were answered',
  ],
};

const REPLAY_EDITS: Edits = {
  'a completed event that ran again': [
    (history) => [...calmly(history), { ...firstRow(history), replay: true, at: NEVER }],
    'ran again when they were replayed',
  ],
  'a delivery that took long in calm': [inCalm(4, {}), 'more than two retries'],
  'a store that stays unavailable in calm': [
    inCalm(11, { status: 503, body: '{"message":"Try again.","code":"STORE_UNAVAILABLE"}' }),
    'more than two retries',
  ],
};

const LETTER_EDITS: Edits = {
  'a conflict that was run': [changing(firstRow, { version: 2 }), 'conflicts were run'],
  'a letter that is left': [
    adding((history) => ({ type: 'letter', event: firstRow(history).event, reason: 'failed' })),
    'letters are left',
  ],
  'a conflict with two letters': [adding(conflict), 'kept twice'],
  'a conflict without a letter': [without('letter'), 'have no letter'],
  'a live event without an answer': [
    refusing('event', (history) => firstOf(history, 'attempt', ({ reason }) => reason === undefined)),
    'never got a 2xx',
  ],
};

const JOB_EDITS: Edits = {
  'a job that is missing': [without('job'), 'not exactly one job'],
  'a job that is there twice': [adding(job), 'not exactly one job'],
  'a job of nobody': [
    adding((history) => ({ ...job(history), event: 'nobody' })),
    'jobs are of no genuine event',
  ],
  'a job that was not completed': [changing(job, { done: false }), 'were not completed'],
};

function editsFor({ campaign, once, journal }: History['campaign']) {
  return Object.entries({
    ...EDITS,
    ...(campaign === 'jobs' ? JOB_EDITS : RUN_EDITS),
    ...(campaign === 'dead letters' ? LETTER_EDITS : DELIVERY_EDITS),
    ...(campaign === 'deliveries' && REPLAY_EDITS),
    ...(once && {
      // Far from every fault, by a worker that nothing ended.
      'two rows inside once': [
        adding((history) => ({ ...firstRow(history), worker: -1, at: NEVER })),
        'are written inside once',
      ],
      ...(campaign === 'jobs' && {
        'a job without a claim': [without('claim'), 'a job without a claim'],
      }),
    }),
    ...(journal && {
      'an event whose handler began and never ended': [
        adding((history) => ({ ...firstOf(history, 'run'), event: 'began', ended: null, done: false })),
        'have no row',
      ],
    }),
  } as Edits);
}

describe.each(histories)('$name', (history) => {
  test('is sound', () => {
    expect(checkHistory(history).violations).toEqual([]);
  });

  test.each(editsFor(history.campaign))('finds %s', (_, [edit, finds]) => {
    const { violations } = checkHistory({ ...history, records: edit(history) });
    expect(violations).toContainEqual(expect.stringContaining(finds));
  });
});

test('there is a history of each mode', () => {
  const modes = histories.map(({ campaign: { campaign, mode } }) => `${campaign}, ${mode}`);
  expect([...new Set(modes)].sort()).toEqual([
    ...['dead letters, once', 'dead letters, postgres', 'dead letters, redis'],
    ...['deliveries, once', 'deliveries, postgres', 'deliveries, redis'],
    ...['jobs, once', 'jobs, queue alone'],
  ]);
});

function historyOf(mode: string): History {
  const found = histories.find(
    ({ campaign }) => campaign.mode === mode && campaign.campaign === 'deliveries',
  );
  if (!found) throw new Error('There is no such history.');
  return found;
}

test('a second run is right where the first was killed and claim and effect are two writes', () => {
  const history = historyOf('redis');
  const { at, ...row } = firstRow(history);
  const { worker } = row;
  const kill = { type: 'fault', kind: 'kill', worker, from: at + 1, until: at + 2 } as const;
  const later = { ...row, worker: -1, at: at + 5_000 };
  const verdict = checkHistory({ ...history, records: [...history.records, kill, later] });
  expect(verdict).toMatchObject({ doubled: 1, unexplained: 0, violations: [] });
});

test('a second run is right where the store was too slow for the first, and its worker logged that', () => {
  const history = historyOf('postgres');
  const { at, ...row } = firstRow(history);
  const { event, worker } = row;
  const later = { ...row, worker: -1, at: at + 5_000 };
  const calm = calmly(history).filter(({ type }) => type !== 'run');
  const judged = (change: Partial<LateRecord>) => {
    const late: LateRecord = { type: 'late', event, worker, at: at + 2_000, ...change };
    return checkHistory({ ...history, records: [...calm, later, late] });
  };
  expect(judged({})).toMatchObject({ doubled: 1, unexplained: 0 });
  for (const other of [{ event: 'another' }, { worker: -2 }, { at: at + 4_000 }, { at: at - 4_000 }])
    expect(judged(other)).toMatchObject({ doubled: 1, unexplained: 1 });
});

test('two runs of an event are at once when the second begins before the first has ended or was killed', () => {
  const run = (worker: number, began: number, ended: number | null): RunRecord => ({
    ...{ type: 'run', event: 'e', worker, began, ended, done: ended !== null },
  });
  const killed = new Map([[2, 120]]);
  expect(ranAtOnce([run(1, 100, 150), run(3, 150, 180)], killed)).toBe(false);
  expect(ranAtOnce([run(1, 100, 150), run(3, 149, 180)], killed)).toBe(true);
  expect(ranAtOnce([run(2, 100, null), run(3, 121, 180)], killed)).toBe(false);
  expect(ranAtOnce([run(2, 100, null), run(3, 119, 180)], killed)).toBe(true);
  expect(ranAtOnce([run(1, 100, null), run(3, 5_000, 5_010)], killed)).toBe(true);
});

describe('the program', () => {
  const program = (...files: string[]) =>
    node(['--import', 'tsx', join(ROOT, 'test/lab/faults/check.ts'), ...files]);
  const [sound = ''] = FILES.map((name) => join(FOLDER, name));

  test('exits with 0 for a sound history', async () => {
    expect(await program(sound)).toMatchObject({ code: 0, stdout: expect.stringContaining(': sound') });
  });

  test('exits with 1, and prints the broken promise with its event', async () => {
    const file = join(scratch, 'lost.jsonl');
    const history = readHistory(sound);
    writeHistory(file, { ...history, records: without('row')(history) });
    const { code, stdout } = await program(sound, file);
    expect(code).toBe(1);
    expect(stdout).toContain('BROKEN: 1 events were accepted and have no row in the ledger');
    expect(stdout).toContain(`{"type":"attempt","event":"${firstOf(history, 'row').event}"`);
  });

  test('exits with 2 for a history that is cut off', async () => {
    const file = join(scratch, 'cut.jsonl');
    writeFileSync(file, readFileSync(sound, 'utf8').split('\n').slice(0, -2).join('\n'));
    expect(await program(file)).toMatchObject({ code: 2, stderr: expect.stringContaining('is incomplete') });
  });
});
