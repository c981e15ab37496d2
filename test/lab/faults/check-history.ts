// What every history must keep, whatever was killed and when. The campaigns and check.ts ask here, and nobody else decides.
import {
  type AttemptRecord,
  type CampaignRecord,
  type FaultRecord,
  type History,
  type LateRecord,
  type RowRecord,
  type RunRecord,
  recordsOf,
} from './history.js';
import { HANDLER_TEXT, LEASE_MS } from './merchant.js';

/** A promise that a history breaks. */
export interface Broken {
  readonly sentence: string;
  /** With an event for each time; none where it is of no event. */
  readonly events: readonly string[];
}

export interface Verdict {
  readonly events: number;
  readonly attempts: number;
  readonly lost: number;
  readonly forged: number;
  /** Events with more than one row. */
  readonly doubled: number;
  /** Of these, those that no fault explains. */
  readonly unexplained: number;
  /** Deliveries that never got a 2xx. */
  readonly never: number;
  /** Events that ran once more when all were replayed. */
  readonly ranAgain: number;
  readonly broken: readonly Broken[];
  /** The same as sentences; none when every promise is kept. */
  readonly violations: readonly string[];
}

const ANSWERS = /^\{"message":"[^"]{1,100}"(,"code":"[A-Z_]+")?\}$/;
/** The answers to a failure after which there is a letter. */
const KEPT = /"code":"(HANDLER_FAILED|HANDLER_TIMEOUT|CLAIM_LOST)"/;
/** The first delivery after the last fault, and two retries. */
const CALM_ATTEMPTS = 3;
/** With those that a busy machine costs: the workers wait for their store for less than a second. */
const MOST_CALM_ATTEMPTS = 10;
/** Between the server's clock at an effect and the fault that interrupted it. */
const SLACK_MS = 500;
/** From an effect to the last attempt to complete its claim. */
const COMPLETING_MS = 2_500;
/** The sender counts whole milliseconds, and the databases parts of them. */
const TICK_MS = 1;

export function checkHistory(history: History): Verdict {
  const { campaign } = history;
  const isDeliveries = campaign.campaign === 'deliveries';
  const isJobs = campaign.campaign === 'jobs';
  const sent = recordsOf(history, 'attempt').filter(({ replay }) => !replay);
  const genuine = sent.filter(({ forged }) => !forged);
  const attemptsOf = groupByEvent(genuine);
  const all = recordsOf(history, 'row');
  const rows = all.filter(({ replay }) => !replay);
  const rowsOf = groupByEvent(rows);
  const runsOf = groupByEvent(recordsOf(history, 'run'));
  const faults = recordsOf(history, 'fault');
  const lateOf = groupByEvent(recordsOf(history, 'late'));

  const owed = new Set(
    campaign.campaign === 'dead letters'
      ? [...attemptsOf].filter(([, attempts]) => isProcessedOrKept(attempts)).map(([event]) => event)
      : genuine.filter(isSuccess).map(({ event }) => event),
  );
  if (campaign.journal) for (const event of runsOf.keys()) owed.add(event);
  const lost = [...owed].filter((event) => !rowsOf.has(event));
  const forged = rows.filter(({ event }) => !attemptsOf.has(event));
  const doubled = [...rowsOf].filter(([, its]) => its.length > 1).map(([event]) => event);
  const unexplained = doubled.filter(
    (event) => !isExplained(rowsOf.get(event) ?? [], faults, lateOf.get(event) ?? []),
  );
  const replayed = new Set(all.filter(({ replay }) => replay).map(({ event }) => event));
  const ranAgain = [...replayed].filter((event) => rowsOf.has(event));
  const never = isDeliveries || isJobs ? copiesWithout2xx(genuine) : liveOnesNotAccepted(attemptsOf);

  const broken: Broken[] = [];
  const mustBeNone = (events: readonly string[], sentence: string) => {
    if (events.length > 0) broken.push({ sentence, events });
  };
  mustBeNone(campaign.mayLose ? [] : lost, 'events were accepted and have no row in the ledger');
  mustBeNone(eventsOf(forged), 'rows of the ledger belong to no genuine event');
  mustBeNone(never, 'deliveries never got a 2xx');
  mustBeNone(
    eventsOf(sent.filter(forgeryAccepted)),
    'forgeries were answered neither 401 nor, by a receiver that is closing, 503',
  );
  if (!isJobs)
    mustBeNone(
      [...attemptsOf]
        .filter(([event, attempts]) =>
          isEarly(campaign, attempts, rowsOf.get(event) ?? [], runsOf.get(event) ?? []),
        )
        .map(([event]) => event),
      'events were answered 2xx before a handler had ended',
    );
  mustBeNone(
    lateInCalm(genuine, campaign.calmSince),
    'events needed more than two retries after the last fault',
  );
  mustBeNone(unexplained, 'events ran twice, and no fault explains it');
  mustBeNone(campaign.once ? doubled : [], 'events have two rows although they are written inside once');
  mustBeNone(
    ranAgain.filter(
      (event) => !isForgotten(campaign, rowsOf.get(event) ?? [], faults, lateOf.get(event) ?? []),
    ),
    'completed events ran again when they were replayed',
  );
  mustBeNone(overlaps(runsOf, faults), 'events had two runs at the same time');
  mustBeNone(
    eventsOf(recordsOf(history, 'attempt').filter(leaksDetails)),
    'answers said something that is not in the table of answers',
  );
  if (campaign.campaign === 'dead letters') checkLetters(history, attemptsOf, mustBeNone);
  if (isJobs) checkJobs(history, attemptsOf, owed, mustBeNone);
  for (const { what } of recordsOf(history, 'finding')) broken.push({ sentence: what, events: [] });
  return {
    events: attemptsOf.size,
    attempts: genuine.length,
    ...{ lost: lost.length, forged: forged.length, never: never.length, ranAgain: ranAgain.length },
    ...{ doubled: doubled.length, unexplained: unexplained.length },
    broken,
    violations: broken.map(({ sentence, events }) =>
      events.length > 0 ? `${events.length} ${sentence}` : sentence,
    ),
  };
}

type MustBeNone = (events: readonly string[], sentence: string) => void;

function checkLetters(
  history: History,
  attemptsOf: ReadonlyMap<string, readonly AttemptRecord[]>,
  mustBeNone: MustBeNone,
): void {
  const left = recordsOf(history, 'letter');
  const conflicts = eventsOf(left.filter(({ reason }) => reason === 'conflict'));
  const expected = [...attemptsOf].filter(
    ([, attempts]) => attempts[0]?.reason === 'conflict' && isProcessedOrKept(attempts),
  );
  mustBeNone(
    eventsOf(recordsOf(history, 'row').filter(({ version }) => version !== 1)),
    'conflicts were run',
  );
  mustBeNone(
    eventsOf(left.filter(({ reason }) => reason !== 'conflict')),
    'letters are left that could be processed',
  );
  mustBeNone(
    conflicts.filter((event, index) => conflicts.indexOf(event) < index),
    'conflicts were kept twice',
  );
  mustBeNone(
    expected.map(([event]) => event).filter((event) => !conflicts.includes(event)),
    'conflicts have no letter',
  );
}

function checkJobs(
  history: History,
  attemptsOf: ReadonlyMap<string, unknown>,
  owed: ReadonlySet<string>,
  mustBeNone: MustBeNone,
): void {
  const jobs = recordsOf(history, 'job');
  const jobsOf = groupByEvent(jobs);
  const claims = new Set(eventsOf(recordsOf(history, 'claim')));
  mustBeNone(
    [...owed].filter((event) => jobsOf.get(event)?.length !== 1),
    'events were accepted and have not exactly one job',
  );
  mustBeNone(
    [...jobsOf.keys()].filter((event) => !attemptsOf.has(event)),
    'jobs are of no genuine event',
  );
  mustBeNone(eventsOf(jobs.filter(({ done }) => !done)), 'jobs were not completed');
  if (history.campaign.once)
    mustBeNone(
      [...new Set([...jobsOf.keys(), ...claims])].filter(
        (event) => !(jobsOf.has(event) && claims.has(event)),
      ),
      'events have a claim without a job, or a job without a claim',
    );
}

function eventsOf(records: readonly { readonly event: string }[]): string[] {
  return records.map(({ event }) => event);
}

/** The records of each event, in their order. */
export function groupByEvent<Item extends { readonly event: string }>(
  items: readonly Item[],
): Map<string, Item[]> {
  return groupBy(items, ({ event }) => event);
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

function isSuccess({ status = 500 }: AttemptRecord): boolean {
  return status < 300;
}

/** Whether an answer says that there is a letter. */
export function isKept({ body }: Pick<AttemptRecord, 'body'>): boolean {
  return KEPT.test(body);
}

/** Of a conflict: both bodies. */
function isProcessedOrKept(attempts: readonly AttemptRecord[]): boolean {
  const versions = attempts[0]?.reason === 'conflict' ? [1, 2] : [1];
  return versions.every((wanted) =>
    attempts.some((attempt) => (attempt.version ?? 1) === wanted && (isSuccess(attempt) || isKept(attempt))),
  );
}

function copiesWithout2xx(genuine: readonly AttemptRecord[]): string[] {
  const copies = [...groupBy(genuine, ({ copy }) => copy).values()];
  return copies.filter((attempts) => !attempts.some(isSuccess)).map(([attempt]) => attempt?.event ?? '');
}

function liveOnesNotAccepted(attemptsOf: ReadonlyMap<string, readonly AttemptRecord[]>): string[] {
  const live = [...attemptsOf].filter(([, attempts]) => attempts[0]?.reason === undefined);
  return live.filter(([, attempts]) => !isProcessedOrKept(attempts)).map(([event]) => event);
}

/** A receiver that is closing answers 503 before it checks the signature. */
function forgeryAccepted({ forged, status, body }: AttemptRecord): boolean {
  const refused =
    status === undefined || status === 401 || (status === 503 && body.includes('"code":"CLOSING"'));
  return forged === true && !refused;
}

/** An event without a row is lost instead; one that is kept needs no handler. */
function isEarly(
  { mayLose, runs: noted }: CampaignRecord,
  attempts: readonly AttemptRecord[],
  rows: readonly RowRecord[],
  runs: readonly RunRecord[],
): boolean {
  const reason = attempts[0]?.reason;
  const canBeKept = reason !== undefined && reason !== 'conflict';
  const first = Math.min(...attempts.filter(isSuccess).map(({ answeredAt }) => answeredAt)) + TICK_MS;
  if (rows.length === 0 || canBeKept || first === Number.POSITIVE_INFINITY) return false;
  // Where rows can be gone, one that was written again is later.
  if (!mayLose && rows.every(({ at }) => at > first)) return true;
  return noted === true && !runs.some(({ done, ended }) => done && ended !== null && ended <= first);
}

/** Failures of the handler itself do not count: the nemesis does not cause them. */
function lateInCalm(genuine: readonly AttemptRecord[], calmSince = Number.POSITIVE_INFINITY): string[] {
  const calm = genuine.filter(({ at, body }) => at > calmSince && !body.includes('HANDLER_FAILED'));
  const copies = [...groupBy(calm, ({ copy }) => copy).values()];
  const inTime = ({ body }: AttemptRecord) => !body.includes('STORE_UNAVAILABLE');
  return copies
    .filter((its) => its.filter(inTime).length > CALM_ATTEMPTS || its.length > MOST_CALM_ATTEMPTS)
    .map(([attempt]) => attempt?.event ?? '');
}

function leaksDetails({ status, body }: AttemptRecord): boolean {
  if (status === undefined) return false;
  return body.includes(HANDLER_TEXT) || (status >= 400 && !ANSWERS.test(body));
}

/** A restarted Redis has lost its data. Without `once` the answer is 200 even when the store did not get the completion. */
function isForgotten(
  { mode, once }: CampaignRecord,
  rows: readonly RowRecord[],
  faults: readonly FaultRecord[],
  late: readonly LateRecord[],
): boolean {
  const last = Math.max(...rows.map(({ at }) => at));
  if (!once && late.some(({ at }) => isAfter(at, last))) return true;
  return faults.some(({ kind, worker, from, until }) => {
    if (kind === 'restart redis') return mode === 'redis' && last <= until + SLACK_MS;
    const wasFelt = from <= last + COMPLETING_MS && last <= until + SLACK_MS;
    return !once && worker === undefined && wasFelt;
  });
}

/** Whether it was noted of the run that had its effect at `effect`. Renewals are asked for before, and tries to complete after. */
function isAfter(noted: number, effect: number): boolean {
  return noted >= effect - LEASE_MS && noted <= effect + COMPLETING_MS + SLACK_MS;
}

/**
 * A second run is right when the first was interrupted between its effect and its completion: by a fault to its own
 * worker, or by one to the store or the network, which affected all. Or the store was too slow for its worker.
 */
function isExplained(
  rows: readonly RowRecord[],
  faults: readonly FaultRecord[],
  late: readonly LateRecord[],
): boolean {
  const ordered = [...rows].sort((a, b) => a.at - b.at);
  return ordered.slice(1).every((later, index) => {
    const earlier = ordered[index] as RowRecord;
    if (late.some(({ worker, at }) => worker === earlier.worker && isAfter(at, earlier.at))) return true;
    return faults.some(
      ({ worker, from, until }) =>
        (worker === undefined || worker === earlier.worker) &&
        until + LEASE_MS >= earlier.at - SLACK_MS &&
        from <= later.at + SLACK_MS,
    );
  });
}

/**
 * Events of which a run began before the one before it had ended. Only where workers are ended and nothing else breaks: what
 * ends a connection ends its claim, and a process that is suspended outlives its lease, while the handler goes on.
 */
function overlaps(
  runsOf: ReadonlyMap<string, readonly RunRecord[]>,
  faults: readonly FaultRecord[],
): string[] {
  if (faults.some(({ kind, worker }) => worker === undefined || kind.startsWith('stop'))) return [];
  const endedAt = new Map(faults.map(({ worker, from }) => [worker, from]));
  return [...runsOf].filter(([, runs]) => ranAtOnce(runs, endedAt)).map(([event]) => event);
}

export function ranAtOnce(
  runs: readonly RunRecord[],
  endedAt: ReadonlyMap<number | undefined, number>,
): boolean {
  const ordered = [...runs].sort((a, b) => a.began - b.began);
  return ordered.slice(1).some((later, index) => {
    const earlier = ordered[index] as RunRecord;
    // One that was not killed may run for as long as anybody knows.
    return later.began < (earlier.ended ?? endedAt.get(earlier.worker) ?? Number.POSITIVE_INFINITY);
  });
}
