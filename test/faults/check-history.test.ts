// Each recorded history is sound, and each edit that a broken receiver, store or replay could have caused is found.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { node, ROOT } from '../setup/shell.js';
import { checkHistory, ranAtOnce } from './check-history.js';
import {
  type History,
  type HistoryRecord,
  type LateRecord,
  type RunRecord,
  readHistory,
  recordsOf,
  writeHistory,
} from './history.js';

const FOLDER = join(ROOT, 'test/faults/histories');
const FILES = readdirSync(FOLDER).sort();
const histories = FILES.map((name) => ({ name, ...readHistory(join(FOLDER, name)) }));
const scratch = mkdtempSync(join(tmpdir(), 'histories-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

type Edit = (history: History) => readonly HistoryRecord[];

const without =
  (type: HistoryRecord['type']): Edit =>
  (history) => {
    const [first] = recordsOf(history, type);
    const event = first && 'event' in first ? first.event : undefined;
    return history.records.filter((one) => one.type !== type || !('event' in one) || one.event !== event);
  };
const adding =
  (make: (history: History) => HistoryRecord): Edit =>
  (history) => [...history.records, make(history)];

function firstOf<Type extends HistoryRecord['type']>(
  history: History,
  type: Type,
  fits: (record: Extract<HistoryRecord, { readonly type: Type }>) => boolean = () => true,
) {
  const found = recordsOf(history, type).find(fits);
  if (!found) throw new Error(`The history has no such ${type}.`);
  return found;
}

const firstRow = (history: History) => firstOf(history, 'row', ({ replay }) => !replay);
const firstSuccess = (history: History) =>
  firstOf(history, 'attempt', ({ status, forged, replay }) => status === 200 && !forged && !replay);
/** Changes the record that `find` finds. */
const changing =
  (find: (history: History) => HistoryRecord, change: object): Edit =>
  (history) => {
    const found = find(history);
    return history.records.map((one) => (one === found ? ({ ...one, ...change } as HistoryRecord) : one));
  };
const NEVER = 9e12;
/** Far from every fault, by a worker that nothing ended. */
const again = (history: History): HistoryRecord => ({ ...firstRow(history), worker: -1, at: NEVER });

const EDITS: Record<string, { readonly edit: Edit; readonly finds: string }> = {
  'an event that was lost': { edit: without('row'), finds: 'have no row' },
  'an effect that was doubled': {
    edit: (history) => {
      const row = firstRow(history);
      const twin = { ...row, worker: -1 };
      return [...history.records.filter(({ type }) => type !== 'fault'), { ...row, worker: -2 }, twin];
    },
    finds: 'ran twice, and no fault explains it',
  },
  'a row that was forged': {
    edit: adding((history) => ({ ...firstRow(history), event: 'forged' })),
    finds: 'belong to no genuine event',
  },
  'an answer with what a handler said': {
    edit: changing(firstSuccess, { body: '{"message":"the card of Ada Example"}' }),
    finds: 'not in the table of answers',
  },
  'a worker that ended by itself': {
    edit: adding(() => ({ type: 'finding', what: 'a worker ended with exit code 99' })),
    finds: 'a worker ended with exit code 99',
  },
};

/** Of deliveries and dead letters, whose handlers run before the answer. */
const RUN_EDITS: typeof EDITS = {
  'a 2xx before the end of the handler': {
    edit: (history) => {
      const early = new Set(recordsOf(history, 'run').map(({ event }) => event));
      return history.records.map((one) =>
        one.type === 'run' && early.has(one.event) ? { ...one, ended: NEVER } : one,
      );
    },
    finds: 'before a handler had ended',
  },
  'an event whose handler failed': {
    edit: (history) => history.records.map((one) => (one.type === 'run' ? { ...one, done: false } : one)),
    finds: 'before a handler had ended',
  },
  'two runs at the same time': {
    edit: (history) => {
      const run = firstOf(history, 'run', ({ ended }) => ended !== null);
      const twin = { ...run, began: run.began + 0.1 };
      return [...history.records.filter(({ type }) => type !== 'fault'), twin];
    },
    finds: 'two runs at the same time',
  },
};

const DELIVERY_EDITS: typeof EDITS = {
  'a delivery without a 2xx': {
    edit: (history) => {
      const { copy } = firstSuccess(history);
      return history.records.map((one) =>
        one.type === 'attempt' && one.copy === copy
          ? { ...one, status: 503, body: '{"message":"No."}' }
          : one,
      );
    },
    finds: 'never got a 2xx',
  },
  'a forgery that was accepted': {
    edit: adding((history) => ({ ...firstSuccess(history), event: 'forged', copy: -1, forged: true })),
    finds: 'forgeries were answered',
  },
};

const REPLAY_EDITS: typeof EDITS = {
  'a completed event that ran again': {
    edit: (history) => [
      ...history.records.filter(({ type }) => type !== 'fault'),
      { ...firstRow(history), replay: true, at: NEVER },
    ],
    finds: 'ran again when they were replayed',
  },
  'a delivery that took long in calm': {
    edit: (history) => {
      const at = (history.campaign.calmSince ?? 0) + 1;
      const attempt = { ...firstSuccess(history), at, answeredAt: at };
      return [...history.records, attempt, attempt, attempt, attempt];
    },
    finds: 'more than two retries',
  },
  'a store that stays unavailable in calm': {
    edit: (history) => {
      const at = (history.campaign.calmSince ?? 0) + 1;
      const body = '{"message":"Try again.","code":"STORE_UNAVAILABLE"}';
      const attempt = { ...firstSuccess(history), at, answeredAt: at, status: 503, body };
      return [...history.records, ...Array.from({ length: 11 }, () => attempt)];
    },
    finds: 'more than two retries',
  },
};

const conflict = (history: History) => firstOf(history, 'letter', ({ reason }) => reason === 'conflict');
const LETTER_EDITS: typeof EDITS = {
  'a conflict that was run': {
    edit: changing(firstRow, { version: 2 }),
    finds: 'conflicts were run',
  },
  'a letter that is left': {
    edit: adding((history) => ({ type: 'letter', event: firstRow(history).event, reason: 'failed' })),
    finds: 'letters are left',
  },
  'a conflict with two letters': { edit: adding(conflict), finds: 'kept twice' },
  'a conflict without a letter': { edit: without('letter'), finds: 'have no letter' },
  'a live event without an answer': {
    edit: (history) => {
      const { event } = firstOf(history, 'attempt', ({ reason }) => reason === undefined);
      return history.records.map((one) =>
        one.type === 'attempt' && one.event === event
          ? { ...one, status: 503, body: '{"message":"No."}' }
          : one,
      );
    },
    finds: 'never got a 2xx',
  },
};

const job = (history: History) => firstOf(history, 'job', ({ undone }) => !undone);
const JOB_EDITS: typeof EDITS = {
  'a job that is missing': { edit: without('job'), finds: 'not exactly one job' },
  'a job that is there twice': { edit: adding(job), finds: 'not exactly one job' },
  'a job of a transaction that was rolled back': {
    edit: adding((history) => ({ ...job(history), undone: true })),
    finds: 'rolled back',
  },
  'a job of nobody': {
    edit: adding((history) => ({ ...job(history), event: 'nobody' })),
    finds: 'jobs are of no genuine event',
  },
  'a job that was not completed': { edit: changing(job, { done: false }), finds: 'were not completed' },
};

const COMMIT_EDITS: typeof EDITS = {
  'two rows in one transaction': { edit: adding(again), finds: 'are one commit' },
};

function editsFor({ campaign, transactional, journal }: History['campaign']) {
  return Object.entries({
    ...EDITS,
    ...(campaign === 'jobs' ? JOB_EDITS : RUN_EDITS),
    ...(campaign === 'dead letters' ? LETTER_EDITS : DELIVERY_EDITS),
    ...(campaign === 'deliveries' && REPLAY_EDITS),
    ...(transactional && COMMIT_EDITS),
    ...(transactional &&
      campaign === 'jobs' && {
        'a job without a claim': { edit: without('claim'), finds: 'a job without a claim' },
      }),
    ...(journal && {
      'an event whose handler began and never ended': {
        edit: adding((history) => ({ ...firstOf(history, 'run'), event: 'began', ended: null, done: false })),
        finds: 'have no row',
      },
    }),
  });
}

describe.each(histories)('$name', (history) => {
  test('is sound', () => {
    expect(checkHistory(history).violations).toEqual([]);
  });

  test.each(editsFor(history.campaign))('finds %s', (_, { edit, finds }) => {
    const { violations } = checkHistory({ ...history, records: edit(history) });
    expect(violations).toContainEqual(expect.stringContaining(finds));
  });
});

test('there is a history of each mode', () => {
  const modes = histories.map(({ campaign: { campaign, mode } }) => `${campaign}, ${mode}`);
  expect([...new Set(modes)].sort()).toEqual([
    ...['dead letters, postgres', 'dead letters, redis', 'dead letters, transactional'],
    ...['deliveries, postgres', 'deliveries, redis', 'deliveries, transactional'],
    ...['jobs, one commit', 'jobs, queue alone'],
  ]);
});

test('a second run is right where the first was killed and claim and effect are two writes', () => {
  const history = histories.find(
    ({ campaign }) => campaign.mode === 'redis' && campaign.campaign === 'deliveries',
  );
  if (!history) throw new Error('There is no such history.');
  const row = firstRow(history);
  const kill = {
    type: 'fault',
    kind: 'kill',
    worker: row.worker,
    from: row.at + 1,
    until: row.at + 2,
  } as const;
  const later = { ...row, worker: -1, at: row.at + 5_000 };
  const verdict = checkHistory({ ...history, records: [...history.records, kill, later] });
  expect(verdict).toMatchObject({ doubled: 1, unexplained: 0, violations: [] });
});

test('a second run is right where the store was too slow for the first, and its worker logged that', () => {
  const history = histories.find(
    ({ campaign }) => campaign.mode === 'postgres' && campaign.campaign === 'deliveries',
  );
  if (!history) throw new Error('There is no such history.');
  const row = firstRow(history);
  const later = { ...row, worker: -1, at: row.at + 5_000 };
  const calm = history.records.filter(({ type }) => type !== 'fault' && type !== 'run');
  const judged = (late: Partial<LateRecord>) =>
    checkHistory({
      ...history,
      records: [
        ...calm,
        later,
        { type: 'late', event: row.event, worker: row.worker, at: row.at + 2_000, ...late },
      ],
    });
  expect(judged({})).toMatchObject({ doubled: 1, unexplained: 0 });
  for (const other of [{ event: 'another' }, { worker: -2 }, { at: row.at + 4_000 }, { at: row.at - 4_000 }])
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
    node(['--import', 'tsx', join(ROOT, 'test/faults/check.ts'), ...files]);
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
