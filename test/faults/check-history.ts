// What must be true whatever happened: the campaign knows invariants, not scripts.
import { HANDLER_TEXT, LEASE_MS, type LedgerRow, type Mode } from './merchant.js';
import type { Deed } from './nemesis.js';
import type { Attempt, Sent } from './sender.js';

export interface History {
  readonly mode: Mode;
  readonly sent: readonly Sent[];
  /** The same events delivered once more, after everything. */
  readonly replayed: readonly Sent[];
  /** The ledger before the replay and after it. */
  readonly rows: readonly LedgerRow[];
  readonly rowsAfterReplay: readonly LedgerRow[];
  readonly deeds: readonly Deed[];
  /** When the nemesis had stopped and everything was up again. */
  readonly calmSince: number;
  readonly unexplainedExits: readonly string[];
}

export interface Verdict {
  readonly events: number;
  readonly attempts: number;
  readonly lost: number;
  readonly forged: number;
  readonly doubled: number;
  /** Doubles that no deed of the nemesis explains. */
  readonly unexplained: number;
  /** Sentences; none when every invariant holds. */
  readonly violations: readonly string[];
}

const ANSWERS = /^\{"message":"[^"]{1,100}"(,"code":"[A-Z_]+")?\}$/;
/** First delivery after the calm, and two retries. */
const CALM_ATTEMPTS = 3;
/** Between the server's clock at an effect and the deed that overtook it. */
const SLACK_MS = 500;
/** From an effect to the last try to complete its claim. */
const COMPLETING_MS = 2_500;

export function checkHistory(history: History): Verdict {
  const genuine = history.sent.filter((sent) => sent.genuine);
  const events = new Set(genuine.map(({ id }) => id));
  const rowsOf = groupRows(history.rows);
  const taken = genuine.filter(({ attempts }) => (attempts.at(-1)?.status ?? 500) < 300);
  const lost = new Set(taken.filter(({ id }) => !rowsOf.has(id)).map(({ id }) => id));
  const forged = history.rows.filter(({ event_id }) => !events.has(event_id));
  const doubled = [...rowsOf.values()].filter((rows) => rows.length > 1);
  const unexplained = doubled.filter((rows) => !isExplained(rows, history.deeds));
  const replayed = groupRows(history.rowsAfterReplay);
  const ranAgain = [...rowsOf].filter(([id, rows]) => (replayed.get(id)?.length ?? 0) > rows.length);
  const violations = [
    ...count(lost.size, 'events were answered 2xx and have no row in the ledger'),
    ...count(forged.length, 'rows of the ledger belong to no genuine event'),
    ...count(genuine.length - taken.length, 'deliveries never got a 2xx'),
    ...count(
      history.sent.filter(forgeryTaken).length,
      'forgeries were answered neither 401 nor, by a receiver that is closing, 503',
    ),
    ...count(
      genuine.filter((sent) => lateInCalm(sent, history.calmSince)).length,
      'events needed more than two retries after the nemesis had stopped',
    ),
    ...count(unexplained.length, 'events ran twice, and nothing that happened explains it'),
    ...count(
      history.mode === 'transactional' ? doubled.length : 0,
      'events have two rows although claim and row are one transaction',
    ),
    ...count(
      ranAgain.filter(([, rows]) => !isForgotten(rows, history)).length,
      'completed events ran again when they were replayed',
    ),
    ...count(
      history.sent.flatMap(({ attempts }) => attempts).filter(saysTooMuch).length,
      'answers said something that is not in the table',
    ),
    ...history.unexplainedExits,
  ];
  const attempts = genuine.reduce((sum, sent) => sum + sent.attempts.length, 0);
  return {
    events: events.size,
    attempts,
    lost: lost.size,
    forged: forged.length,
    doubled: doubled.length,
    unexplained: unexplained.length,
    violations,
  };
}

function groupRows(rows: readonly LedgerRow[]): Map<string, LedgerRow[]> {
  const groups = new Map<string, LedgerRow[]>();
  for (const row of rows) groups.set(row.event_id, [...(groups.get(row.event_id) ?? []), row]);
  return groups;
}

function count(number: number, sentence: string): string[] {
  return number > 0 ? [`${number} ${sentence}`] : [];
}

/** A receiver that is closing looks at nothing. */
function forgeryTaken({ genuine, attempts }: Sent): boolean {
  const refused = ({ status, body }: Attempt) =>
    status === undefined || status === 401 || (status === 503 && body.includes('"code":"CLOSING"'));
  return !genuine && !attempts.every(refused);
}

/** Failures of the handler itself do not count: the nemesis has no part in them. */
function lateInCalm({ attempts }: Sent, calmSince: number): boolean {
  const calm = attempts.filter(({ at, body }) => at > calmSince && !body.includes('HANDLER_FAILED'));
  return calm.length > CALM_ATTEMPTS;
}

function saysTooMuch({ status, body }: { status: number | undefined; body: string }): boolean {
  if (status === undefined) return false;
  return body.includes(HANDLER_TEXT) || (status >= 400 && !ANSWERS.test(body));
}

/**
 * Redis that comes back without its data remembers nothing from before. And in lease mode a completion that the store
 * could not be told is answered 200 all the same.
 */
function isForgotten(rows: readonly LedgerRow[], { mode, deeds }: History): boolean {
  const last = Math.max(...rows.map(({ at }) => at));
  return deeds.some(({ harm, worker, from, until }) => {
    if (harm === 'restart redis') return mode === 'redis' && last <= until + SLACK_MS;
    const wasFelt = from <= last + COMPLETING_MS && last <= until + SLACK_MS;
    return mode !== 'transactional' && worker === undefined && wasFelt;
  });
}

/**
 * A second run is right when the first was overtaken between its effect and its completion: by a deed to its own
 * worker, or by one to the store or the wire, which all felt.
 */
function isExplained(rows: readonly LedgerRow[], deeds: readonly Deed[]): boolean {
  const ordered = [...rows].sort((a, b) => a.at - b.at);
  return ordered.slice(1).every((later, index) => {
    const earlier = ordered[index] as LedgerRow;
    return deeds.some(
      ({ worker, from, until }) =>
        (worker === undefined || worker === earlier.worker) &&
        until + LEASE_MS >= earlier.at - SLACK_MS &&
        from <= later.at + SLACK_MS,
    );
  });
}
