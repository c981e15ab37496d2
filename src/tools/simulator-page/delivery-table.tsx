// The table of deliveries, newest first.
import { memo } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../pages/components/button.js';
import { focusRow } from '../pages/components/focus.js';
import { formatDuration, formatTime, shortId, shortUrl } from '../pages/components/format.js';
import { Icon } from '../pages/components/icon.js';
import { ROLES, Table } from '../pages/components/list.js';
import { api, type Row } from './api.js';
import { ResponseStatus, RetryCountdown, Status } from './status.js';

interface DeliveryTableProps {
  readonly rows: readonly Row[];
  readonly selected: string | undefined;
  readonly open: (id: string) => void;
}

const COLUMNS = [
  ['status', 'Status'],
  ['event', 'Event'],
  ['target', 'Delivery → webhook'],
  ['code', 'Code'],
  ['ms', 'Time'],
  ['attempts', 'Attempts'],
  ['when', 'Created or next retry'],
] as const;

export const DeliveryTable = memo(({ rows, selected, open }: DeliveryTableProps) => (
  <Table name="deliveries" caption="Deliveries, newest first" columns={COLUMNS}>
    {useIncremental(rows).map((row) => (
      <DeliveryRow key={row.id} row={row} selected={row.id === selected} open={open} />
    ))}
  </Table>
));

interface DeliveryRowProps {
  readonly row: Row;
  readonly selected: boolean;
  readonly open: (id: string) => void;
}

const DeliveryRow = memo(({ row, selected, open }: DeliveryRowProps) => (
  <tr class={selected ? 'row selected' : 'row'} aria-current={selected} {...ROLES.row}>
    <td class="cell-status" {...ROLES.cell}>
      <Status status={row.status} />
    </td>
    <th class="cell-event cluster" {...ROLES.rowHeader}>
      {/* The stylesheet extends this button over the whole row. */}
      <button type="button" class="row-button" data-row={row.id} onClick={() => open(row.id)}>
        {row.event_name}
      </button>
      {row.sandbox && <span class="tag">sandbox</span>}
    </th>
    <td class="cell-target" title={`${row.id} to ${row.url}`} {...ROLES.cell}>
      <span class="mono">{shortId(row.id)}</span>
      <span class="muted" aria-hidden="true">
        {' → '}
      </span>
      <span class="visually-hidden"> to </span>
      <span class="mono muted">{shortUrl(row.url)}</span>
    </td>
    <td class="cell-code" {...ROLES.cell}>
      <ResponseStatus status={row.last?.status} error={row.last?.error} outcome={row.last?.outcome} />
    </td>
    <td class="cell-ms muted" {...ROLES.cell}>
      {row.last ? formatDuration(row.last.duration_ms) : '–'}
    </td>
    <td class="cell-attempts" {...ROLES.cell}>
      {row.last?.fault && <FaultTag kind={row.last.fault} />}
      {row.attempts}/{Math.max(row.attempts, row.max_attempts)}
    </td>
    <td class="cell-when muted" {...ROLES.cell}>
      {row.next_attempt_at ? <NextRetry row={row} at={row.next_attempt_at} /> : formatTime(row.created_at)}
    </td>
  </tr>
));

function FaultTag({ kind }: { kind: string }) {
  return (
    <span class="tag tone-fault" title={`Injected fault: ${kind}`}>
      <Icon name="fault" />
      <span class="visually-hidden">injected fault: {kind}</span>
    </span>
  );
}

function NextRetry({ row, at }: { row: Row; at: string }) {
  const retry = () => {
    // This button disappears with the retry. The one of the row stays.
    focusRow(row.id);
    return api.retryNow(row.id);
  };
  return (
    <span class="spread">
      <RetryCountdown at={at} brief />
      <Button look="small" label={`Retry now: ${row.event_name} ${shortId(row.id)}`} act={retry}>
        Retry now
      </Button>
    </span>
  );
}

const ROWS_PER_FRAME = 40;

/** The rows to render now: those rendered before, and the next new ones, so that the page stays responsive. */
function useIncremental(rows: readonly Row[]): readonly Row[] {
  const [, renderMore] = useState(0);
  const before = useRef<ReadonlySet<string>>(new Set());
  let left = ROWS_PER_FRAME;
  const rendered = rows.filter(({ id }) => {
    if (before.current.has(id)) return true;
    left -= 1;
    return left >= 0;
  });
  const complete = rendered.length === rows.length;
  useEffect(() => {
    before.current = new Set(rendered.map(({ id }) => id));
    if (complete) return;
    const frame = requestAnimationFrame(() => renderMore((times) => times + 1));
    return () => cancelAnimationFrame(frame);
  });
  return rendered;
}
