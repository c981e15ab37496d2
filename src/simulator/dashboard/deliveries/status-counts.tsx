// How many deliveries have which status; each count is also the filter for it.
import type { Row, Status } from '../live/wire.js';
import { Icon, type IconName } from '../parts/icon.js';

const GROUPS: readonly { label: string; icon: IconName; statuses: readonly Status[]; always: boolean }[] = [
  { label: 'Delivered', icon: 'delivered', statuses: ['delivered'], always: true },
  { label: 'Retrying', icon: 'retrying', statuses: ['retrying'], always: true },
  { label: 'Failed', icon: 'failed', statuses: ['failed'], always: true },
  { label: 'Under way', icon: 'in_flight', statuses: ['pending', 'in_flight'], always: false },
  { label: 'Cancelled', icon: 'cancelled', statuses: ['cancelled'], always: false },
];

interface StatusCountsProps {
  readonly rows: readonly Row[];
  /** The statuses that the search asks for. */
  readonly chosen: readonly string[];
  readonly choose: (statuses: readonly Status[]) => void;
}

export function StatusCounts({ rows, chosen, choose }: StatusCountsProps) {
  const counts = new Map<Status, number>();
  for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1);
  const groups = GROUPS.map((group) => ({
    ...group,
    count: group.statuses.reduce((sum, status) => sum + (counts.get(status) ?? 0), 0),
    pressed:
      chosen.length === group.statuses.length && group.statuses.every((status) => chosen.includes(status)),
  })).filter(({ always, count, pressed }) => always || count > 0 || pressed);
  return (
    <fieldset class="counts">
      <legend class="visually-hidden">Filter by status</legend>
      <button type="button" class="count" aria-pressed={chosen.length === 0} onClick={() => choose([])}>
        All <b>{rows.length}</b>
      </button>
      {groups.map(({ label, icon, statuses, count, pressed }) => (
        <button
          type="button"
          key={label}
          class={`count tone-${statuses[0]}`}
          aria-pressed={pressed}
          onClick={() => choose(pressed ? [] : statuses)}
        >
          <Icon name={icon} />
          {label} <b>{count}</b>
        </button>
      ))}
    </fieldset>
  );
}
