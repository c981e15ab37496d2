// The search field, and the number of deliveries of each status, which is also a filter.
import type { RefObject } from 'preact';
import { Button } from '../pages/components/button.js';
import { Icon } from '../pages/components/icon.js';
import type { DeliveryStatus, Row } from './api.js';
import { type Search, withStatus } from './search.js';

interface SearchFieldProps {
  readonly query: string;
  readonly problems: readonly string[];
  readonly find: (query: string) => void;
  readonly input: RefObject<HTMLInputElement | null>;
}

export function SearchField({ query, problems, find, input }: SearchFieldProps) {
  return (
    <search class="search stack">
      <input
        ref={input}
        type="search"
        value={query}
        aria-label="Search deliveries"
        aria-describedby="search-help"
        placeholder="Search, or status:failed event:transaction.*"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => find(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <p id="search-help" class={problems.length > 0 ? 'note problem' : 'note'} aria-live="polite">
        {problems.join(' ') || (
          <>
            Text, or <code>status:</code> <code>event:</code> <code>webhook:</code> <code>code:</code>{' '}
            <code>id:</code>
          </>
        )}
      </p>
    </search>
  );
}

interface Group {
  readonly label: string;
  /** The first one gives the icon. */
  readonly statuses: readonly [DeliveryStatus, ...DeliveryStatus[]];
  /** Shown even when there are none. */
  readonly always: boolean;
}

const GROUPS: readonly Group[] = [
  { label: 'Delivered', statuses: ['delivered'], always: true },
  { label: 'Retrying', statuses: ['retrying'], always: true },
  { label: 'Failed', statuses: ['failed'], always: true },
  { label: 'In progress', statuses: ['in_flight', 'pending'], always: false },
  { label: 'Cancelled', statuses: ['cancelled'], always: false },
];

interface StatusFilterProps extends Pick<SearchFieldProps, 'query' | 'find'> {
  /** What the search finds, of any status. */
  readonly rows: readonly Row[];
  readonly search: Search;
}

export function StatusFilter({ rows, search, query, find }: StatusFilterProps) {
  const chosen = search.tokens.get('status') ?? [];
  const groups = GROUPS.map((group) => ({
    ...group,
    count: rows.filter(({ status }) => group.statuses.includes(status)).length,
    pressed: chosen.length === group.statuses.length && group.statuses.every((one) => chosen.includes(one)),
  })).filter(({ always, count, pressed }) => always || count > 0 || pressed);
  return (
    <fieldset class="filter cluster">
      <legend class="visually-hidden">Filter by status</legend>
      <Button look="small quiet" aria-pressed={chosen.length === 0} act={() => find(withStatus(query, []))}>
        All <b>{rows.length}</b>
      </Button>
      {groups.map(({ label, statuses, count, pressed }) => (
        <Button
          key={label}
          look="small quiet"
          aria-pressed={pressed}
          act={() => find(withStatus(query, pressed ? [] : statuses))}
        >
          <span class={`tone-${statuses[0]}`}>
            <Icon name={statuses[0]} />
          </span>
          {label} <b>{count}</b>
        </Button>
      ))}
    </fieldset>
  );
}
