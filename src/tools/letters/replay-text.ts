// How each letter of a replay ended, and what to do about it, in words for the page and the command line.
import type { ReplayCounts, ReplayEnd, ReplayReport } from '../../dead-letters/replay.js';

interface EndText {
  readonly label: string;
  /** In a dry run, if it differs. */
  readonly would?: string;
  /** What to do about the letters that stay. */
  readonly hint?: string;
}

export const ENDS: Readonly<Record<ReplayEnd, EndText>> = {
  processed: { label: 'processed', would: 'would go to a handler' },
  duplicates: { label: 'processed before' },
  gone: { label: 'no longer there' },
  failed: {
    label: 'failed',
    would: 'would fail',
    hint: 'The log of your app has the error of the handler.',
  },
  later: {
    label: 'to retry later',
    hint: 'A handler threw RetryAfterError. Replay it again later.',
  },
  rejected: {
    label: 'rejected',
    hint: 'A handler threw NonRetriableError. Change the handler and deploy, or discard it.',
  },
  stillUnknown: {
    label: 'still unknown',
    would: 'would stay unknown',
    hint: 'Declare the event, register a handler, and deploy.',
  },
  stillInvalid: {
    label: 'still invalid',
    would: 'would stay invalid',
    hint: 'Change the schema of the event so that it accepts these payloads, and deploy.',
  },
  inProgress: {
    label: 'in progress',
    hint: 'Another delivery or replay works on the event. Replay it again later.',
  },
  conflicts: {
    label: 'in conflict',
    hint: 'An event with the same ID but other bytes was processed. Compare them, then discard the dead letter.',
  },
  ignored: {
    label: 'ignored',
    would: 'would be ignored',
    hint: 'No handler matches it, or the option sandbox excludes it. Register a handler, or discard it.',
  },
  unreadable: {
    label: 'unreadable',
    hint: 'It was changed in the store, or its key is missing in encryptionKeys.',
  },
  keyNotConfigured: {
    label: 'without a configured key',
    hint: 'If the private key that signed it has leaked, discard it. After a rotation, replay it on the command line with --keys any.',
  },
};

export const ORDER = Object.keys(ENDS) as readonly ReplayEnd[];

/** How many letters a report is about. */
export function lettersIn(report: ReplayCounts): number {
  return ORDER.reduce((sum, end) => sum + report[end], 0);
}

/** How many of them stay. */
export function lettersLeftIn(report: ReplayCounts): number {
  return ORDER.reduce((sum, end) => sum + (ENDS[end].hint === undefined ? 0 : report[end]), 0);
}

/** One sentence for all event names. */
export function reportText(report: ReplayReport): string {
  const found = ORDER.filter((end) => report[end] > 0).map((end) => `${report[end]} ${textOf(report, end)}`);
  const all = found.length > 0 ? `${found.join(', ')}.` : 'No dead letter matches any more.';
  if (report.stopped === undefined) return all;
  const why = report.stopped === 'closing' ? 'The server is shutting down' : 'The replay was stopped';
  return `${all} ${why}. The others can be replayed later.`;
}

export function textOf({ dryRun }: Pick<ReplayReport, 'dryRun'>, end: ReplayEnd): string {
  const { label, would = label } = ENDS[end];
  return dryRun ? would : label;
}
