// The columns of the table of deliveries.
import { Button } from '../pages/components/button.js';
import { RetryCountdown } from '../pages/components/clock.js';
import { formatDuration, formatTime, shortId } from '../pages/components/format.js';
import { Icon } from '../pages/components/icon.js';
import { type Column, focusRow } from '../pages/components/table.js';
import { api, type Row } from './api.js';
import { STATUS_LABELS, shownStatus } from './shown-status.js';
import { ResponseStatus, Status } from './status.js';

export const COLUMNS: readonly Column<Row>[] = [
  {
    name: 'status',
    label: 'Status',
    cell: (row) => <Status status={shownStatus(row)} />,
    title: (row) => STATUS_LABELS[shownStatus(row)],
  },
  {
    name: 'event',
    label: 'Event',
    cell: ({ event_name, sandbox }) => (
      <>
        <span>{event_name}</span>
        {sandbox && <span class="tag">sandbox</span>}
      </>
    ),
    title: ({ event_name, event_id }) => `${event_name} ${event_id}`,
  },
  { name: 'id', label: 'Delivery', cell: ({ id }) => shortId(id), title: ({ id }) => id },
  { name: 'target', label: 'Webhook', cell: ({ url }) => <Target url={url} />, title: ({ url }) => url },
  {
    name: 'code',
    label: 'Response',
    cell: (row) => <Response row={row} />,
    title: ({ last }) => [last?.status ?? last?.error, last?.outcome].filter(Boolean).join(' '),
  },
  {
    name: 'ms',
    label: 'Time',
    cell: (row) => (row.last && !isUnderway(row) ? formatDuration(row.last.duration_ms) : '–'),
  },
  {
    name: 'attempts',
    label: 'Attempts',
    cell: ({ attempts, max_attempts: most, last }) => (
      <>
        {attempts}/{Math.max(attempts, most)}
        {last?.fault && <FaultMark kind={last.fault} />}
      </>
    ),
  },
  {
    name: 'when',
    label: 'Created / next retry',
    cell: (row) =>
      row.next_attempt_at ? <NextRetry row={row} at={row.next_attempt_at} /> : formatTime(row.created_at),
  },
];

/** The attempt before says nothing about the one that is underway. */
function isUnderway({ status }: Row): boolean {
  return status === 'in_flight' || status === 'pending';
}

/** Where there is little room, the host is cut and the path stays. */
function Target({ url }: { url: string }) {
  const { host, pathname, search } = new URL(url);
  return (
    <span class="target mono">
      <span class="host">{host}</span>
      <span class="path">{pathname + search}</span>
    </span>
  );
}

function Response({ row }: { row: Row }) {
  if (isUnderway(row)) return <span class="muted">–</span>;
  return <ResponseStatus status={row.last?.status} error={row.last?.error} outcome={row.last?.outcome} />;
}

function FaultMark({ kind }: { kind: string }) {
  return (
    <span class="tone-fault" title={`Injected fault: ${kind}`}>
      <Icon name="fault" />
      <span class="visually-hidden">injected fault: {kind}</span>
    </span>
  );
}

function NextRetry({ row, at }: { row: Row; at: string }) {
  const retry = () => {
    // This button disappears with the retry. The row stays.
    focusRow(row.id);
    return api.retryNow(row.id);
  };
  return (
    <span class="spread">
      <RetryCountdown at={at} brief />
      <Button
        look="small"
        tabIndex={-1}
        label={`Retry now: ${row.event_name} ${shortId(row.id)}`}
        act={retry}
      >
        Retry now
      </Button>
    </span>
  );
}
