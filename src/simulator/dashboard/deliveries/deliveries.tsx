// The main part of the page: search, counts, and the list that follows what happens.
import { useMemo, useRef } from 'preact/hooks';
import type { Row } from '../live/wire.js';
import { Icon } from '../parts/icon.js';
import { pure } from '../parts/pure.js';
import { useShortcuts } from '../parts/shortcuts.js';
import type { Place } from '../place.js';
import { DeliveryTable } from './delivery-table.js';
import { matches, parseSearch, withStatus } from './search.js';
import { SearchBox } from './search-box.js';
import { StatusCounts } from './status-counts.js';
import { usePaused } from './use-paused.js';
import { useRowKeys } from './use-row-keys.js';

interface DeliveriesProps {
  readonly rows: readonly Row[];
  readonly place: Place;
  readonly go: (change: Partial<Place>) => void;
  /** Opens the detail and moves the focus there. */
  readonly open: (id: string) => void;
}

export const Deliveries = pure(({ rows, place, go, open }: DeliveriesProps) => {
  const { query, delivery: selected } = place;
  const input = useRef<HTMLInputElement>(null);
  const { listed, paused, waiting, toggle } = usePaused(rows);
  const search = useMemo(() => parseSearch(query), [query]);
  const shown = useMemo(() => listed.filter((row) => matches(search, row)), [listed, search]);
  useRowKeys(shown, selected, go);
  useShortcuts({ p: toggle, '/': () => input.current?.focus() });
  const find = (text: string) => go({ query: text });
  return (
    <section class="deliveries-part" aria-labelledby="deliveries-title">
      <header class="deliveries-head">
        <h2 id="deliveries-title" class="part-title">
          Deliveries
        </h2>
        <button type="button" class="button quiet" aria-pressed={paused} onClick={toggle}>
          <Icon name={paused ? 'play' : 'pause'} />
          {paused ? `Paused, ${waiting} new` : 'Pause'}
        </button>
      </header>
      <SearchBox query={query} problems={search.problems} search={find} input={input} />
      <StatusCounts
        rows={listed}
        chosen={search.tokens.get('status') ?? []}
        choose={(statuses) => find(withStatus(query, statuses))}
      />
      <div class="table-frame">
        {shown.length > 0 ? (
          <DeliveryTable rows={shown} selected={selected} open={open} />
        ) : (
          <NoMatch count={listed.length} showAll={() => find('')} />
        )}
      </div>
    </section>
  );
});

function NoMatch({ count, showAll }: { count: number; showAll: () => void }) {
  return (
    <p class="no-match">
      No delivery matches this search.{' '}
      <button type="button" class="link" onClick={showAll}>
        Show all {count}
      </button>
    </p>
  );
}
