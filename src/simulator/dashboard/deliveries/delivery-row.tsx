// One delivery in the list.
import { api } from '../live/api.js';
import type { Row } from '../live/wire.js';
import { formatDuration, formatTime, shortId, shortUrl } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import { useAction } from '../parts/notice.js';
import { pure } from '../parts/pure.js';
import { RetryCountdown } from '../parts/retry-countdown.js';
import { Status } from './status.js';
import { ROLES } from './table-roles.js';

interface DeliveryRowProps {
  readonly row: Row;
  readonly selected: boolean;
  readonly open: (id: string) => void;
}

export const DeliveryRow = pure(({ row, selected, open }: DeliveryRowProps) => (
  <tr class={selected ? 'row selected' : 'row'} aria-current={selected} {...ROLES.row}>
    <td class="cell-status" {...ROLES.cell}>
      <Status status={row.status} />
    </td>
    <th class="cell-event" {...ROLES.rowHeader}>
      <div class="event">
        {/* The stylesheet stretches this button over its row. */}
        <button type="button" class="row-button" data-delivery={row.id} onClick={() => open(row.id)}>
          {row.event_name}
        </button>
        {row.sandbox && <span class="tag">sandbox</span>}
      </div>
    </th>
    <td class="cell-target" title={`${row.id} to ${row.url}`} {...ROLES.cell}>
      <span class="mono">{shortId(row.id)}</span>
      <span class="arrow" aria-hidden="true">
        {' → '}
      </span>
      <span class="visually-hidden"> to </span>
      <span class="mono muted">{shortUrl(row.url)}</span>
    </td>
    <td class="cell-code mono" {...ROLES.cell}>
      {row.last?.status ?? row.last?.error ?? '–'}
    </td>
    <td class="cell-ms number" {...ROLES.cell}>
      {row.last ? formatDuration(row.last.duration_ms) : '–'}
    </td>
    <td class="cell-attempts number" {...ROLES.cell}>
      {row.last?.fault && <Damaged by={row.last.fault} />}
      {row.attempts}/{Math.max(row.attempts, row.max_attempts)}
    </td>
    <td class="cell-when" {...ROLES.cell}>
      {row.next_attempt_at ? <Waiting row={row} at={row.next_attempt_at} /> : formatTime(row.created_at)}
    </td>
  </tr>
));

function Damaged({ by }: { by: string }) {
  return (
    <span class="tag tag-fault" title={`Damaged on purpose: ${by}`}>
      <Icon name="fault" />
      <span class="visually-hidden">damaged on purpose: {by}</span>
    </span>
  );
}

function Waiting({ row, at }: { row: Row; at: string }) {
  const retry = useAction(api.retryNow);
  return (
    <span class="waiting">
      <RetryCountdown at={at} brief />
      <button
        type="button"
        class="button small"
        aria-label={`Retry now: ${row.event_name} ${shortId(row.id)}`}
        onClick={(event) => {
          // This button goes away with the retry; its row's own stays.
          event.currentTarget.closest('tr')?.querySelector<HTMLElement>('.row-button')?.focus();
          retry(row.id);
        }}
      >
        Retry now
      </button>
    </span>
  );
}
