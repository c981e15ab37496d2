// The invariants of a campaign: what must be true whatever faults it had.
import { HANDLER_TEXT, LEASE_MS, type LedgerRow, type Mode } from './merchant.js';
import type { InjectedFault } from './nemesis.js';
import type { Attempt, Sent } from './sender.js';

export interface History {
  readonly mode: Mode;
  readonly sent: readonly Sent[];
  /** The same events delivered once more, at the end. */
  readonly replayed: readonly Sent[];
  /** The ledger before the replay and after it. */
  readonly rows: readonly LedgerRow[];
  readonly rowsAfterReplay: readonly LedgerRow[];
  readonly faults: readonly InjectedFault[];
  /** When the nemesis had stopped and everything was up again. */
  readonly calmSince: number;
  readonly unexplainedExits: readonly string[];
  /** What was confirmed may be gone with the server that confirmed it, so what is lost is counted but no violation. */
  readonly mayLose?: boolean;
}

export interface Verdict {
  readonly events: number;
  readonly attempts: number;
  readonly lost: number;
  readonly forged: number;
  readonly doubled: number;
  /** Doubles that no fault of the nemesis explains. */
  readonly unexplained: number;
  /** Deliveries that never got a 2xx. */
  readonly never: number;
  /** Events that ran once more when all were replayed. */
  readonly ranAgain: number;
  /** Sentences; none when every invariant holds. */
  readonly violations: readonly string[];
}

const ANSWERS = /^\{"message":"[^"]{1,100}"(,"code":"[A-Z_]+")?\}$/;
/** The first delivery after the last fault, and two retries. */
const CALM_ATTEMPTS = 3;
/** Between the server's clock at an effect and the fault that interrupted it. */
const SLACK_MS = 500;
/** From an effect to the last attempt to complete its claim. */
const COMPLETING_MS = 2_500;

export function checkHistory(history: History): Verdict {
  const genuine = history.sent.filter((sent) => sent.genuine);
  const events = new Set(genuine.map(({ id }) => id));
  const rowsOf = groupRows(history.rows);
  const taken = genuine.filter(({ attempts }) => (attempts.at(-1)?.status ?? 500) < 300);
  const lost = new Set(taken.filter(({ id }) => !rowsOf.has(id)).map(({ id }) => id));
  const forged = history.rows.filter(({ event_id }) => !events.has(event_id));
  const doubled = [...rowsOf.values()].filter((rows) => rows.length > 1);
  const unexplained = doubled.filter((rows) => !isExplained(rows, history.faults));
  const replayed = groupRows(history.rowsAfterReplay);
  const ranAgain = [...rowsOf].filter(([id, rows]) => (replayed.get(id)?.length ?? 0) > rows.length);
  const violations = [
    ...count(history.mayLose ? 0 : lost.size, 'events were answered 2xx and have no row in the ledger'),
    ...count(forged.length, 'rows of the ledger belong to no genuine event'),
    ...count(genuine.length - taken.length, 'deliveries never got a 2xx'),
    ...count(
      history.sent.filter(forgeryAccepted).length,
      'forgeries were answered neither 401 nor, by a receiver that is closing, 503',
    ),
    ...count(
      genuine.filter((sent) => lateInCalm(sent, history.calmSince)).length,
      'events needed more than two retries after the nemesis had stopped',
    ),
    ...count(unexplained.length, 'events ran twice, and no fault explains it'),
    ...count(
      history.mode === 'transactional' ? doubled.length : 0,
      'events have two rows although claim and row are one transaction',
    ),
    ...count(
      ranAgain.filter(([, rows]) => !isForgotten(rows, history)).length,
      'completed events ran again when they were replayed',
    ),
    ...count(
      history.sent.flatMap(({ attempts }) => attempts).filter(leaksDetails).length,
      'answers said something that is not in the table of answers',
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
    never: genuine.length - taken.length,
    ranAgain: ranAgain.length,
    violations,
  };
}

/** The rows of each event. */
export function groupRows<Row extends { readonly event_id: string }>(
  rows: readonly Row[],
): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.event_id, [...(groups.get(row.event_id) ?? []), row]);
  return groups;
}

export function count(number: number, sentence: string): string[] {
  return number > 0 ? [`${number} ${sentence}`] : [];
}

/** A receiver that is closing answers 503 before it checks the signature. */
function forgeryAccepted({ genuine, attempts }: Sent): boolean {
  const refused = ({ status, body }: Attempt) =>
    status === undefined || status === 401 || (status === 503 && body.includes('"code":"CLOSING"'));
  return !genuine && !attempts.every(refused);
}

/** Failures of the handler itself do not count: the nemesis does not cause them. */
function lateInCalm({ attempts }: Sent, calmSince: number): boolean {
  const calm = attempts.filter(({ at, body }) => at > calmSince && !body.includes('HANDLER_FAILED'));
  return calm.length > CALM_ATTEMPTS;
}

function leaksDetails({ status, body }: { status: number | undefined; body: string }): boolean {
  if (status === undefined) return false;
  return body.includes(HANDLER_TEXT) || (status >= 400 && !ANSWERS.test(body));
}

/**
 * A restarted Redis has lost its data. In lease mode the answer is 200 even when the store did not get the completion.
 */
function isForgotten(rows: readonly LedgerRow[], { mode, faults }: History): boolean {
  const last = Math.max(...rows.map(({ at }) => at));
  return faults.some(({ kind, worker, from, until }) => {
    if (kind === 'restart redis') return mode === 'redis' && last <= until + SLACK_MS;
    const wasFelt = from <= last + COMPLETING_MS && last <= until + SLACK_MS;
    return mode !== 'transactional' && worker === undefined && wasFelt;
  });
}

/**
 * A second run is right when the first was interrupted between its effect and its completion: by a fault to its own
 * worker, or by one to the store or the network, which affected all.
 */
function isExplained(rows: readonly LedgerRow[], faults: readonly InjectedFault[]): boolean {
  const ordered = [...rows].sort((a, b) => a.at - b.at);
  return ordered.slice(1).every((later, index) => {
    const earlier = ordered[index] as LedgerRow;
    return faults.some(
      ({ worker, from, until }) =>
        (worker === undefined || worker === earlier.worker) &&
        until + LEASE_MS >= earlier.at - SLACK_MS &&
        from <= later.at + SLACK_MS,
    );
  });
}
