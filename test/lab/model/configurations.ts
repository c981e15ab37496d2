// Within which bounds the model is checked, and the bugs that it is given.

/** Everything that Spin's preprocessor is given. */
export type Defines = readonly string[];

const bounds = (receivers: number, attempts: number, redrives: number, crashes: number, faults: number) => [
  ...[`RECEIVERS=${receivers}`, `ATTEMPTS=${attempts}`, `REDRIVES=${redrives}`],
  ...[`CRASHES=${crashes}`, `FAULTS=${faults}`],
];
const KEPT = ['LETTERS'];
const JOURNAL = ['LETTERS', 'JOURNAL'];
/** The handler writes inside `once`. */
const ONCE = ['USES_ONCE'];

export const CONFIGURATIONS: Readonly<Record<string, Defines>> = {
  'no dead letters': bounds(2, 3, 0, 1, 1),
  'dead letters': [...KEPT, ...bounds(2, 2, 0, 1, 1)],
  journal: [...JOURNAL, ...bounds(2, 2, 0, 1, 1)],
  'dead letters, redrive': [...KEPT, ...bounds(1, 2, 1, 1, 1)],
  'journal, redrive': [...JOURNAL, ...bounds(1, 2, 1, 1, 1)],
  'journal, redrive, two receivers': [...JOURNAL, ...bounds(2, 2, 1, 0, 0)],
  once: [...ONCE, ...bounds(2, 3, 0, 1, 1)],
  'once, two handlers': [...ONCE, 'TWO_HANDLERS', ...bounds(2, 3, 0, 1, 1)],
  'once, dead letters': [...ONCE, ...KEPT, ...bounds(2, 2, 0, 1, 1)],
  'once, journal': [...ONCE, ...JOURNAL, ...bounds(2, 2, 0, 1, 1)],
  'once, dead letters, redrive': [...ONCE, ...KEPT, ...bounds(1, 2, 1, 1, 1)],
  'once, journal, redrive': [...ONCE, ...JOURNAL, ...bounds(1, 2, 1, 1, 1)],
};

export interface Bug {
  readonly what: string;
  readonly breaks: string;
  readonly defines: Defines;
}

export const BUGS: Readonly<Record<string, Bug>> = {
  'release-early': {
    what: 'the claim is released at the timeout, before the work fails',
    breaks: 'P4',
    defines: ['BUG_RELEASE_EARLY', ...bounds(2, 2, 0, 0, 0)],
  },
  'complete-without-token': {
    what: 'a claim that was taken over can still complete',
    breaks: 'P4',
    defines: ['BUG_COMPLETE_WITHOUT_TOKEN', ...bounds(2, 2, 0, 0, 0)],
  },
  'late-success': {
    what: 'a handler that gave up after its signal aborted counts as a success',
    breaks: 'P1',
    defines: ['BUG_LATE_SUCCESS', ...bounds(2, 2, 0, 0, 0)],
  },
  'duplicate-200': {
    what: 'the duplicate of an event in progress is answered 200',
    breaks: 'P1',
    defines: ['BUG_DUPLICATE_200', ...bounds(2, 2, 0, 0, 0)],
  },
  'redrive-unclaimed': {
    what: 'the redrive runs handlers without a claim',
    breaks: 'P4',
    defines: ['BUG_REDRIVE_UNCLAIMED', ...KEPT, ...bounds(1, 1, 1, 0, 0)],
  },
  'row-outside': {
    what: 'the row of once is committed by itself, before the writes',
    breaks: 'P1',
    defines: ['BUG_ROW_OUTSIDE', ...ONCE, ...bounds(2, 2, 0, 1, 0)],
  },
  'token-per-run': {
    what: 'the second call of a run, after a commit without an answer, takes the row of the first for a new one',
    breaks: 'ONCE',
    defines: ['BUG_TOKEN_PER_RUN', ...ONCE, ...bounds(1, 1, 0, 0, 0)],
  },
  'no-wait': {
    what: 'once does not wait for a transaction that holds the row',
    breaks: 'ONCE',
    defines: ['BUG_NO_WAIT', ...ONCE, ...bounds(2, 2, 0, 0, 0)],
  },
  'no-read-back': {
    what: 'the event is completed although the row of once is missing',
    breaks: 'P1',
    defines: ['BUG_NO_READ_BACK', ...ONCE, ...bounds(1, 1, 0, 0, 0)],
  },
  'unanswered-completion': {
    what: 'a completion without an answer, so that nobody has read the row of once, is answered 200',
    breaks: 'P1',
    defines: ['BUG_UNANSWERED', ...ONCE, ...bounds(1, 1, 0, 0, 1)],
  },
  'unread-finished': {
    what: 'a handler is remembered as finished although its row is missing, and is skipped from then on',
    breaks: 'P1',
    defines: ['BUG_FINISHED_UNREAD', ...ONCE, 'TWO_HANDLERS', ...bounds(1, 2, 0, 0, 0)],
  },
  'swallowed-rejection': {
    what: 'a handler that swallowed the rejection of once counts as a success',
    breaks: 'P1',
    defines: ['BUG_SWALLOWED', ...ONCE, ...bounds(1, 1, 0, 0, 0)],
  },
  'remove-before-completion': {
    what: 'the letter is removed before the event is completed',
    breaks: 'END',
    defines: ['BUG_REMOVE_EARLY', ...ONCE, ...JOURNAL, ...bounds(1, 1, 0, 1, 0)],
  },
};
