// A history: what a campaign did and saw, one JSON record a line.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DeadLetterReason } from 'payment-webhooks';

/** The first line. */
export interface CampaignRecord {
  readonly type: 'campaign';
  readonly campaign: 'deliveries' | 'dead letters' | 'jobs';
  /** Where events are remembered, as in `redis`. */
  readonly mode: string;
  /** Whether handlers write their effect inside `once`. */
  readonly once: boolean;
  /** When the faults were over and every lease of a killed worker too. */
  readonly calmSince?: number;
  /** Whether handlers noted when they ran. */
  readonly runs?: boolean;
  /** Whether an event is kept before its handlers run, so that it is owed even if nothing was answered. */
  readonly journal?: boolean;
  /** What was confirmed may be gone with the server that confirmed it: losses are counted, and are not a violation. */
  readonly mayLose?: boolean;
}

export interface AttemptRecord {
  readonly type: 'attempt';
  readonly event: string;
  /** Each is delivered until it is answered 2xx. */
  readonly copy: number;
  readonly forged?: boolean;
  /** Delivered once more at the end: no completed event may run again. */
  readonly replay?: boolean;
  /** Why it cannot be processed at first. */
  readonly reason?: 'unknown' | 'invalid' | 'failed' | 'conflict';
  /** 2 for the other bytes of a conflict. */
  readonly version?: number;
  readonly at: number;
  readonly answeredAt: number;
  /** Absent when the connection broke. */
  readonly status?: number;
  readonly body: string;
}

/** The effect of a handler: a row of the ledger. */
export interface RowRecord {
  readonly type: 'row';
  readonly event: string;
  /** A process id. */
  readonly worker: number;
  /** Of its claim. */
  readonly attempt?: number;
  readonly at: number;
  readonly replay?: boolean;
  readonly version?: number;
}

/** A handler began, and ended unless its process was killed. Noted outside of `once`. */
export interface RunRecord {
  readonly type: 'run';
  readonly event: string;
  readonly worker: number;
  readonly began: number;
  readonly ended: number | null;
  /** Whether it succeeded. */
  readonly done: boolean;
}

export interface FaultRecord {
  readonly type: 'fault';
  readonly kind: string;
  /** Absent when it affected all of them. */
  readonly worker?: number;
  readonly from: number;
  readonly until: number;
}

/** A worker logged that the store did not answer in time to renew or to complete its claim, which lapses then. */
export interface LateRecord {
  readonly type: 'late';
  readonly event: string;
  readonly worker: number;
  readonly at: number;
}

export interface LetterRecord {
  readonly type: 'letter';
  readonly event: string;
  readonly reason: DeadLetterReason;
}

export interface JobRecord {
  readonly type: 'job';
  readonly event: string;
  readonly done: boolean;
}

/** The application remembers the event of a job. */
export interface ClaimRecord {
  readonly type: 'claim';
  readonly event: string;
}

/** What else must not be, such as a worker that ended by itself. */
export interface FindingRecord {
  readonly type: 'finding';
  readonly what: string;
}

export type HistoryRecord =
  | AttemptRecord
  | RowRecord
  | RunRecord
  | FaultRecord
  | LateRecord
  | LetterRecord
  | JobRecord
  | ClaimRecord
  | FindingRecord;

export interface History {
  readonly campaign: CampaignRecord;
  readonly records: readonly HistoryRecord[];
}

type Of<Type> = Extract<HistoryRecord, { readonly type: Type }>;

export function recordsFrom<Type extends HistoryRecord['type']>(
  type: Type,
  items: readonly Omit<Of<Type>, 'type'>[],
): Of<Type>[] {
  return items.map((item) => ({ type, ...item }) as Of<Type>);
}

export function findingsFrom(all: readonly string[]): FindingRecord[] {
  return all.map((what) => ({ type: 'finding', what }));
}

export function recordsOf<Type extends HistoryRecord['type']>({ records }: History, type: Type) {
  return records.filter((record): record is Of<Type> => record.type === type);
}

/** When it happened; what is read at the end comes last. */
export function timeOf(record: HistoryRecord): number {
  if ('at' in record) return record.at;
  if ('began' in record) return record.began;
  return 'from' in record ? record.from : Number.POSITIVE_INFINITY;
}

export function writeHistory(file: string, { campaign, records }: History): void {
  const ordered = [...records].sort((a, b) => timeOf(a) - timeOf(b) || 0);
  const lines = [campaign, ...ordered, { type: 'end', records: records.length }];
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** Rejects what is cut off: without its end, a history may be sound because what is wrong is missing. */
export function readHistory(file: string): History {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const [campaign, ...records] = lines.map((line) => JSON.parse(line));
  const end = records.pop();
  if (campaign?.type !== 'campaign' || end?.type !== 'end')
    throw new Error(`${file} is incomplete. The first record must be of type "campaign", the last "end".`);
  if (end.records !== records.length)
    throw new Error(`${file} has ${records.length} records, and its end says ${end.records}.`);
  return { campaign, records };
}

export function count(number: number, sentence: string): string[] {
  return number > 0 ? [`${number} ${sentence}`] : [];
}
