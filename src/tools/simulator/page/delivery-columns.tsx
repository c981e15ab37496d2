// The columns of the table of deliveries, and how a status and a response look.
import { Button } from '../../web/components/button.js';
import { RetryCountdown } from '../../web/components/clock.js';
import { formatDuration, formatTime, shortId } from '../../web/components/format.js';
import { Icon } from '../../web/components/icon.js';
import { type Column, EventName, focusRow } from '../../web/components/table.js';
import { api, type Row } from './api.js';
import { type ShownStatus, STATUS_LABELS, shownStatus } from './texts.js';

const attemptsOf = ({ attempts, max_attempts: most }: Row) => `${attempts}/${Math.max(attempts, most)}`;

export const COLUMNS: readonly Column<Row>[] = [
  {
    name: 'status',
    label: 'Status',
    text: (row) => STATUS_LABELS[shownStatus(row)],
    cell: (row) => <Status status={shownStatus(row)} />,
  },
  {
    name: 'event',
    label: 'Event',
    text: ({ event_name }) => event_name,
    cell: ({ event_name, sandbox }) => <EventName name={event_name} sandbox={sandbox} />,
  },
  {
    name: 'id',
    label: 'Delivery',
    look: 'mono muted',
    text: ({ id }) => id,
    cell: ({ id }) => shortId(id),
  },
  { name: 'target', label: 'Webhook', text: ({ url }) => url, cell: ({ url }) => <Target url={url} /> },
  {
    name: 'code',
    label: 'Response',
    text: (row) => (isUnderway(row) ? '–' : `${row.last?.status ?? row.last?.error ?? '–'}`),
    cell: (row) => !isUnderway(row) && <ResponseStatus {...row.last} />,
  },
  {
    name: 'ms',
    label: 'Time',
    look: 'muted',
    text: (row) => (row.last && !isUnderway(row) ? formatDuration(row.last.duration_ms) : '–'),
  },
  {
    name: 'attempts',
    label: 'Attempts',
    text: attemptsOf,
    cell: (row) => (
      <span class="line">
        {attemptsOf(row)}
        {row.last?.fault && (
          <span class="tone-fault" title={`Injected fault: ${row.last.fault}`}>
            <Icon name="fault" />
            <span class="visually-hidden">injected fault: {row.last.fault}</span>
          </span>
        )}
      </span>
    ),
  },
  {
    name: 'when',
    label: 'Created / next retry',
    look: 'muted',
    text: (row) => formatTime(row.created_at),
    cell: (row) => row.next_attempt_at && <NextRetry row={row} at={row.next_attempt_at} />,
  },
];

const signatureOf = ({ last }: Row) => (last ? (last.signature_header ?? 'signature not found') : undefined);

/** All captured deliveries go to one URL. Which header signs them is what one looks for. */
export const CAPTURE_COLUMNS: readonly Column<Row>[] = COLUMNS.map((column) =>
  column.name === 'target'
    ? { name: 'target', label: 'Signature', look: 'mono muted', text: signatureOf }
    : column,
);

/** An icon and a word, so that the status never depends on colour alone. */
export function Status({ status }: { status: ShownStatus }) {
  return (
    <span class={`status cluster tone-${status}`}>
      <Icon name={status} />
      <span>{STATUS_LABELS[status]}</span>
    </span>
  );
}

interface ResponseStatusProps {
  readonly status?: number | null | undefined;
  readonly error?: string | null | undefined;
  readonly outcome?: string | null | undefined;
}

export function ResponseStatus({ status, error, outcome }: ResponseStatusProps) {
  return (
    <span>
      <span class="mono">{status ?? error ?? '–'}</span>
      {outcome && <span class="note"> {outcome}</span>}
    </span>
  );
}

/** The result of the previous attempt says nothing about a running one. */
function isUnderway({ status }: Row): boolean {
  return status === 'in_flight' || status === 'pending';
}

/** In a narrow list the host is truncated, and the path stays. */
function Target({ url }: { url: string }) {
  const { host, pathname, search } = new URL(url);
  return (
    <span class="target mono muted">
      <span class="host">{host}</span>
      <span class="path">{pathname + search}</span>
    </span>
  );
}

function NextRetry({ row, at }: { row: Row; at: string }) {
  const retry = () => {
    // The button disappears with the scheduled retry, the row stays.
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
        text="Retry now"
        act={retry}
      />
    </span>
  );
}
