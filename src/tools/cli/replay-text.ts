// The report of a replay as text: what became of the letters, by event, and what to do about those that are left.
import type { ReplayCounts, ReplayEnd, ReplayReport } from '../../dead-letters/replay.js';
import { printable } from './print.js';

interface Row {
  readonly label: string;
  /** Of a letter that is left: what to do about it. */
  readonly advice?: string;
}

/** In the order in which a person is told. */
const ENDS: Readonly<Record<ReplayEnd, Row>> = {
  processed: { label: 'processed' },
  duplicates: { label: 'processed before' },
  gone: { label: 'gone meanwhile' },
  failed: { label: 'failed', advice: 'Handlers failed: the log of the app says why.' },
  stillUnknown: {
    label: 'still unknown',
    advice: 'Declare the unknown events, or register a handler for them.',
  },
  stillInvalid: { label: 'still invalid', advice: 'Loosen the schemas where payloads do not fit.' },
  inProgress: { label: 'in progress', advice: 'Some events are being processed: run it again later.' },
  conflicts: {
    label: 'in conflict',
    advice:
      'An event of the same id was processed with other bytes: look at each such letter, then discard it.',
  },
  ignored: {
    label: 'ignored',
    advice: 'No handler wants some events: register one, or discard their letters.',
  },
  unreadable: {
    label: 'unreadable',
    advice: 'Some letters are not what was kept: see who can write to the store, and its encryptionKeys.',
  },
  keyNotConfigured: {
    label: 'without a configured key',
    advice:
      'The private key of some letters is not configured: after a rotation replay them with --keys any, after a leak discard them with --key-id.',
  },
};

export function replayText(report: ReplayReport): { readonly text: string; readonly left: number } {
  const ends = Object.entries(ENDS) as [ReplayEnd, Row][];
  const left = ends.reduce((sum, [end, { advice }]) => sum + (advice ? report[end] : 0), 0);
  const total = ends.reduce((sum, [end]) => sum + report[end], 0);
  const events = report.events.flatMap(({ eventName, issues, ...counts }) => [
    `${printable(eventName)}: ${countsText(counts)}`,
    ...issues.map(
      ({ path, count }) => `  does not fit in ${count}: ${path === '' ? 'payload' : printable(path)}`,
    ),
  ]);
  const advice = ends.flatMap(([end, row]) => (row.advice && report[end] > 0 ? [row.advice] : []));
  const verdict =
    total === 0
      ? 'No dead letter matches.'
      : `${left} of ${total} ${report.dryRun ? 'would be' : 'are'} left.`;
  const stopped = report.stopped ? ['It was stopped before the last letter. Run it again for the rest.'] : [];
  return { text: [...events, verdict, ...advice, ...stopped].join('\n'), left };
}

function countsText(counts: ReplayCounts): string {
  const ends = Object.entries(ENDS) as [ReplayEnd, Row][];
  return ends.flatMap(([end, { label }]) => (counts[end] > 0 ? [`${counts[end]} ${label}`] : [])).join(', ');
}
