// The invariants of a campaign of dead letters: what must be true whatever was killed, and when.
import type { DeadLetter } from 'payment-webhooks';
import { count, groupRows } from './check-history.js';
import type { LedgerRow } from './letter-merchant.js';
import type { SentEvent } from './letter-sender.js';

export interface LetterHistory {
  readonly transactional: boolean;
  readonly sent: readonly SentEvent[];
  readonly attempts: number;
  /** With a journal: events whose handlers began, whatever was answered. */
  readonly began: ReadonlySet<string>;
  /** In the order in which they were written. */
  readonly rows: readonly LedgerRow[];
  /** Letters before the replay. */
  readonly kept: number;
  readonly left: readonly DeadLetter[];
  /** Process ids. */
  readonly killed: ReadonlySet<number>;
  readonly unexplainedExits: readonly string[];
}

export interface LetterVerdict {
  readonly events: number;
  readonly attempts: number;
  readonly kept: number;
  readonly lost: number;
  readonly doubled: number;
  /** Doubles whose first run no kill interrupted. */
  readonly unexplained: number;
  /** Sentences; none when every invariant holds. */
  readonly violations: readonly string[];
}

export function checkLetters(history: LetterHistory): LetterVerdict {
  const { transactional, sent, attempts, began, rows, kept, left, killed } = history;
  const owed = sent.filter(({ id, accepted }) => accepted || began.has(id));
  const rowsOf = groupRows(rows);
  const lost = owed.filter(({ id }) => !rowsOf.has(id));
  const doubled = [...rowsOf.values()].filter((all) => all.length > 1);
  const unexplained = doubled.filter((all) => !all.slice(0, -1).every(({ worker }) => killed.has(worker)));
  const known = new Set(sent.map(({ id }) => id));
  const conflicts = left.filter(({ reason }) => reason === 'conflict').map(({ eventId }) => eventId);
  const expected = sent
    .filter(({ reason, accepted }) => reason === 'conflict' && accepted)
    .map(({ id }) => id);
  const violations = [
    ...count(lost.length, 'events were accepted and have no row in the ledger'),
    ...count(
      sent.filter(({ reason, accepted }) => reason === 'none' && !accepted).length,
      'live events got no 2xx',
    ),
    ...count(rows.filter(({ event_id }) => !known.has(event_id)).length, 'rows belong to no event'),
    ...count(rows.filter(({ version }) => version !== 1).length, 'conflicts were run'),
    ...count(left.length - conflicts.length, 'letters are left that could be processed'),
    ...count(conflicts.length - new Set(conflicts).size, 'conflicts were kept twice'),
    ...count(expected.filter((id) => !conflicts.includes(id)).length, 'conflicts have no letter'),
    ...count(
      transactional ? doubled.length : 0,
      'events have two rows although claim and row are one transaction',
    ),
    ...count(unexplained.length, 'events ran twice, and no kill explains it'),
    ...history.unexplainedExits,
  ];
  return {
    events: sent.length,
    attempts,
    kept,
    lost: lost.length,
    doubled: doubled.length,
    unexplained: unexplained.length,
    violations,
  };
}
