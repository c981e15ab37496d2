// The deliveries: search, status filter and table.
import type { RefObject } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import type { Row } from '../api/api-types.js';
import { Icon } from '../components/icon.js';
import { memo } from '../components/memo.js';
import { useShortcuts } from '../components/shortcuts.js';
import type { Route } from '../route.js';
import type { Navigate } from '../use-route.js';
import { DeliveryTable } from './delivery-table.js';
import { matches, parseSearch, withStatus } from './search.js';
import { StatusFilter } from './status-filter.js';
import { usePause } from './use-pause.js';
import { useRowKeys } from './use-row-keys.js';

interface DeliveriesProps {
  readonly rows: readonly Row[];
  readonly route: Route;
  readonly navigate: Navigate;
  /** Opens the delivery and moves the focus to it. */
  readonly open: (id: string) => void;
}

export const Deliveries = memo(({ rows, route, navigate, open }: DeliveriesProps) => {
  const { query, delivery: selected } = route;
  const input = useRef<HTMLInputElement>(null);
  const { listed, paused, waiting, toggle } = usePause(rows);
  const search = useMemo(() => parseSearch(query), [query]);
  const shown = useMemo(() => listed.filter((row) => matches(search, row)), [listed, search]);
  useRowKeys(shown, selected, navigate);
  useShortcuts({ p: toggle, '/': () => input.current?.focus() });
  const find = (text: string) => navigate({ query: text });
  return (
    <section class="deliveries-part" aria-labelledby="deliveries-title">
      <header class="spread">
        <h2 id="deliveries-title">Deliveries</h2>
        <button type="button" class="button quiet" aria-pressed={paused} onClick={toggle}>
          <Icon name={paused ? 'play' : 'pause'} />
          {paused ? `Paused, ${waiting} new` : 'Pause'}
        </button>
      </header>
      <SearchBox query={query} problems={search.problems} search={find} input={input} />
      <StatusFilter
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

interface SearchBoxProps {
  readonly query: string;
  readonly problems: readonly string[];
  readonly search: (query: string) => void;
  readonly input: RefObject<HTMLInputElement | null>;
}

function SearchBox({ query, problems, search, input }: SearchBoxProps) {
  const invalid = problems.length > 0;
  return (
    <search class="search stack">
      <div class="search-field">
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          value={query}
          aria-label="Search deliveries"
          aria-describedby="search-help"
          placeholder="Search, or status:failed event:transaction.*"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => search(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
        />
        <span aria-hidden="true">
          <kbd>/</kbd>
        </span>
      </div>
      <p id="search-help" class={invalid ? 'note problem' : 'note'} aria-live="polite">
        {invalid ? (
          problems.join(' ')
        ) : (
          <>
            Text, or <code>status:</code> <code>event:</code> <code>webhook:</code> <code>code:</code>{' '}
            <code>id:</code>
          </>
        )}
      </p>
    </search>
  );
}

function NoMatch({ count, showAll }: { count: number; showAll: () => void }) {
  return (
    <p class="no-match muted">
      No deliveries match this search.{' '}
      <button type="button" class="link" onClick={showAll}>
        Show all {count}
      </button>
    </p>
  );
}
