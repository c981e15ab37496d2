// The number of deliveries of each status; each is also a filter.
import type { DeliveryStatus, Row } from '../api/api-types.js';
import { Icon, type IconName } from '../components/icon.js';

interface Group {
  readonly label: string;
  readonly icon: IconName;
  readonly statuses: readonly DeliveryStatus[];
  /** Shown even when there are none. */
  readonly always: boolean;
}

const GROUPS: readonly Group[] = [
  { label: 'Delivered', icon: 'delivered', statuses: ['delivered'], always: true },
  { label: 'Retrying', icon: 'retrying', statuses: ['retrying'], always: true },
  { label: 'Failed', icon: 'failed', statuses: ['failed'], always: true },
  { label: 'In progress', icon: 'in_flight', statuses: ['pending', 'in_flight'], always: false },
  { label: 'Cancelled', icon: 'cancelled', statuses: ['cancelled'], always: false },
];

interface StatusFilterProps {
  readonly rows: readonly Row[];
  /** The statuses in the search. */
  readonly chosen: readonly string[];
  readonly choose: (statuses: readonly DeliveryStatus[]) => void;
}

export function StatusFilter({ rows, chosen, choose }: StatusFilterProps) {
  const counts = new Map<DeliveryStatus, number>();
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1);
  const groups = GROUPS.map((group) => ({
    ...group,
    count: group.statuses.reduce((sum, status) => sum + (counts.get(status) ?? 0), 0),
    pressed:
      chosen.length === group.statuses.length && group.statuses.every((status) => chosen.includes(status)),
  })).filter(({ always, count, pressed }) => always || count > 0 || pressed);
  return (
    <fieldset class="status-filter cluster">
      <legend class="visually-hidden">Filter by status</legend>
      <button
        type="button"
        class="button small quiet"
        aria-pressed={chosen.length === 0}
        onClick={() => choose([])}
      >
        All <b>{rows.length}</b>
      </button>
      {groups.map(({ label, icon, statuses, count, pressed }) => (
        <button
          type="button"
          key={label}
          class="button small quiet"
          aria-pressed={pressed}
          onClick={() => choose(pressed ? [] : statuses)}
        >
          <span class={`tone-${statuses[0]}`}>
            <Icon name={icon} />
          </span>
          {label} <b>{count}</b>
        </button>
      ))}
    </fieldset>
  );
}
